import gzip
import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from spacy_sapbert.kb.knowledge_base import KnowledgeBase

from .conftest import counts, shown

TABLE = """\
id\tname\tsynonyms\ttypes
D001943\tBreast Neoplasms\tbreast cancer|Cancer, Breast\tDisease
D003550\tCystic Fibrosis\tCF|CF\t
\tno id\t\t
D008094\tLithium [Li]\t\tChemical
"""
MEDIC = "D009369||Neoplasms|cancer\n145250||Hyperpigmentation\nbroken\n"
PUBTATOR = """\
1|t|Breast carcinoma (BC) and lithium
1|a|BC is rare.
1\t0\t16\tBreast carcinoma\tDisease\tD001943
1\t18\t20\tBC\tDisease\tD001943
1\t26\t33\tlithium\tChemical\tD008094
1\t34\t36\tBC\tDisease\tD1
1\t0\t99\ttoo long\tDisease\tD1
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.tsv").write_text(TABLE)
    (tmp_path / "medic.txt").write_text(MEDIC)
    (tmp_path / "corpus.txt").write_text(PUBTATOR)
    (tmp_path / "fine.tsv").write_text("id\tname\nD1\tone\n")


def names_by_concept(path):
    kb = KnowledgeBase(path)
    return {concept_id: [concept[1], *concept[2]] for concept_id, concept in kb.cui_to_entity.items()}


# --- build


def test_a_knowledge_base_is_built_and_the_report_goes_to_standard_error(command):
    finished = command("kb", "build", "table.tsv", "-o", "new/a.kb")
    assert (finished.status, finished.out) == (0, b"")
    assert names_by_concept("new/a.kb") == {
        "D001943": ["Breast Neoplasms", "breast cancer", "Cancer, Breast"],
        "D003550": ["Cystic Fibrosis", "CF"],
        "D008094": ["Lithium [Li]"],
    }
    assert counts(finished.err) == {
        "rows read": 4,
        "rows kept": 3,
        "rows dropped: broken": 1,
        "names dropped: duplicate": 1,
    }
    assert "table.tsv, line 4: no id" in finished.err
    assert finished.err.endswith("new/a.kb: 3 concepts, 6 names, 1 of them stop names\n")


def test_the_same_files_elsewhere_give_the_same_knowledge_base(command, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    shutil.copy("table.tsv", "elsewhere")
    command("kb", "build", "table.tsv", "-o", "a.kb")
    command("kb", "build", tmp_path / "elsewhere" / "table.tsv", "-o", "elsewhere/b.kb")
    assert (tmp_path / "a.kb").read_bytes() == (tmp_path / "elsewhere" / "b.kb").read_bytes()


def test_several_sources_each_with_its_format(command, tmp_path):
    (tmp_path / "more.txt.gz").write_bytes(gzip.compress(b"D009369||Neoplasms|tumors\n"))
    arguments = ("table.tsv", "medic.txt", "more.txt.gz", "-o", "a.kb")
    finished = command("kb", "build", *arguments, "--format", "table", "--format", "medic", "--format", "medic")
    names = names_by_concept("a.kb")
    assert names["D009369"] == ["Neoplasms", "cancer", "tumors"]
    assert names["OMIM:145250"] == ["Hyperpigmentation"]
    assert len(names) == 5
    assert counts(finished.err)["records merged into an earlier one"] == 1
    assert KnowledgeBase("a.kb").source_counts() == {"medic": 3, "more": 2, "table": 6}


def test_columns_types_and_prefix(command, tmp_path):
    (tmp_path / "own.csv").write_text('Code,Label,Also\n7,"one, first",uno|eins\n')
    columns = [part for column in ("id=Code", "name=Label", "synonyms=Also") for part in ("--column", column)]
    options = (*columns, "--type", "Gene", "--type", "Human", "--id-prefix", "NCBIGene")
    assert command("kb", "build", "own.csv", "-o", "a.kb", *options).status == 0
    assert names_by_concept("a.kb") == {"NCBIGene:7": ["one, first", "uno", "eins"]}
    assert KnowledgeBase("a.kb").get("NCBIGene:7").types == ("Gene", "Human")
    (tmp_path / "more.tsv").write_text("id\tname\nX:1\tother\n")
    (tmp_path / "most.tsv").write_text("id\tname\nX:2\tthird\n")
    assert command("kb", "build", "more.tsv", "most.tsv", "-o", "b.kb", "--type", "Gene", "--type", "Drug").status == 0
    assert [KnowledgeBase("b.kb").get(id).types for id in ("X:1", "X:2")] == [("Gene",), ("Drug",)]


# --- build with mentions


def test_mentions_become_names(command):
    finished = command("kb", "build", "table.tsv", "-o", "a.kb", "--mentions", "corpus.txt")
    names = names_by_concept("a.kb")
    assert names["D001943"][3:] == ["Breast carcinoma"]
    assert names["D008094"][1:] == ["lithium"]
    report = counts(finished.err)
    assert report["mentions added"] == 3
    assert report["mentions whose id is not in the vocabulary"] == 1
    assert report["broken records of corpora"] == 1
    assert KnowledgeBase("a.kb").names_of("D008094")[1] == ("lithium", "mention", "corpus", "")


def test_mentions_of_one_type(command, tmp_path):
    mentions = [{"path": "corpus.txt", "format": "pubtator", "type": "Disease"}]
    (tmp_path / "r.yaml").write_text(json.dumps({"sources": "table.tsv", "mentions": mentions}))
    finished = command("kb", "build", "r.yaml", "-o", "a.kb")
    assert names_by_concept("a.kb")["D008094"] == ["Lithium [Li]"]
    assert counts(finished.err)["mentions of other types"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table.tsv", "--strict"], "[E127] table.tsv, line 4"),
        (["missing.tsv"], "[E120] Cannot read missing.tsv"),
        (["medic.txt"], "[E124] Cannot guess the format of medic.txt"),
        (["medic.txt", "--format", "xls"], "[E125]"),
        (["table.tsv", "--column", "id=Code"], "[E128] table.tsv has no column Code"),
        (["corpus.txt", "--format", "medic"], "[E105]"),
        (["medic.txt", "--format", "medic", "--mentions", "none.txt"], "none.txt"),
        (["medic.txt", "--format", "medic", "--mentions", "corpus.txt", "--strict"], "[E127] medic.txt, line 3"),
        (["fine.tsv", "--mentions", "corpus.txt", "--strict"], "[E127] corpus.txt, line 7"),
        (["table.tsv", "medic.txt", *["--format", "medic"] * 3], "it was given 3 times for 2 files"),
        (["table.tsv", "--column", "id"], "[E533]"),
    ],
)
def test_errors_leave_nothing(command, tmp_path, arguments, message):
    before = sorted(tmp_path.iterdir())
    finished = command("kb", "build", *arguments, "-o", "a.kb")
    assert finished.status == 1
    assert message in finished.err
    assert "Traceback" not in finished.err
    assert sorted(tmp_path.iterdir()) == before


# --- info


def test_info_is_json_with_a_table_for_people(command):
    command("kb", "build", "table.tsv", "-o", "a.kb", "--mentions", "corpus.txt")
    finished = command("kb", "info", "a.kb")
    found = json.loads(finished.out)
    assert (found["concepts"], found["names"]) == (3, 8)
    assert found["types"] == {"Chemical": 1, "Disease": 1}
    assert found["names_by_source"] == {"corpus": 2, "table": 6}
    assert found["sources"][0]["file"] == "table.tsv"
    assert found["mentions"][0]["file"] == "corpus.txt"
    assert len(found["sources"][0]["sha256"]) == 64
    assert found["read"]["rows_dropped"] == {"broken": 1}
    assert found["built"]["mentions added"] == 3
    assert found["fingerprint"] == KnowledgeBase("a.kb").fingerprint
    shown = counts(finished.err)
    assert (shown["concepts"], shown["names by source corpus"]) == (3, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("info", "{}"),
        ("search", "{}", "cancer"),
        ("check", "{}"),
        ("diff", "{}", "starter"),
        ("diff", "starter", "{}"),
        ("export", "{}", "-o", "out.tsv", "--format", "table"),
    ],
)
def test_no_knowledge_base(command, tmp_path, arguments):
    for path, code in (("missing.kb", "E504"), ("table.tsv", "E121")):
        finished = command("kb", *(argument.format(path) for argument in arguments))
        assert (finished.status, finished.out) == (1, b"")
        assert f"[{code}]" in finished.err
        assert path in finished.err
    assert not (tmp_path / "out.tsv").exists()


# --- search


@pytest.fixture
def search(command, small_kb):
    """A function that searches the small vocabulary and gives the values of each concept as JSON has them."""

    def run(*arguments):
        finished = command("kb", "search", small_kb.path, *arguments)
        assert finished.status == 0, finished.err
        return [list(concept.values()) for concept in json.loads(finished.out)["concepts"]]

    return run


def test_search(search):
    assert search("CANCER, breast")[0] == [1.0, "D001943", "Breast Neoplasms", "breast cancer", ["Disease"], ""]
    assert search("Seizures", "-k", 1) == [[1.0, "D012640", "Seizures", "Seizures", ["Disease"], ""]]
    assert search("жжж") == []


def test_types_and_definitions_stay_on_one_line(command, tmp_path, search):
    assert search("ALS", "-k", 1)[0][-2:] == [["Disease"], "A motor neuron disease."]
    (tmp_path / "long.tsv").write_text("id\tname\ttypes\tdefinition\nD1\tone\tT|U\t" + "long [b] " * 50 + "\n")
    command("kb", "build", "long.tsv", "-o", "a.kb")
    (row,) = [line for line in command("kb", "search", "a.kb", "one").err.splitlines() if "D1" in line]
    assert "T, U  │ long [b] long" in row
    assert row.endswith("long … │")


def test_an_id_finds_its_concept_first(search):
    for text, matched in (("D003550", "D003550"), ("MESH:D003550", "D003550"), ("OMIM:219700", "OMIM:219700")):
        assert search(text, "-k", 1)[0][:4] == [1.0, "D003550", "Cystic Fibrosis", matched]
    rows = search("D003550", "-k", 3)
    assert len(rows) <= 3
    assert sum(row[1] == "D003550" for row in rows) == 1
    assert search("D000000") == []


# --- diff


@pytest.fixture
def versions(command, tmp_path):
    """Two versions of a vocabulary: old.kb and new.kb."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "table.tsv").write_text(TABLE.replace("|Cancer, Breast", "|Mammakarzinom ü") + "D1\tone\t\t\n")
    command("kb", "build", "table.tsv", "-o", "old.kb")
    command("kb", "build", "new/table.tsv", "-o", "new.kb")


