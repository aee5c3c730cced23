"""Read MeSH's own files: descriptors and supplementary concept records, in XML and in ASCII.

The elements are those of NLM's pages "MeSH XML data elements" and "ASCII MeSH data elements". Files are read as a
stream, those of descriptors twice: a parent is the descriptor that has the tree number above.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from ...files.xml import ElementParser, root_tag
from ...types import Record
from ..languages import known_tag
from ..semantic_types import SEMANTIC_TYPES
from .context import ReaderContext, ReadReport

RECORD_SETS = {"DescriptorRecordSet": "DescriptorRecord", "SupplementalRecordSet": "SupplementalRecord"}
"""The elements of the records by the root element."""
ASCII_START = "*NEWRECORD"

_SUPPLEMENTARY = "SupplementalRecordSet"
_MAPPED_TO = "HeadingMappedToList/HeadingMappedTo"
_LANGUAGE = re.compile(r"""<\w+RecordSet\s+LanguageCode\s*=\s*["'](?P<code>\w+)""")
_HEAD = 1 << 16  # bytes that have the root element
_NOT_NEEDED = ("AllowableQualifiersList", "EntryCombinationList", "SeeRelatedList", "PharmacologicalActionList")
# The categories of the tree. F03 has the mental disorders.
_CATEGORIES = {
    "A": "Anatomy",
    "B": "Organism",
    "C": "Disease",
    "D": "Chemical",
    "E": "Technique",
    "F": "Psychology",
    "F03": "Disease",
    "G": "Phenomenon",
    "H": "Discipline",
    "I": "Social",
    "J": "Technology",
    "K": "Humanities",
    "L": "Information",
    "M": "Person",
    "N": "Health care",
    "V": "Publication",
    "Z": "Location",
}
_SCR_CLASSES = {"1": "Chemical", "2": "Protocol", "3": "Disease", "4": "Organism", "5": "Person", "6": "Anatomy"}
_OF_GROUPS = {"CHEM": "Chemical", "DISO": "Disease", "LIVB": "Organism", "ANAT": "Anatomy", "GEOG": "Location"}
_SCOPES = {"NRW": "narrow", "BRD": "broad", "REL": "related"}  # relations to the preferred concept of a record
_REGISTRIES = {"CAS": r"\d+-\d\d-\d", "UNII": r"[0-9A-Z]{10}", "EC": r"EC \d+\..*", "NCBITaxon": r"txid\d+"}


class _Entry(NamedTuple):
    """A descriptor or supplementary record."""

    line: int
    id: str
    names: list[tuple[str, str]]
    trees: list[str]
    types: list[str]  # of a supplementary record
    definition: str
    headings: list[str]  # ids that a supplementary record is mapped to, with an asterisk for a main heading
    numbers: list[str]  # of registries


def read_mesh(context: ReaderContext) -> Iterator[Record]:
    """Read the descriptors or supplementary records.

    The category of the tree is the type, such as "Disease". The terms of narrower, broader and related concepts of a
    record have these scopes. A heading to which a supplementary record is mapped is a cross-reference: broader if it is
    a main heading, else related. ASCII files name headings without ids, so these are not read.
    """
    with context.open_bytes() as file:
        head = file.read(_HEAD)
    root = root_tag(head)
    read = _from_ascii if head.lstrip().startswith(ASCII_START.encode()) else _from_xml
    code = _LANGUAGE.search(head.decode("latin-1"))
    context = replace(context, language=context.language or known_tag(code["code"] if code else "en"))
    is_supplementary = root == _SUPPLEMENTARY or (read is _from_ascii and b"RECTYPE = C" in head)
    trees: dict[str, str] = {}
    silent = replace(context, report=ReadReport(), strict=False)
    for entry in () if is_supplementary else read(silent, root, ["ConceptList"]):
        trees |= dict.fromkeys(entry.trees, entry.id)
    for entry in read(context, root):
        context.report.rows_read += 1
        above = (trees.get(number.rpartition(".")[0], entry.id) for number in entry.trees)
        categories = (_CATEGORIES.get(number[:3]) or _CATEGORIES.get(number[:1], "") for number in entry.trees)
        yield from context.record(
            entry.line,
            entry.id,
            entry.names,
            types=[*entry.types, *categories],
            definition=entry.definition,
            parents=[parent for parent in above if parent != entry.id],
            xrefs=filter(None, map(_registered, entry.numbers)),
            xref_predicates=[
                (heading.lstrip("*"), f"skos:{'broad' if heading.startswith('*') else 'related'}Match")
                for heading in entry.headings
            ],
        )


