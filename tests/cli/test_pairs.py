import gzip
import json
from math import comb

import pytest
from typer.testing import CliRunner

from spacy_sapbert.cli import app
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.training.pair_files import Pair, SharedName, read_pairs, read_shared_names, shared_names_path
from spacy_sapbert.types import Name, Record

PUBTATOR = """\
1|t|Common cold and breast and mammary cancer
1|a|Coryza is no tumour. Cancer of both breasts is one. Fever is a symptom.
1\t0\t11\tCommon cold\tDisease\tC1
1\t16\t41\tbreast and mammary cancer\tComposite\tC2|C3
1\t42\t48\tCoryza\tDisease\tC1
1\t56\t62\ttumour\tDisease\tC3
1\t64\t70\tCancer\tDisease\tC2
1\t95\t100\tFever\tSymptom\tC9

"""


def run(*arguments):
    """Standard output as JSON, and standard error; what a user can mend is raised."""
    result = CliRunner().invoke(app, ["pairs", *map(str, arguments)])
    if "[E" in result.stderr:
        assert result.exit_code == 1
        raise SapbertError(result.stderr)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


@pytest.fixture
def kb(tmp_path):
    names = {
        "C1": "Cold|common cold",
        "C2": "breast cancer|Breast Neoplasms|cancer",
        "C3": "neoplasms|Cancer",
        "C4": "ALS",
    }
    records = (
        Record(concept_id, tuple(Name(text, "exact", "s") for text in texts.split("|")))
        for concept_id, texts in names.items()
    )
    return build_knowledge_base(records, tmp_path / "small.kb").path


@pytest.fixture
def large_kb(tmp_path):
    names = {f"C{number}": [f"{number} {letter}" for letter in "abcdefg"[: 2 + number % 6]] for number in range(60)}
    records = (Record(key, tuple(Name(text, "exact", "s") for text in texts)) for key, texts in names.items())
    return build_knowledge_base(records, tmp_path / "large.kb").path


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(PUBTATOR)
    return path


def test_pairs_and_shared_names_are_written_and_counted(kb, tmp_path):
    result, table = run(kb, "-o", tmp_path / "pairs.txt")
    pairs = list(read_pairs(tmp_path / "pairs.txt"))
    assert [pair.concept_id for pair in pairs] == ["C1", "C2", "C2", "C2", "C3"]
    assert set(pairs[0][1:]) == {"cold", "common cold"}
    assert list(read_shared_names(tmp_path / "pairs.shared.txt")) == [SharedName("cancer", ("C2", "C3"))]
    assert result == {
        "concepts": 4,
        "concepts_with_one_name": 1,
        "concepts_with_enough_names": 3,
        "names": 8,
        "duplicate_names": 0,
        "long_names": 0,
        "unwritable_names": 0,
        "unwritable_ids": 0,
        "pairs": 5,
        "train_pairs": 5,
        "shared_names": 1,
    }
    assert "concepts with one name" in table


