"""Our reader of OBO against the library `fastobo`, on files of the data folder that its grammar allows as a whole."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spacy_sapbert.files.opening import open_text
from spacy_sapbert.kb.ids import canonical_id, curie
from spacy_sapbert.kb.readers import ReaderContext, ReadReport, read_vocabulary
from spacy_sapbert.kb.readers.ontology import without_release

fastobo = pytest.importorskip("fastobo")
SCOPES = ("preferred", "exact", "narrow", "broad", "related")
FIELDS = ("alternative_ids", "parents", "xrefs", "types")
Term = dict[str, set[str]]


def read_terms(path: Path) -> dict[str, Term]:
    terms = {}
    for record in read_vocabulary(path, report=ReadReport()):
        term: Term = {scope: {name.text for name in record.names if name.scope == scope} for scope in SCOPES}
        term |= {field: set(getattr(record, field)) for field in FIELDS}
        terms[record.concept_id] = {**term, "definition": {record.definition} - {None}}
    return terms


def parse_terms(path: Path) -> dict[str, Term]:
    """The terms of `fastobo` that are not obsolete and have a name."""
    clean = ReaderContext(path).clean
    terms, obsolete = {}, {}
    for frame in frames(path):
        concept_id = parse_id(frame.id)
        clauses = defaultdict(list)
        for clause in frame:
            clauses[clause.raw_tag()].append(clause)
        alternatives = {parse_id(clause.alt_id) for clause in clauses["alt_id"]}
        if any(clause.obsolete for clause in clauses["is_obsolete"]):
            replacements = [parse_id(clause.term) for clause in clauses["replaced_by"]]
            obsolete[concept_id] = {concept_id, *alternatives}, replacements
            continue
        names = [clean(clause.name) for clause in clauses["name"]]
        term: Term = {**{scope: set() for scope in SCOPES}, "preferred": set(names[:1]), "exact": set(names[1:])}
        for clause in clauses["synonym"]:
            term[clause.synonym.scope.lower()].add(clean(clause.synonym.desc))
        term["alternative_ids"] = alternatives - {concept_id}
        term["parents"] = {parse_id(clause.term) for clause in clauses["is_a"]}
        term["xrefs"] = {canonical_id(without_release(unescaped(clause.xref.id))) for clause in clauses["xref"]}
        term["definition"] = {clean(clause.definition) for clause in clauses["def"]} - {""}
        term["types"] = {unescaped(clause.namespace) for clause in clauses["namespace"]} or default_types(path)
        if names:
            terms[concept_id] = term
    for ids, replacements in obsolete.values():
        for _ in obsolete:  # a replacement may be obsolete as well
            if len(replacements) == 1 and replacements[0] in obsolete:
                replacements = obsolete[replacements[0]][1]
        if len(replacements) == 1 and replacements[0] in terms:
            terms[replacements[0]]["alternative_ids"] |= ids
    return terms


def frames(path: Path) -> Iterator[Any]:
    with open_text(path) as file:
        for stanza in re.split(r"\n(?=\[)", file.read()):
            if stanza.startswith("[Term]"):
                yield from fastobo.loads("\n".join(line for line in stanza.split("\n") if line.strip()) + "\n")


def default_types(path: Path) -> set[str]:
    """The namespace of terms without their own, from the header."""
    with open_text(path) as file:
        return set(re.findall(r"^default-namespace: (\S+)", file.read(1 << 16).partition("\n[")[0], re.MULTILINE))


def unescaped(identifier: Any) -> str:
    if hasattr(identifier, "prefix"):
        return f"{identifier.prefix}:{identifier.local}"
    return getattr(identifier, "unescaped", None) or str(identifier)


def parse_id(identifier: Any) -> str:
    return canonical_id(curie(unescaped(identifier)))


@pytest.mark.parametrize(
    ("file", "n_terms"),
    [
        ("symptom_ontology/symp.obo", 895),
        ("chebi/chebi_import.obo.gz", 1583),
        pytest.param("go/go_import.obo.gz", 3717, marks=pytest.mark.slow),
        pytest.param("uberon/uberon_import.obo.gz", 7576, marks=pytest.mark.slow),
        pytest.param("hpo/hp-2015-01-27.obo.gz", 10972, marks=pytest.mark.slow),
    ],
)
def test_ontologies_give_what_fastobo_gives(data_dir, file, n_terms):
    path = data_dir / "vocabularies" / file
    terms = read_terms(path)
    assert len(terms) == n_terms
    assert terms == parse_terms(path)