def test_diff(command, versions, tmp_path):
    before = sorted(tmp_path.iterdir())
    finished = command("kb", "diff", "old.kb", "new.kb")
    found = json.loads(finished.out)
    assert (finished.status, found["same_content"]) == (0, False)
    assert (found["concepts"]["kept"], found["concepts"]["added"]) == (3, 1)
    assert (found["names"]["added"], found["names"]["removed"]) == (1, 1)
    assert counts(finished.err)["concepts added"] == 1
    assert sorted(tmp_path.iterdir()) == before


def test_diff_shows_ids(command, versions):
    finished = command("kb", "diff", "old.kb", "new.kb", "--ids")
    expected = [("concept_added", "D1", "one"), ("names", "D001943", "")]
    assert [tuple(change.values()) for change in json.loads(finished.out)["ids"]] == expected
    assert "D001943" in finished.err


@pytest.mark.parametrize("name", ["changes.jsonl", "changes.jsonl.gz"])
def test_diff_writes_all_changes(command, versions, tmp_path, name):
    command("kb", "diff", "old.kb", "new.kb", "-o", name)
    data = (tmp_path / name).read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf8").splitlines()
    assert list(map(json.loads, lines)) == [
        {"change": "concept_added", "id": "D1", "name": "one", "split_from": [], "names": ["one"]},
        {"change": "names", "id": "D001943", "added": ["Mammakarzinom ü"], "removed": ["Cancer, Breast"]},
    ]
    command("kb", "diff", "old.kb", "new.kb", "-o", name)
    assert (tmp_path / name).read_bytes() == data


