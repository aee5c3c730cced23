"""Read tables whose columns are known, and dictionaries. `known_tables.json` has the columns of each field.

- CTD publishes its diseases and chemicals as TSV and CSV. A comment before the rows names the columns. They have
  changed over the years: `Synonyms` of chemicals became `MESHSynonyms` and `CTDCuratedSynonyms`. So they are found by
  name. The roots of its trees, "Diseases" and "Chemicals", are no descriptors of MeSH.
- LOINC is the table `Loinc.csv`, with `MapTo.csv` beside it. The columns are those of the LOINC Users' Guide. Releases
  before 2.72 have no DisplayName.
- Babelon (https://github.com/monarch-initiative/babelon) is a format for translations of an ontology. Each row is one.
  The Disease Ontology's tables of translations, which have other headings for the same columns, are read as well.
- SSSLM, the Simple Standard for Sharing Literal Mappings, has a name of a concept in each row.
- The FDA lists substances with their names (UNII_Names) and with their ids elsewhere (UNII_Records). The headings of
  its releases differ.
- `discover` writes new names for review.
- BELB writes the names of its knowledge bases as tables.
- Dictionaries of BioSyn, of HUNER (HunFlair), and NCBI Disease's MEDIC have lines `ids||names`.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

from ...errors import ChoiceError, MissingColumnError, NotFoundError
from ...files.opening import OpenedFile, file_manifest
from ...files.source import read_yaml
from ...files.tables import is_workbook
from ...text.words import MAX_ACRONYM
from ...types import Record
from ..ids import curie, split_ids
from .context import NameParts, ReaderContext, ReadReport, preferred_first
from .ontology import replaced_ids
from .rrf import PackedFile, readable

_TABLES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
_UNII_FILE = re.compile(r"UNII_(?:Names|Records)(?:_(?P<release>\d+[A-Z][a-z]+\d+))?\.txt")
_LISTED = re.compile(r" \[[A-Za-z][A-Za-z .:-]+\]$")  # where else a substance has this name: "ADALIMUMAB [INN]"
# "VITAMIN D", "SSR-126517" and "AAV8" keep their letters
_WORDS = re.compile(r"\b[^\W\d_]{3,4}\b(?!-\d)|\b[^\W\d_]{5,}\b|(?<= )(?:AS|IN|OF|OR)(?= )|(?<=\')S\b")
_OFFICIAL, _UNII_IDS = "of", tuple(_TABLES["unii"]["ids"])
_CTD, _LOINC, _MARKS = _TABLES["ctd"], "Loinc.csv", _TABLES["discovered"]["marks"]
BRAND = "bn"
"""The kind of a brand name in the FDA's list of names."""
DISCOVERED_COLUMNS: tuple[str, ...] = tuple(_TABLES["discovered"]["written"])
"""The columns of the table that `discover` writes."""


def known_table(header: Sequence[str], *formats: str) -> str:
    """Return the first of some formats of which a header has the columns, else "table"."""
    for format in formats:
        signs = _TABLES[format].get("signs") or _TABLES[format]["needed"].values()
        if all(not set(names).isdisjoint(header) for names in signs):
            return format
    return "table"


