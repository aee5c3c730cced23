"""Read MeSH's own files: descriptors and supplementary concept records, in XML and in ASCII.

The elements are those of NLM's pages "MeSH XML data elements" and "ASCII MeSH data elements". Files are read as a
stream, those of descriptors twice: a parent is the descriptor that has the tree number above.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ...files.xml import ElementParser, root_tag
from ...types import Record
from ..ids import known_tag
from ..semantic_types import SEMANTIC_TYPES
from .context import ReaderContext, ReadReport

ASCII_START = "*NEWRECORD"

_HEAD = 1 << 16  # bytes that have the root element
_LANGUAGE = re.compile(r"""<\w+RecordSet\s+LanguageCode\s*=\s*["'](?P<code>\w+)""")
_NOT_NEEDED = ("AllowableQualifiersList", "EntryCombinationList", "SeeRelatedList", "PharmacologicalActionList")
_CATEGORIES, _SCR_CLASSES, _OF_GROUPS, _SCOPES, _REGISTRIES = json.loads(
    Path(__file__).with_suffix(".json").read_bytes()
).values()
"""Types by category of the tree, in which F03 has the mental disorders, by class of a supplementary record, and by
group of semantic types. Scopes by relation to the preferred concept of a record. The forms of registry numbers.
"""


def read_mesh(context: ReaderContext) -> Iterator[Record]:
    """Read the descriptors or supplementary records.

    The category of the tree is the type, such as "Disease". The terms of narrower, broader and related concepts of a
    record have these scopes. A heading to which a supplementary record is mapped is a cross-reference: broader if it is
    a main heading, else related. ASCII files name headings without ids, so these are not read.
    """
    with context.open_bytes() as file:
        head = file.read(_HEAD)
    root, is_ascii = root_tag(head), head.lstrip().startswith(ASCII_START.encode())
    code = _LANGUAGE.search(head.decode("latin-1"))
    context = replace(context, language=context.language or known_tag(code["code"] if code else "en"))
    trees: dict[str, str] = {}
    if root != "SupplementalRecordSet" and not (is_ascii and b"RECTYPE = C" in head):
        silent = replace(context, report=ReadReport(), strict=False)
        for record in _from_ascii(silent) if is_ascii else _from_xml(silent, root, ["ConceptList"]):
            trees |= dict.fromkeys(record["trees"], record["concept_id"])
    for record in _from_ascii(context) if is_ascii else _from_xml(context, root):
        context.report.rows_read += 1
        numbers = record.pop("trees")
        record["types"] += [_CATEGORIES.get(number[:3]) or _CATEGORIES.get(number[:1], "") for number in numbers]
        above = (trees.get(number.rpartition(".")[0]) for number in numbers)
        parents = [parent for parent in above if parent and parent != record["concept_id"]]
        yield from context.record(**record, parents=parents)


# Both functions yield the arguments of `ReaderContext.record`, and the tree numbers.


def _from_xml(context: ReaderContext, root: str, without: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    kind = "SupplementalRecord" if root == "SupplementalRecordSet" else "DescriptorRecord"
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


def _from_ascii(context: ReaderContext) -> Iterator[dict[str, Any]]:
    first, values = 0, defaultdict[str, list[str]](list)
    for line, text in chain(context.filled_lines(), [(0, ASCII_START)]):
        if text.strip() == ASCII_START:
            if values:
                yield _ascii_record(first, values)
            first, values = line, defaultdict(list)
        elif (field := text.partition("="))[1]:
            values[field[0].strip()].append(field[2].strip())
        else:
            context.broken(line, "no = between element and value")


def _ascii_record(line: int, values: Mapping[str, list[str]]) -> dict[str, Any]:
    names = [(text, "preferred") for text in [*values["MH"], *values["NM"]]]
    for value in chain(values["PRINT ENTRY"], values["ENTRY"], values["SY"]):
        fields = value.split("|")
        # the last field has a letter for each of the fields before it, in which d is the relation
        at = fields[-1].find("d", 0, len(fields) - 1) if len(fields) > 1 else -1
        names.append((fields[0], _SCOPES.get(fields[at], "exact") if at >= 0 else "exact"))
    groups = (SEMANTIC_TYPES[code].group for code in values["ST"] if code in SEMANTIC_TYPES)
    return {
        "line": line,
        "concept_id": "".join(values["UI"][:1]),
        "names": names,
        "trees": values["MN"],
        "types": [_OF_GROUPS.get(group, "") for group in groups] if values["NM"] else [],
        "definition": " ".join([*values["MS"], *values["NO"]]),
        "xrefs": _registered(values["RN"]),
    }


def _registered(numbers: Iterable[str]) -> list[str]:
    """Return the CURIEs of registry numbers of a known kind."""
    kinds = ((name, number) for number in numbers for name, form in _REGISTRIES.items() if re.fullmatch(form, number))
    return [f"{name}:{number.removeprefix('EC ')}" for name, number in kinds]