# --- export


def test_export_and_build_again(command, tmp_path):
    command("kb", "build", "table.tsv", "-o", "a.kb")
    for format, name in (("scispacy", "b.jsonl.gz"), ("table", "b.tsv"), ("biosyn", "b.txt.gz")):
        finished = command("kb", "export", "a.kb", "--format", format, "-o", name)
        assert finished.status == 0
        found = json.loads(finished.out)
        assert (found["file"], found["concepts"], found["names"]) == (name, 3, 6)
        assert counts(finished.err)["names"] == 6
        command("kb", "build", name, "-o", "b.kb", "--format", format)
        assert names_by_concept("b.kb") == names_by_concept("a.kb")
    data = (tmp_path / "b.txt.gz").read_bytes()
    command("kb", "export", "a.kb", "--format", "biosyn", "-o", "b.txt.gz")
    assert (tmp_path / "b.txt.gz").read_bytes() == data


@pytest.mark.parametrize(
    ("name", "format", "code"),
    [
        ("out.txt", "rdf", "E125"),
        ("out.csv", "table", "E533"),
        ("out.CSV.gz", "table", "E533"),
        ("no/o.tsv", "table", "E507"),
    ],
)
def test_export_that_cannot_be(command, small_kb, tmp_path, name, format, code):
    before = sorted(tmp_path.iterdir())
    finished = command("kb", "export", small_kb.path, "--format", format, "-o", name)
    assert (finished.status, finished.out) == (1, b"")
    assert f"[{code}]" in finished.err
    assert sorted(tmp_path.iterdir()) == before


