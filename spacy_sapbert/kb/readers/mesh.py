"""Read MeSH's own files: descriptors and supplementary concept records, in XML.

The elements are those of NLM's page "MeSH XML data elements". Files are read as a stream,
those of descriptors twice: a parent is the descriptor that has the tree number above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...files.xml import ElementParser, root_tag
from ...types import Record
from ..languages import known_tag
from .context import ReaderContext, ReadReport

RECORD_SETS = {"DescriptorRecordSet": "DescriptorRecord", "SupplementalRecordSet": "SupplementalRecord"}
"""The elements of the records by the root element."""

_HEAD = 1 << 16  # bytes that have the root element
_LANGUAGE = re.compile(r"""<\w+RecordSet\s+LanguageCode\s*=\s*["'](?P<code>\w+)""")
_NOT_NEEDED = ("AllowableQualifiersList", "EntryCombinationList", "SeeRelatedList", "PharmacologicalActionList")
# The categories of the tree. F03 has the mental disorders.
_NAMES = (
    "A Anatomy B Organism C Disease D Chemical E Technique F Psychology F03 Disease G Phenomenon H Discipline I Social "
    "J Technology K Humanities L Information M Person N Healthcare V Publication Z Location"
)
_CATEGORIES = dict(zip(_NAMES.split()[::2], _NAMES.split()[1::2], strict=True))
_SCR_CLASSES = dict(zip("123456", ["Chemical", "Protocol", "Disease", "Organism", "Person", "Anatomy"], strict=True))
_SCOPES = {"NRW": "narrow", "BRD": "broad", "REL": "related"}  # relations to the preferred concept of a record
_REGISTRIES = {"CAS": r"\d+-\d\d-\d", "UNII": r"[0-9A-Z]{10}", "EC": r"EC \d+\..*"}


def read_mesh(context: ReaderContext) -> Iterator[Record]:
    """Read the descriptors or supplementary records.

    The category of the tree is the type, such as "Disease". The terms of narrower, broader and related concepts of a
    record have these scopes. A heading to which a supplementary record is mapped is a cross-reference: broader if it is
    a main heading, else related.
    """
    with context.open_bytes() as file:
        head = file.read(_HEAD)
    root = root_tag(head)
    code = _LANGUAGE.search(head.decode("latin-1"))
    context = replace(context, language=context.language or known_tag(code["code"] if code else "en"))
    trees: dict[str, str] = {}
    if root != "SupplementalRecordSet":
        silent = replace(context, report=ReadReport(), strict=False)
        for record in _from_xml(silent, root, ["ConceptList"]):
            trees |= dict.fromkeys(record["trees"], record["concept_id"])
    for record in _from_xml(context, root):
        context.report.rows_read += 1
        numbers = record.pop("trees")
        record["types"] += [_CATEGORIES.get(number[:3]) or _CATEGORIES.get(number[:1], "") for number in numbers]
        above = (trees.get(number.rpartition(".")[0]) for number in numbers)
        parents = [parent for parent in above if parent and parent != record["concept_id"]]
        yield from context.record(**record, parents=parents)


def _from_xml(context: ReaderContext, root: str, without: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `ReaderContext.record`, and the tree numbers."""
    kind = RECORD_SETS.get(root, "DescriptorRecord")
    stem = kind.replace("DescriptorRecord", "Descriptor")
    parser = ElementParser(context.path, "mesh", [f"{kind}Set", kind], [*_NOT_NEEDED, *without])
    for line, record in parser.elements(context.chunks()):
        names = {record.findtext(f"{stem}Name/String", ""): "preferred"}
        definition = record.findtext("Note", "")
        for concept in record.iterfind("ConceptList/Concept"):
            relation = concept.find("ConceptRelationList/ConceptRelation")
            scope = "exact" if relation is None else _SCOPES.get(relation.get("RelationName", ""), "exact")
            if concept.get("PreferredConceptYN") == "Y":
                scope, definition = "exact", concept.findtext("ScopeNote") or definition
            for term in concept.iterfind("TermList/Term/String"):
                names.setdefault(term.text or "", scope)
        headings = [heading.text or "" for heading in record.iterfind(".//HeadingMappedTo//DescriptorUI")]
        yield {
            "line": line,
            "concept_id": record.findtext(f"{stem}UI", ""),
            "names": names.items(),
            "trees": [number.text or "" for number in record.iterfind("TreeNumberList/TreeNumber")],
            "types": [_SCR_CLASSES.get(record.get("SCRClass", ""), "")],
            "definition": definition,
            "xrefs": _registered(number.text or "" for number in record.iter("RegistryNumber")),
            "xref_predicates": [
                (text.lstrip("*"), f"skos:{'broad' if text.startswith('*') else 'related'}Match") for text in headings
            ],
        }


def _registered(numbers: Iterable[str]) -> list[str]:
    """Return the CURIEs of registry numbers of a known kind."""
    kinds = ((name, number) for number in numbers for name, form in _REGISTRIES.items() if re.fullmatch(form, number))
    return [f"{name}:{number.removeprefix('EC ')}" for name, number in kinds]
