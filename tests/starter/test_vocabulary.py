from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spacy_sapbert.starter import VOCABULARY

STARTER = VOCABULARY.parent
CHECK = Path(__file__).resolve().parent / "check_starter.py"


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


def run_check(data: Path, starter: Path = STARTER) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, str(CHECK), "--data", str(data), "--starter", str(starter)]
    finished = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    return finished.returncode, json.loads(finished.stdout or "{}")


def test_every_name_belongs_to_its_concept_in_mesh_or_medic_or_is_ours(data_dir: Path) -> None:
    status, report = run_check(data_dir)
    assert report["failures"] == []
    assert status == 0


def write_gzip(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def small_data(tmp_path: Path) -> Path:
    """Three sources of four concepts; the MEDIC row has an OMIM number and an HTML entity."""
    data = tmp_path / "data"
    write_gzip(
        data / "vocabularies/mesh/mesh_descriptors_2020.tsv.gz", "D000001\tGrippe\tFlu, Human|Flu\nD000002\tCold\t\n"
    )
    write_gzip(data / "vocabularies/mesh_chemicals/mesh_chemicals.txt.gz", "D000003||Water|Aqua\n")
    write_gzip(data / "dictionaries/medic/medic_06Jul2012.txt.gz", "C000004|123456||Down&apos;s Disease\n")
    return data


@pytest.fixture
def small_starter(tmp_path: Path) -> Path:
    rows = [
        {"concept_id": "C000004", "canonical_name": "Downs disease", "aliases": []},
        {"concept_id": "D000001", "canonical_name": "grippe", "aliases": ["FLU", "influenza"]},
    ]
    (tmp_path / "vocabulary.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "own_names.txt").write_text("D000001\tinfluenza\n", encoding="utf-8")
    return tmp_path


def add_concept(starter: Path, concept_id: str, name: str) -> None:
    with (starter / "vocabulary.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"concept_id": concept_id, "canonical_name": name, "aliases": []}) + "\n")


def test_check_passes_over_case_punctuation_and_entities(small_data: Path, small_starter: Path) -> None:
    status, report = run_check(small_data, small_starter)
    assert (status, report["failures"]) == (0, [])
    assert (report["concepts"], report["names"], report["ours"]) == (2, 4, 1)


@pytest.mark.parametrize(
    ("concept_id", "name", "failures"),
    [
        ("D000009", "cold", ["unknown id", "name of another concept"]),
        ("D000003", "H2O", ["unknown name"]),
        ("D000003", "cold", ["name of another concept"]),
    ],
)
def test_check_finds_wrong_concepts(
    concept_id: str, name: str, failures: list[str], small_data: Path, small_starter: Path
) -> None:
    add_concept(small_starter, concept_id, name)
    status, report = run_check(small_data, small_starter)
    assert status == 1
    assert [failure["failure"] for failure in report["failures"]] == failures


@pytest.mark.parametrize(
    ("line", "failure"),
    [("D000001\tFLU\n", "superfluous"), ("D000002\tcommon cold\n", "not in the vocabulary")],
)
def test_check_finds_superfluous_own_names(line: str, failure: str, small_data: Path, small_starter: Path) -> None:
    with (small_starter / "own_names.txt").open("a", encoding="utf-8") as file:
        file.write(line)
    status, report = run_check(small_data, small_starter)
    assert status == 1
    assert [found["failure"] for found in report["failures"]] == [failure]


def test_check_reports_own_names_that_others_hold(small_data: Path, small_starter: Path) -> None:
    add_concept(small_starter, "D000003", "cold")
    with (small_starter / "own_names.txt").open("a", encoding="utf-8") as file:
        file.write("D000003\tcold\n")
    status, report = run_check(small_data, small_starter)
    assert status == 0
    assert report["ours_held_by_others"] == [{"id": "D000003", "name": "cold", "held_by": ["D000002"]}]


def test_check_says_where_the_data_should_be(tmp_path: Path) -> None:
    command = [sys.executable, str(CHECK), "--data", str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert finished.returncode == 2
    assert "--data" in finished.stderr
