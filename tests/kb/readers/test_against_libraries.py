"""Our readers of OBO, OBO Graphs and SSSOM against the libraries of these formats, on every file of the data folder.

The libraries stop at the first line that their grammar does not allow. So `fastobo` reads one stanza or node at a time
here, and where it refuses a stanza, one line at a time. The tests count the lines that it still refuses.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spacy_sapbert.files.opening import open_text
from spacy_sapbert.kb.ids import canonical_id
from spacy_sapbert.kb.mapping import Equivalents, read_mappings
from spacy_sapbert.kb.readers import ReaderContext, ReadReport, read_vocabulary
from spacy_sapbert.kb.readers.ontology import curie, without_release

fastobo = pytest.importorskip("fastobo")
VALUES = (
    "preferred",
    "exact",
    "narrow",
    "broad",
    "related",
    "alternative_ids",
    "parents",
    "xrefs",
    "definition",
    "types",
)
Term = dict[str, set[str]]


class Parsed(NamedTuple):
    """What a library finds in a file.

    Attributes:
        terms: The values of `VALUES` of each term that is not obsolete and has a name.
        refused: The lines that the library cannot read, by term.
    """

    terms: dict[str, Term]
    refused: dict[str, list[str]]


def found_by_us(path: Path, **options: Any) -> dict[str, Term]:
    found = {}
    for record in read_vocabulary(path, report=ReadReport(), **options):
        term: Term = {value: set() for value in VALUES}
        for name in record.names:
            term[name.scope].add(name.text)
        for value in ("alternative_ids", "parents", "xrefs", "types"):
            term[value] |= set(getattr(record, value))
        term["definition"] |= {record.definition} - {None}
        found[record.concept_id] = term
    return found


def from_clauses(path: Path, frames: Iterable[tuple[str, list[Any], list[str]]]) -> Parsed:
    """Collect the terms of `fastobo`.

    Args:
        path: The file.
        frames: Id, clauses and refused lines of each term.
    """
    clean = ReaderContext(path).clean
    terms, refused, obsolete = {}, {}, {}
    for raw_id, clauses, bad in frames:
        concept_id = canonical_id(curie(raw_id))
        refused[concept_id] = bad
        of = defaultdict(list)
        for clause in clauses:
            of[clause.raw_tag()].append(clause)
        alternative = {an_id(clause.alt_id) for clause in of["alt_id"]}
        if any(clause.obsolete for clause in of["is_obsolete"]):
            obsolete[concept_id] = {concept_id, *alternative}, [an_id(clause.term) for clause in of["replaced_by"]]
            continue
        names = [clean(clause.name) for clause in of["name"]]
        term: Term = {value: set() for value in VALUES}
        term["preferred"], term["exact"] = set(names[:1]), set(names[1:])
        for clause in of["synonym"]:
            term[clause.synonym.scope.lower()].add(clean(clause.synonym.desc))
        term["alternative_ids"] = alternative - {concept_id}
        term["parents"] = {an_id(clause.term) for clause in of["is_a"]}
        term["xrefs"] = {canonical_id(without_release(written(clause.xref.id))) for clause in of["xref"]}
        term["definition"] = {clean(clause.definition) for clause in of["def"]} - {""}
        term["types"] = {written(clause.namespace) for clause in of["namespace"]}
        if names:
            terms[concept_id] = term
    for ids, by in obsolete.values():
        for _ in obsolete:  # a replacement may be obsolete as well
            by = obsolete[by[0]][1] if len(by) == 1 and by[0] in obsolete else by
        if len(by) == 1 and by[0] in terms:
            terms[by[0]]["alternative_ids"] |= ids
    return Parsed(terms, refused)


def written(identifier: Any) -> str:
    """The id as text, without the escapes of OBO."""
    if hasattr(identifier, "prefix"):
        return f"{identifier.prefix}:{identifier.local}"
    return getattr(identifier, "unescaped", None) or str(identifier)


def an_id(identifier: Any) -> str:
    return canonical_id(curie(written(identifier)))


def stanzas(path: Path) -> Iterator[list[str]]:
    """The lines of each [Term]."""
    with open_text(path) as file:
        for stanza in re.split(r"\n(?=\[)", file.read()):
            if stanza.startswith("[Term]"):
                yield [line for line in stanza.split("\n") if line.strip()]


def frames_of_obo(path: Path, default_scope: str) -> Iterator[tuple[str, list[Any], list[str]]]:
    for lines in stanzas(path):
        with suppress(SyntaxError):
            (frame,) = fastobo.loads("\n".join(lines) + "\n")
            yield written(frame.id), list(frame), []
            continue
        clauses, refused, raw_id = [], [], lines[1].removeprefix("id: ")
        for line in lines[2:]:
            # OBO 1.2 has a default for the scope, but the library wants it
            line = re.sub(r'^(synonym: ".*") \[', rf"\1 {default_scope.upper()} [", line)
            try:
                clauses += fastobo.loads(f"[Term]\nid: A:1\n{line}\n")[0]
            except SyntaxError:
                refused.append(line)
        yield raw_id, clauses, refused


def frames_of_json(path: Path) -> Iterator[tuple[str, list[Any], list[str]]]:
    with gzip.open(path) as file:
        graph = json.load(file)["graphs"][0]
    parents = defaultdict(list)
    for edge in graph["edges"]:
        if edge["pred"] == "is_a":
            parents[edge["sub"]].append(edge)
    for node in graph["nodes"]:
        if node.get("type") != "CLASS":
            continue
        one = {"graphs": [{"id": "x", "nodes": [node], "edges": parents[node["id"]]}]}
        try:
            (frame,) = fastobo.load_graph(io.BytesIO(json.dumps(one).encode()))
            yield node["id"], list(frame), []
        except (SyntaxError, ValueError) as error:
            yield node["id"], [], [str(error)]


def default_types(path: Path) -> set[str]:
    """The namespace of terms without their own, from the header."""
    with open_text(path) as file:
        if path.name.endswith(".json.gz"):
            properties = json.load(file)["graphs"][0]["meta"].get("basicPropertyValues", ())
            return {item["val"] for item in properties if item["pred"].endswith("#default-namespace")}
        head = file.read(1 << 16).partition("\n[")[0]
    return set(re.findall(r"^default-namespace: (\S+)", head, re.MULTILINE))


class File(NamedTuple):
    """A file of the data folder.

    Attributes:
        path: Below the folder of vocabularies.
        n_terms: Terms that our reader gives.
        n_refused: Terms with a line that the library cannot read.
        n_hidden: Terms that only the library gives.
        default_scope: Scope of synonyms without one.
    """

    path: str
    n_terms: int
    n_refused: int = 0
    n_hidden: int = 0
    default_scope: str | None = None


FAST = [
    File("symptom_ontology/symp.obo", 895),
    File("chebi/chebi_import.obo.gz", 1583),
    File("go/go_import.obo.gz", 3717),
]
SLOW = [
    File("uberon/uberon_import.obo.gz", 7576),
    # an xref with a blank, and a namespace that is a sentence
    File("cell_ontology/cl-2017-04-14.obo.gz", 6436, n_refused=2),
    # definitions whose references hold blanks
    File("doid/doid-2016-03-04.obo.gz", 6874, n_refused=7),
    File("gard/gard.obo.gz", 6110, default_scope="exact"),
    File("hpo/hp-2015-01-27.obo.gz", 10972),
    # nodes with such references
    File("doid/doid-2018-07-05.json.gz", 8906, n_refused=63),
    File("ncit_disease/ncit-disease-2018-06-08.json.gz", 20324),
    # ORDO marks classes as obsolete by their parent ObsoleteClass only, so the library does not know it
    File("ordo/ordo-2_6-2018-07-12.json.gz", 13126, n_hidden=745),
]


@pytest.mark.parametrize(
    "file", [*FAST, *(pytest.param(file, marks=pytest.mark.slow) for file in SLOW)], ids=lambda file: file.path
)
def test_ontologies_give_what_fastobo_gives(data_dir, file):
    path = data_dir / "vocabularies" / file.path
    ours = found_by_us(path, **({"default_scope": file.default_scope} if file.default_scope else {}))
    is_json = path.name.endswith(".json.gz")
    parsed = from_clauses(
        path, frames_of_json(path) if is_json else frames_of_obo(path, file.default_scope or "related")
    )
    default = default_types(path)
    for term in parsed.terms.values():
        term["types"] |= set() if term["types"] else default
    refused = {concept_id for concept_id, lines in parsed.refused.items() if lines}
    assert (len(ours), len(refused)) == (file.n_terms, file.n_refused)
    assert len(parsed.terms.keys() - ours.keys()) == file.n_hidden
    assert ours.keys() - parsed.terms.keys() <= refused
    for concept_id, term in parsed.terms.items():
        if concept_id in refused:
            read = {value: term[value] for value in VALUES if value != "types"}
            assert all(values <= ours[concept_id][value] for value, values in read.items()), concept_id
        elif concept_id in ours:
            assert ours[concept_id] == term, concept_id


@pytest.mark.slow
def test_mappings_are_those_of_the_sssom_library(data_dir):
    parsers = pytest.importorskip("sssom.parsers")
    (path,) = (data_dir / "vocabularies" / "mondo").glob("*.sssom.tsv.gz")
    rows = parsers.parse_sssom_table(str(path)).df
    exact = rows[rows["predicate_id"] == "skos:exactMatch"]
    theirs = Equivalents(zip(exact["subject_id"].map(canonical_id), exact["object_id"].map(canonical_id), strict=True))
    report = ReadReport()
    ours = read_mappings([path], report=report)
    assert (report.rows_read, len(exact)) == (21_660, 21_660)
    assert sets(ours) == sets(theirs)


def sets(equivalents: Equivalents) -> set[frozenset[str]]:
    """The sets of equal ids."""
    by_root = defaultdict(set)
    for concept_id in equivalents._parents:
        by_root[equivalents.find(concept_id)].add(concept_id)
    return {frozenset(ids) for ids in by_root.values()}