def _cells(
    context: ReaderContext, format: str, delimiter: str = "\t", *, quoted: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line of each row of a known table, and the cells of its fields, in their order in the data file.

    A cell is empty if the table has no such column.
    """
    needed = _TABLES[format]["needed"]
    fields: dict[str, list[str]] = needed | _TABLES[format]["others"]
    columns: list[str] = []
    for line, row in context.table(delimiter, quoted=quoted, needed=needed.values()):
        columns = columns or [next((name for name in names if name in row), names[0]) for names in fields.values()]
        yield line, list(map(row.get, columns, repeat("")))


def _scope(predicate: str) -> str | None:
    """Return the scope of a name by the last part of its predicate: rdfs:label, oboInOwl:hasBroadSynonym, …"""
    scope: str | None = _TABLES["scopes"].get(re.split(r"[:#/]", predicate)[-1])
    return scope


# --- CTD


def read_ctd(context: ReaderContext) -> Iterator[Record]:
    """Yield one record per row."""
    with context.open(newline="") as lines:
        n_before, columns, delimiter = _ctd_header(context, lines)
        rows = context.cells(lines, delimiter, quoted=delimiter == ",", n_before=n_before)
        rows = ((line, cells) for line, cells in rows if len(cells) > 1 or not cells[0].startswith("#"))
        for line, row in context.named_cells(rows, columns):
            name, concept_id, *_ = row.values()
            if concept_id in _CTD["roots"]:
                context.drop("root of the tree")
                continue
            synonyms = [cell for column, cell in row.items() if column.endswith("Synonyms")]
            yield from context.record(
                line,
                concept_id,
                preferred_first([name, *chain.from_iterable(map(_ctd_values, synonyms))]),
                # CTD writes ids of the Disease Ontology with an extra prefix: DO:DOID:1612
                alternative_ids=[other.removeprefix("DO:") for other in _ctd_values(row.get("AltDiseaseIDs", ""))],
                definition=row.get("Definition"),
                parents=[parent for parent in _ctd_values(row.get("ParentIDs", "")) if parent not in _CTD["roots"]],
            )


def _ctd_values(cell: str) -> list[str]:
    return cell.split("|") if cell else []


def _ctd_header(context: ReaderContext, lines: TextIO) -> tuple[int, list[str], str]:
    """Return the number of the line that names the columns, the columns, and their delimiter."""
    for number, line in enumerate(lines, start=1):
        for delimiter in "\t,":
            columns = line.lstrip("# ").strip().split(delimiter)
            if columns[:2] in _CTD["starts"]:
                return number, columns, delimiter
    remedy = "Use the unchanged file from CTD, or read it as a table."
    raise MissingColumnError(path=context.file, column="DiseaseName or ChemicalName", columns=(), remedy=remedy)


# --- LOINC


def read_loinc(context: ReaderContext) -> Iterator[Record]:
    """Read the terms that are not deprecated. Their class, such as "CHEM", is their type.

    The long common name is preferred. The display name, consumer name and short name are synonyms. `MapTo.csv` names
    the terms that replace deprecated ones. A deprecated number becomes an alternative id of its only replacement.
    `RELATEDNAMES2` is not read: its words, such as "Blood", belong to thousands of terms.

    Args:
        context: The file Loinc.csv, its folder, or the folder of a release.
    """
    path = loinc_table(context.path)
    if path is None:
        raise NotFoundError(what=f"{_LOINC} in {context.file}", remedy="Give the folder that holds it.")
    replacements = path.with_name("MapTo.csv")
    if context.path.is_dir():
        used = (table for table in (path, replacements) if table.is_file())
        context.report.origins[context.path] = {"files": [file_manifest(table) for table in used]}
    context = replace(context, path=path, id_prefix=context.id_prefix or "LOINC")
    replaced = _replaced_loinc(replace(context, path=replacements)) if replacements.is_file() else {}
    for line, (number, name, status, display, consumer, short, kind, definition) in _cells(context, "loinc", ","):
        if status.strip().upper() == "DEPRECATED":
            context.drop("deprecated")
            continue
        concept_id = f"{context.id_prefix}:{number.strip()}" if number.strip() else ""
        texts = dict.fromkeys(text for text in (name, display, consumer, short) if text.strip())
        yield from context.record(
            line,
            concept_id,
            preferred_first(texts),
            alternative_ids=replaced.get(concept_id, ()),
            types=[kind],
            definition=definition,
        )


def loinc_table(path: Path) -> Path | None:
    """Return the path of Loinc.csv in a folder, or the path itself if it is a file. None if there is none."""
    if not path.is_dir():
        return path
    folders = _TABLES["loinc"]["folders"]
    return next((table for folder in folders for table in sorted(path.glob(f"{folder}{_LOINC}"))), None)


def _replaced_loinc(context: ReaderContext) -> dict[str, list[str]]:
    """Map terms to the deprecated numbers that they replace."""
    replacements: defaultdict[str, list[str]] = defaultdict(list)
    mapping = replace(context, report=ReadReport())  # its rows are not terms
    for _, row in mapping.table(",", quoted=True, needed=("LOINC", "MAP_TO")):
        old, new = (f"{context.id_prefix}:{row[column].strip()}" for column in ("LOINC", "MAP_TO"))
        replacements[old].append(new)
    for problem in mapping.report.problems:
        context.report.add_broken(*problem)
    return replaced_ids(context, (([old], new) for old, new in replacements.items() if old not in new))


# --- a name in each row


def read_babelon(context: ReaderContext) -> Iterator[Record]:
    """Read the translated names. The source of a name ends with its language: "HPO-es".

    A translated label is the preferred name in its language.

    Translations of definitions, and rows marked as not translated, are counted and skipped.
    """
    source = context.source.removesuffix(".babelon")
    for line, cells in _cells(context, "babelon"):  # notes of several lines are in quotation marks
        concept_id, relation, language, text, status = map(str.strip, cells)
        scope = _scope(relation)
        if not scope:
            context.drop("not a name")
        elif not text or status == "NOT_TRANSLATED":
            context.drop("not translated")
        else:
            end = f"-{language}" if language else ""
            own = replace(context, source=f"{source.removesuffix(end)}{end}")
            yield from own.record(line, curie(concept_id), [(text, scope, language)])


def read_ssslm(context: ReaderContext) -> Iterator[Record]:
    """Read the names of concepts. A row may also have the preferred name of its concept."""
    for line, cells in _cells(context, "ssslm"):
        text, concept_id, relation, preferred, language, source = map(str.strip, cells)
        scope = _scope(relation) or "related"
        names: list[NameParts] = [(preferred, "preferred")] if preferred and scope != "preferred" else []
        own = replace(context, source=source or context.source)
        yield from own.record(line, curie(concept_id), [*names, (text, scope, language)])


def read_discovered(context: ReaderContext) -> Iterator[Record]:
    """Read the names that are marked in the column `keep`: `y` for a synonym, or `narrow`, `broad`, `related`.

    Rows in which that cell is empty or `n` are counted and skipped. Columns may be in any order, and others may be
    added.
    """
    is_sheet = is_workbook(context.path)
    for line, (written, name, concept_id) in _cells(context, "discovered", "," if is_sheet else "\t", quoted=is_sheet):
        mark = written.strip().lower()
        if mark in _MARKS:
            yield from context.record(line, concept_id, [(name, _MARKS[mark])])
        elif mark in _TABLES["discovered"]["rejected"]:
            context.drop("not marked to be kept")
        else:
            context.drop_broken(line, f"'{mark}' in the column keep is none of: {', '.join(_MARKS)}, n")


def read_unii(context: ReaderContext) -> Iterator[Record]:
    """Read the FDA's names of substances, or its list of their ids in other vocabularies.

    A substance has an id in both, so they can be built together. A brand name has the scope "narrow".

    Args:
        context: The file UNII_Names or UNII_Records, or a zip file with one of them.
    """
    for line, rows in substances(context):
        unii, name, _, preferred, *_ = rows[0]
        names = {substance_name(preferred or name, _OFFICIAL): "preferred"}
        for _, name, kind, *_ in rows:
            names.setdefault(substance_name(name, kind), "narrow" if kind == BRAND else "exact")
        ids = chain.from_iterable(zip(_UNII_IDS, cells[-len(_UNII_IDS) :], strict=True) for cells in rows)
        xrefs = [f"{prefix}:{cell}" for prefix, cell in ids if cell]
        yield from context.record(line, unii and f"UNII:{unii}", names.items(), xrefs=xrefs)


def substances(context: ReaderContext) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the first line of each substance in a list of the FDA, and its rows: UNII, name, kind, preferred name, ids.

    Args:
        context: As for `read_unii`.
    """
    if not zipfile.is_zipfile(context.path):
        for _, group in groupby(_cells(context, "unii", quoted=False), key=lambda row: row[1][0]):
            lines, rows = zip(*group, strict=True)
            yield lines[0], list(rows)
        return
    part, release = _unii_part(context)
    manifests: list[dict[str, Any]] = []
    with part.open(context.report, manifests) as stream:
        yield from substances(replace(context, path=part.full_path, opened=OpenedFile(stream, None, lambda: 0)))
    context.report.origins[context.path] = {"files": manifests, "release": release}


def is_unii(name: str) -> bool:
    """Return whether a file name is one that the FDA gives its lists of substances."""
    return _UNII_FILE.fullmatch(name) is not None


def _unii_part(context: ReaderContext) -> tuple[PackedFile, str | None]:
    """Return the list in a zip file, and its release."""
    with readable(context.path), zipfile.ZipFile(context.path) as archive:
        for info in archive.infolist():
            if match := _UNII_FILE.fullmatch(Path(info.filename).name):
                return PackedFile(context.path, info.filename, info.file_size), match["release"]
    raise NotFoundError(what=f"UNII_Names or UNII_Records in {context.file}", remedy="Give the zip file of the FDA.")


def substance_name(written: str, kind: str) -> str:
    """Return a name of the FDA without the list that has it, and in small letters: the FDA writes capitals only.

    A brand name gets one capital. A code stays, and a short name that is not official, since it may be an acronym.
    """
    text = _LISTED.sub("", written)
    if kind == "cd" or (kind not in (BRAND, _OFFICIAL) and len(text) <= MAX_ACRONYM):
        return text
    return _WORDS.sub(lambda word: word[0].capitalize() if kind == BRAND else word[0].lower(), text)


# --- dictionaries
#
# In MEDIC, a line is a concept: its id and alternative ids, its preferred name and synonyms.
#
# A single line of BioSyn or HUNER does not show what its joined ids mean. They may be alternative ids of one concept,
# or several concepts that share the name. BioSyn's merged dictionaries have one line per unique name and so contain
# both. A composite mention among the names also joins ids of different concepts. If all joined ids were alternative
# ids, different concepts would merge, because a knowledge base merges records with the same primary id.
#
# So the whole file decides. Ids that occur in exactly the same lines are one concept, and the first is the primary id.
# All other ids are separate concepts. The name of a line belongs to each of its concepts.
#
# In BioSyn's own dictionary of MEDIC, 99.7 % of the pairs of ids that this rule joins are one concept in MEDIC. The
# rule finds 99.97 % of MEDIC's pairs. If every id were joined to the first id of its line, 67 % of the pairs would be
# right. The rule has a price: mentions are added with one id, so an id may occur without the other ids of its concept.
# It then becomes a separate concept with the shared names.


def read_biosyn(context: ReaderContext) -> Iterator[Record]:
    """Read `id[|id…]||name`, one name per line.

    Yields:
        One record for each concept of a line. All names are "exact", since the format has no preferred name.
    """
    return _read_joined(context, lambda cell: [cell])


def read_huner(context: ReaderContext) -> Iterator[Record]:
    """Read `id[|id…]||name[|synonym…]`."""
    return _read_joined(context, lambda cell: cell.split("|"))


def read_medic(context: ReaderContext) -> Iterator[Record]:
    """Read `id[|alternative id…]||name[|synonym…]`. Bare numbers are OMIM ids unless `id_prefix` is set."""
    context = replace(context, id_prefix=context.id_prefix or "OMIM")
    for number, line in context.filled_lines():
        context.report.rows_read += 1
        ids, bars, names = line.partition("||")
        if not bars:
            context.drop_broken(number, "no || between ids and names")
            continue
        concept_id, *alternatives = ids.split("|")
        texts = preferred_first(names.split("|"))
        yield from context.record(number, concept_id, texts, alternative_ids=alternatives)


def _read_joined(context: ReaderContext, split_names: Callable[[str], list[str]]) -> Iterator[Record]:
    """Read a file three times, because the ids must be known before the names."""
    leaders = _leaders(context)
    for number, ids, cell in _rows(context):
        context.report.rows_read += 1
        if not ids:
            context.drop_broken(number, "no id and || before the name")
            continue
        names = context.names((name, "exact") for name in split_names(cell))
        if not names:
            context.drop("no name")
            continue
        concepts: dict[str, list[str]] = defaultdict(list)
        for concept_id in ids:
            concepts[leaders.get(concept_id, concept_id)].append(concept_id)
        for leader, members in concepts.items():
            alternatives = tuple(member for member in members if member != leader)
            yield Record(leader, names, alternatives, context.types)


def _leaders(context: ReaderContext) -> dict[str, str]:
    """Map each id that is ever joined to others to the first id that occurs in the same lines."""
    joined = {concept_id for _, ids, _ in _rows(context) if len(ids) > 1 for concept_id in ids}
    # one number identifies the set of lines of an id; hashes of integers are the same in every process
    lines: dict[str, int] = {}
    for number, ids, _ in _rows(context):
        for concept_id in ids:
            if concept_id in joined:
                lines[concept_id] = hash((lines.get(concept_id, 0), number))
    first: dict[int, str] = {}
    return {concept_id: first.setdefault(line_set, concept_id) for concept_id, line_set in lines.items()}


def _rows(context: ReaderContext) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield line number, canonical ids (none if the line has no `||`), and the rest of the line."""
    for number, line in context.filled_lines():
        ids, bars, cell = line.partition("||")
        yield number, split_ids(ids, context.id_prefix) if bars else (), cell


# --- BELB (Garda et al. 2023), as its scripts write a knowledge base to the folder `processed/kbs/NAME`
#
# `tables/kb.tsv.gz` has a row for each name. BELB numbers the concepts of a vocabulary whose ids are not numbers. Then
# `tables/identifier_mapping.tsv.gz` has a row for each id, with the number of its concept. `conf.yaml` has the settings
# of the scripts. BELB leaves out all quotation marks of names.

KB_TABLE, ID_TABLE = "tables/kb.tsv.gz", "tables/identifier_mapping.tsv.gz"
CONFIG = "conf.yaml"
NUMBERED = {"dbsnp": "DBSNP", "ncbi_gene": "NCBIGene", "ncbi_taxonomy": "NCBITaxon"}
"""The prefixes of vocabularies whose ids are numbers, by the name of the folder."""

_SYMBOL = "0"  # the description of a preferred name

_Row = tuple[int, dict[str, str]]


def read_belb(context: ReaderContext, *, subset: str | None = None) -> Iterator[Record]:
    """Read a folder of BELB. Its name must be the one that BELB gave it.

    Ids that are numbers get the prefix of their vocabulary, such as NCBIGene. Of several ids of a concept, the first
    one is the primary id.

    Args:
        subset: Read only the concepts of some species: a key of `subsets` in `conf.yaml`, such as "gnormplus".
    """
    folder = context.path
    name = folder.resolve().name
    context = replace(context, path=folder / KB_TABLE, id_prefix=context.id_prefix or NUMBERED.get(name))
    ids = None if name in NUMBERED else _ids_by_number(replace(context, path=folder / ID_TABLE))
    species = _species(replace(context, path=folder / CONFIG), subset) if subset else None
    needed = ("identifier", "name", "description", *(["foreign_identifier"] if species else []))
    rows = context.table("\t", quoted=False, needed=needed)
    for number, group in groupby(_chosen(context, rows, species), key=lambda row: row[1]["identifier"]):
        lines = list(group)
        names = [(row["name"], "preferred" if row["description"] == _SYMBOL else "exact") for _, row in lines]
        names.sort(key=itemgetter(1), reverse=True)  # the preferred name first
        # BELB gives an id that two concepts share to the last one, which can leave the other without an id
        first, *others = [number] if ids is None else ids.get(number) or [f"BELB:{number}"]
        yield from context.record(lines[0][0], first, names, alternative_ids=others)
    tables = (KB_TABLE,) if ids is None else (KB_TABLE, ID_TABLE)
    context.report.origins[folder] = {"files": [file_manifest(folder / table) for table in tables]}


def _chosen(context: ReaderContext, rows: Iterable[_Row], species: Collection[str] | None) -> Iterator[_Row]:
    for line, row in rows:
        if species is None or row["foreign_identifier"] in species:
            yield line, row
        else:
            context.drop("not selected")


def _ids_by_number(context: ReaderContext) -> dict[str, list[str]]:
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for _, row in context.table("\t", quoted=False, needed=("original_identifier", "internal_identifier")):
        ids[row["internal_identifier"]].append(row["original_identifier"].removeprefix("DO:"))  # as CTD writes DOID
    return ids


def _species(context: ReaderContext, subset: str) -> set[str]:
    """Return the taxonomy ids of a subset."""
    subsets = read_yaml(context.path, "BELB writes the settings of its scripts here").get("subsets")
    subsets = subsets if isinstance(subsets, dict) else {}
    if not isinstance(subsets.get(subset), list):
        raise ChoiceError(given=subset, what=f"subset in {context.path}", choices=subsets)
    return set(map(str, subsets[subset]))