def _registered(number: str) -> str:
    """Return the CURIE of a registry number; empty for one of an unknown kind."""
    registry = next((name for name, pattern in _REGISTRIES.items() if re.fullmatch(pattern, number)), "")
    return f"{registry}:{number.removeprefix('EC ').removeprefix('txid')}" if registry else ""


def _from_xml(context: ReaderContext, root: str, without: Sequence[str] = ()) -> Iterator[_Entry]:
    kind = RECORD_SETS.get(root, "DescriptorRecord")
    stem = kind.removesuffix("Record")
    name_tag = "DescriptorName" if stem == "Descriptor" else f"{kind}Name"
    id_tag = name_tag.replace("Name", "UI")
    parser = ElementParser(context.path, "mesh", [f"{kind}Set", kind], [*_NOT_NEEDED, *without])
    for line, record in parser.elements(context.chunks()):
        names = [(record.findtext(f"{name_tag}/String", ""), "preferred")]
        definition = record.findtext("Note", "")
        for concept in record.iterfind("ConceptList/Concept"):
            relation = concept.find("ConceptRelationList/ConceptRelation")
            scope = "exact" if relation is None else _SCOPES.get(relation.get("RelationName", ""), "exact")
            if concept.get("PreferredConceptYN") == "Y":
                scope, definition = "exact", concept.findtext("ScopeNote") or definition
            names += [(term.findtext("String", ""), scope) for term in concept.iterfind("TermList/Term")]
        yield _Entry(
            line,
            record.findtext(id_tag, ""),
            [name for number, name in enumerate(names) if not number or name[0] != names[0][0]],
            [number.text or "" for number in record.iterfind("TreeNumberList/TreeNumber")],
            [_SCR_CLASSES.get(record.get("SCRClass", ""), "")],
            definition,
            [heading.text or "" for heading in record.iterfind(f"{_MAPPED_TO}/DescriptorReferredTo/DescriptorUI")],
            [number.text or "" for number in record.iter("RegistryNumber")],
        )


def _from_ascii(context: ReaderContext, root: str, without: Sequence[str] = ()) -> Iterator[_Entry]:
    first, values = 0, defaultdict[str, list[str]](list)
    for line, text in chain(context.filled_lines(), [(0, ASCII_START)]):
        if text.strip() == ASCII_START:
            if values:
                yield _ascii_entry(first, values)
            first, values = line, defaultdict(list)
        elif (field := text.partition("="))[1]:
            values[field[0].strip()].append(field[2].strip())
        else:
            context.broken(line, "no = between element and value")


def _ascii_entry(line: int, values: Mapping[str, list[str]]) -> _Entry:
    names = [(text, "preferred") for text in [*values["MH"], *values["NM"]]]
    for value in chain(values["PRINT ENTRY"], values["ENTRY"], values["SY"]):
        text, *fields = value.split("|")
        # the last field has a letter for each of the fields before it, in which d is the relation
        letters = fields[-1] if fields else ""
        relation = [text, *fields][letters.index("d")] if "d" in letters[: len(fields)] else ""
        names.append((text, _SCOPES.get(relation, "exact")))
    groups = (SEMANTIC_TYPES[code].group for code in values["ST"] if code in SEMANTIC_TYPES)
    types = [_OF_GROUPS.get(group, "") for group in groups] if values["NM"] else []
    definition = " ".join([*values["MS"], *values["NO"]])
    return _Entry(line, "".join(values["UI"][:1]), names, values["MN"], types, definition, [], values["RN"])