def test_the_same_seed_writes_the_same_bytes(large_kb, tmp_path):
    def written(name, *options):
        run(large_kb, "-o", tmp_path / name, "--pairs.max_pairs", 4, *options)
        return (tmp_path / name).read_bytes()

    assert written("a.txt") == written("b.txt", "--pairs.seed", 0)
    assert written("a.txt") != written("c.txt", "--pairs.seed", 1)
    assert written("a.txt.gz") == written("b.txt.gz")
    assert gzip.decompress(written("a.txt.gz")) == written("a.txt")
    assert shared_names_path(tmp_path / "a.txt.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_at_most_so_many_pairs_of_a_concept(large_kb, tmp_path):
    result, _ = run(large_kb, "-o", tmp_path / "pairs.txt", "--pairs.max_pairs", 4)
    assert result["pairs"] == sum(min(4, comb(2 + number % 6, 2)) for number in range(60))
    config = '[pairs]\n@misc = "spacy-sapbert.Pairs.v1"\nmax_pairs = 4\n'
    for text in (config, config.replace('@misc = "spacy-sapbert.Pairs.v1"\n', "")):  # the line is not needed
        (tmp_path / "pairs.cfg").write_text(text)
        assert run(large_kb, "-o", tmp_path / "pairs.txt", "-c", tmp_path / "pairs.cfg")[0] == result


def test_the_published_numbers_of_kg_aligned_are_its_defaults(large_kb, tmp_path):
    with pytest.raises(SapbertError, match=r"E406.*concepts of pairs is 5000.*at most 30.*5 names or more"):
        run(large_kb, "-o", tmp_path / "kg", "--pairs.selection", "kg-aligned")
    options = ["--pairs.selection", "kg-aligned", "--pairs.concepts", "30", "--pairs.eval_pairs", "60"]
    result, _ = run(large_kb, "-o", tmp_path / "kg", *options)
    assert 90 <= result["pairs"] <= 150
    assert (result["eval_pairs"], result["plot_pairs"]) == (60, 10)
    assert result["train_pairs"] == result["pairs"] - 60


def test_parts_stand_in_files_of_their_own(large_kb, tmp_path):
    folder = tmp_path / "new" / "parts"
    result, _ = run(large_kb, "-o", folder, "--pairs.eval_pairs", 20, "--pairs.plot_pairs", 5)
    parts = {part: list(read_pairs(folder / f"{part}.txt")) for part in ("train", "eval", "plot")}
    assert {f"{part}_pairs": len(pairs) for part, pairs in parts.items()}.items() <= result.items()
    assert not {*parts["train"]} & {*parts["eval"]}
    assert {*parts["plot"]} < {*parts["eval"]}
    run(large_kb, "-o", tmp_path / "all.txt")
    assert {*parts["train"], *parts["eval"]} == {*read_pairs(tmp_path / "all.txt")}
    assert sorted(path.name for path in folder.iterdir()) == ["eval.txt", "plot.txt", "train.shared.txt", "train.txt"]


def test_mentions_are_paired_with_names(kb, corpus, tmp_path):
    result, table = run(kb, "-o", tmp_path / "pairs.txt", "--pairs.mentions", corpus)
    assert list(read_pairs(tmp_path / "pairs.txt")) == [
        Pair("C1", "common cold", "cold"),
        Pair("C1", "coryza", "cold"),
        Pair("C1", "coryza", "common cold"),
        Pair("C3", "tumour", "neoplasms"),
        Pair("C3", "tumour", "cancer"),
        Pair("C2", "cancer", "breast cancer"),
        Pair("C2", "cancer", "breast neoplasms"),
    ]
    assert result == {
        "mentions": 6,
        "mentions_of_other_types": 0,
        "mentions_without_id": 0,
        "composite_mentions": 1,
        "mentions_not_in_vocabulary": 1,
        "unwritable_mentions": 0,
        "repeated_mentions": 0,
        "mentions_without_another_name": 0,
        "pairs": 7,
        "train_pairs": 7,
        "shared_names": 1,
    }
    assert "composite mentions" in table


def test_mentions_of_one_type_and_format(kb, corpus, tmp_path):
    options = ("--pairs.mentions_format", "pubtator", "--pairs.mentions_types", '["Disease", "Symptom"]')
    result, _ = run(kb, "-o", tmp_path / "pairs.txt", "--pairs.mentions", corpus, *options, "--pairs.max_pairs", 1)
    assert (result["mentions_of_other_types"], result["mentions_not_in_vocabulary"]) == (1, 1)
    assert result["pairs"] == 4


def test_nothing_is_left_behind_where_there_is_no_pair(kb, corpus, tmp_path):
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SapbertError, match=r"E105.*mentions of other types 6"):
        run(kb, "-o", tmp_path / "pairs.txt", "--pairs.mentions", corpus, "--pairs.mentions_types", "Gene")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--pairs.min_pairs", 3, "--pairs.max_pairs", 2], "min_pairs is above"),
        (["--pairs.selection", "kg-aligned", "--pairs.max_pairs", 2], "min_pairs is above"),
        (["--pairs.plot_pairs", 1], "plot_pairs is above"),
        (["--pairs.mentions", "x", "--pairs.selection", "kg-aligned"], "only max_pairs is used"),
        (["--pairs.mentions", "x", "--pairs.concepts", 5], "only max_pairs is used"),
        (["--pairs.mentions_types", "Disease"], "need mentions"),
        (["--pairs.mentions_format", "bioc"], "need mentions"),
    ],
)
def test_options_that_do_not_go_together(kb, tmp_path, options, reason):
    with pytest.raises(SapbertError, match=rf"E533.*{reason}"):
        run(kb, "-o", tmp_path / "pairs.txt", *options)
    assert not (tmp_path / "pairs.txt").exists()


def test_places_that_cannot_be_written(kb, tmp_path):
    with pytest.raises(SapbertError, match="E507"):
        run(kb, "-o", tmp_path / "nowhere" / "pairs.txt")
    (tmp_path / "file").touch()
    with pytest.raises(SapbertError, match="E595"):
        run(kb, "-o", tmp_path / "file", "--pairs.eval_pairs", 1)
