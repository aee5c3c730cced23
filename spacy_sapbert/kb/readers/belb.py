"""Read a knowledge base of BELB (Garda et al. 2023), as BELB's scripts write it to the folder `processed/kbs/NAME`.

`tables/kb.tsv.gz` has a row for each name. BELB numbers the concepts of a vocabulary whose ids are not numbers. Then
`tables/identifier_mapping.tsv.gz` has a row for each id, with the number of its concept. `conf.yaml` has the settings
of the scripts. BELB leaves out all quotation marks of names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from ...errors import ChoiceError
from ...files.opening import file_manifest
from ...files.source import read_yaml
from ...types import Record
from .context import ReaderContext

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