# --- check


def test_check_of_a_sound_knowledge_base(command, small_kb):
    finished = command("kb", "check", small_kb.path)
    found = json.loads(finished.out)
    assert (finished.status, found["problems"]) == (0, {})
    assert found["remarks"]["names_of_several_concepts"]["count"] == 2
    assert "remarks names of several concepts count" in finished.err
    assert "Seizures 2 D012640, HP:0001250" in shown(finished)


def test_check_of_a_damaged_knowledge_base(command, small_kb):
    shutil.copyfile(small_kb.path, "a.kb")
    with closing(sqlite3.connect("a.kb")) as db, db:
        db.execute("DELETE FROM synonyms WHERE concept = 1")
    finished = command("kb", "check", "a.kb")
    assert finished.status == 1
    assert json.loads(finished.out)["problems"]["wrong_fingerprint"]["count"] == 1
    assert "problems wrong fingerprint" in finished.err
    assert "Build the knowledge base again." in finished.err


# --- an output that is an input


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "table.tsv"],
        ["build", "medic.txt", "table.tsv", "--format", "medic", "--format", "table"],
        ["build", "medic.txt", "--format", "medic", "--mentions", "table.tsv"],
        ["build", "medic.txt", "--format", "medic", "--mapping", "table.tsv"],
        ["build", "medic.txt", "--format", "medic", "--stop-names", "table.tsv"],
        ["export", "a.kb", "--format", "table"],
        ["diff", "a.kb", "b.kb"],
        ["diff", "b.kb", "a.kb"],
        ["map", "a.kb", "--to", "MESH"],
        ["map", "b.kb", "--to", "MESH", "--mapping", "table.tsv"],
    ],
)
def test_an_output_that_is_an_input_is_refused(command, tmp_path, arguments):
    for name in ("a.kb", "b.kb"):
        assert command("kb", "build", "table.tsv", "-o", name).status == 0
    source = tmp_path / ("table.tsv" if "table.tsv" in arguments else "a.kb")
    (tmp_path / "link").symlink_to(source)
    before = source.read_bytes()
    for output in (source.name, "link"):
        finished = command("kb", *arguments, "-o", output)
        assert finished.status == 1
        assert "[E533]" in finished.err
        assert source.read_bytes() == before


def test_an_export_to_standard_output(command, tmp_path):
    command("kb", "build", "table.tsv", "-o", "a.kb")
    command("kb", "export", "a.kb", "--format", "biosyn", "-o", "a.txt")
    finished = command("kb", "export", "a.kb", "--format", "biosyn", "-o", "-")
    assert finished.out == (tmp_path / "a.txt").read_bytes()
    assert counts(finished.err)["names"] == 6
    assert not (tmp_path / "-").exists()
