from __future__ import annotations

import gzip
import html
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from spacy_sapbert.starter import VOCABULARY

STARTER = VOCABULARY.parent
DESCRIPTORS = "vocabularies/mesh/mesh_descriptors_2020.tsv.gz"
CHEMICALS = "vocabularies/mesh_chemicals/mesh_chemicals.txt.gz"
MEDIC = "dictionaries/medic/medic_06Jul2012.txt.gz"

OwnedName = tuple[str, str]
"""A concept id and one of its names."""


def name_key(name: str) -> str:
    """Return the letters and digits of a name, case-folded, to compare names without punctuation and blanks."""
    return "".join(filter(str.isalnum, html.unescape(name).casefold()))


def read_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\r\n")


def source_names(data: Path) -> Iterator[OwnedName]:
    """Read MeSH and MEDIC. A row of MEDIC with several ids gives its names to each id."""
    for line in read_lines(data / DESCRIPTORS):
        concept_id, preferred, synonyms = line.split("\t")
        yield from ((concept_id, name) for name in [preferred, *synonyms.split("|")])
    for source in (CHEMICALS, MEDIC):
        for line in read_lines(data / source):
            ids, names = line.split("||", 1)
            yield from ((concept_id, name) for concept_id in ids.split("|") for name in names.split("|"))


def read_owners(data: Path) -> dict[str, set[str]]:
    """Read the sources into a dict: name key → ids of its concepts."""
    owners = defaultdict(set)
    for concept_id, name in source_names(data):
        if key := name_key(name):
            # MEDIC writes OMIM numbers without a prefix
            owners[key].add(f"OMIM:{concept_id}" if concept_id.isdigit() else concept_id)
    return owners


def read_vocabulary(starter: Path) -> list[OwnedName]:
    lines = (starter / "vocabulary.jsonl").read_text(encoding="utf-8").splitlines()
    concepts = [json.loads(line) for line in lines]
    return [(c["concept_id"], name) for c in concepts for name in [c["canonical_name"], *c["aliases"]]]


def read_own_names(starter: Path) -> list[OwnedName]:
    lines = (starter / "own_names.txt").read_text(encoding="utf-8").splitlines()
    return [(concept_id, name) for concept_id, name in (line.split("\t") for line in lines)]


def find_failures(
    names: list[OwnedName], own: list[OwnedName], owners: Mapping[str, set[str]]
) -> Iterator[dict[str, Any]]:
    """Compare vocabulary, list of own names and sources. Yield one record per failure.

    Kinds: `unknown id`; `unknown name` (in no source, not ours); `name of another concept` (and not ours);
    `not in the vocabulary` (listed as ours); `superfluous` (listed as ours, but a source has it).
    """
    known_ids = set().union(*owners.values())
    for concept_id in sorted({concept_id for concept_id, _ in names} - known_ids):
        yield {"failure": "unknown id", "id": concept_id}
    ours = set(own)
    for concept_id, name in names:
        holders = owners.get(name_key(name), set())
        if concept_id not in holders and (concept_id, name) not in ours:
            failure = "name of another concept" if holders else "unknown name"
            yield {"failure": failure, "id": concept_id, "name": name, "held_by": sorted(holders)}
    for concept_id, name in sorted(ours - set(names)):
        yield {"failure": "not in the vocabulary", "id": concept_id, "name": name}
    for concept_id, name in own:
        if concept_id in owners.get(name_key(name), set()):
            yield {"failure": "superfluous", "id": concept_id, "name": name}


@pytest.fixture(scope="module")
def concepts() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (STARTER / "vocabulary.jsonl").read_text(encoding="utf-8").splitlines()]


def names_of(concept: dict[str, Any]) -> list[str]:
    return [concept["canonical_name"], *concept["aliases"]]


def test_keys_are_those_scispacy_reads(concepts: list[dict[str, Any]]) -> None:
    keys = {"concept_id", "canonical_name", "aliases", "types", "definition"}
    assert [concept for concept in concepts if concept.keys() != keys] == []


def test_size_ids_and_order(concepts: list[dict[str, Any]]) -> None:
    ids = [concept["concept_id"] for concept in concepts]
    assert 300 <= len(ids) <= 500
    assert ids == sorted(set(ids))
    assert [i for i in ids if not re.fullmatch(r"[CD]\d{6,9}", i)] == []


def test_one_known_type_each_and_no_definition(concepts: list[dict[str, Any]]) -> None:
    types = Counter(name for concept in concepts for name in concept["types"])
    assert types.keys() == {"Disease", "Symptom", "Drug", "Chemical"}
    assert types.total() == len(concepts)
    assert {concept["definition"] for concept in concepts} == {None}


def test_every_concept_has_one_to_ten_aliases(concepts: list[dict[str, Any]]) -> None:
    assert [concept for concept in concepts if not 1 <= len(concept["aliases"]) <= 10] == []


def test_no_name_is_owned_twice(concepts: list[dict[str, Any]]) -> None:
    counts = Counter(name.casefold() for concept in concepts for name in names_of(concept))
    assert [name for name, count in counts.items() if count > 1] == []


def test_concepts_share_no_name_but_for_punctuation(concepts: list[dict[str, Any]]) -> None:
    keys = [{"".join(filter(str.isalnum, name.casefold())) for name in names_of(c)} for c in concepts]
    counts = Counter(key for of_concept in keys for key in of_concept)
    assert [key for key, count in counts.items() if count > 1] == []


def test_names_are_clean(concepts: list[dict[str, Any]]) -> None:
    names = [name for concept in concepts for name in names_of(concept)]
    assert [name for name in names if name != " ".join(name.split()) or len(name) < 2] == []


def test_own_names_are_sorted_names_of_the_vocabulary(concepts: list[dict[str, Any]]) -> None:
    lines = (STARTER / "own_names.txt").read_text(encoding="utf-8").splitlines()
    own = [tuple(line.split("\t")) for line in lines]
    names = {(concept["concept_id"], name) for concept in concepts for name in names_of(concept)}
    assert own == sorted(set(own))
    assert set(own) - names == set()


@pytest.mark.parametrize(
    ("name", "concept_id"),
    [
        ("heart attack", "D009203"),
        ("high blood pressure", "D006973"),
        ("paracetamol", "D000082"),
        ("5-FU", "D005472"),
        ("diarrhoea", "D003967"),
        ("tumour", "D009369"),
        ("COPD", "D029424"),
        ("CF", "D003550"),
        ("metformin", "D008687"),
    ],
)
def test_everyday_names_are_there(name: str, concept_id: str, concepts: list[dict[str, Any]]) -> None:
    owners = [c["concept_id"] for c in concepts if name.casefold() in {n.casefold() for n in names_of(c)}]
    assert owners == [concept_id]


@pytest.mark.parametrize(
    "word", ["all", "was", "at", "as", "no", "lead", "hit", "can", "fits", "ms", "breast and ovarian cancer"]
)
def test_words_that_mostly_mean_something_else_are_not(word: str, concepts: list[dict[str, Any]]) -> None:
    assert word not in {name.casefold() for concept in concepts for name in names_of(concept)}


def test_every_name_belongs_to_its_concept_in_mesh_or_medic_or_is_ours(data_dir: Path) -> None:
    failures = find_failures(read_vocabulary(STARTER), read_own_names(STARTER), read_owners(data_dir))
    assert list(failures) == []
