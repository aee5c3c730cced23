import json

import pytest
import spacy

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.review.corrections import Correction, ProposedLink, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile

from .conftest import counts

TEXT = "Cystic fibrosis and aspirin."
KEY = document_key(TEXT)
CHANGED = Correction("replace", "everywhere", KEY, 20, 27, "aspirin", ("D009020",), author="[b]Ann")


@pytest.fixture
def file(tmp_path):
    file = CorrectionsFile(tmp_path / "c.db", create=True)
    file.add_documents([("1", TEXT)], "notes")
    file.set_links([KEY], [ProposedLink(KEY, 20, 27, "aspirin", "Entity", ("D001241",), 0.9, 0.9)])
    file.add([CHANGED])
    return file


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(TEXT)
    return path


def ids(path):
    (record,) = map(json.loads, path.read_text().splitlines())
    return {entity["text"]: entity["kb_id"] for entity in record["entities"]}


def test_export(command, file, tmp_path):
    names = tmp_path / "names.tsv"
    finished = command("review", "export", file.path, "-o", tmp_path / "c.pubtator", "--names", names)
    assert finished.status == 0, finished.err
    assert "1\t20\t27\taspirin\tEntity\tD009020" in (tmp_path / "c.pubtator").read_text()
    report = ReadReport()
    records = list(read_vocabulary(names, "discovered", report=report))
    assert [(one.concept_id, [name.text for name in one.names]) for one in records] == [("D009020", ["aspirin"])]


def test_cells_of_names_are_escaped(command, tmp_path):
    """A spreadsheet runs a cell that begins like a formula, and an id with a tab would break its row."""
    texts = ["=cmd()", "+x y", "-cell", "@home", "\uff1dwide", "plain"]
    file = CorrectionsFile(tmp_path / "c.db", create=True)
    text = "; ".join(texts)
    (key,) = file.add_documents([("1", text)], "notes")
    places = [(text.index(part), part) for part in texts]
    file.add(
        Correction("replace", "everywhere", key, start, start + len(part), part, (f"X:{start}\tY",))
        for start, part in places
    )
    names = tmp_path / "names.tsv"
    assert command("review", "export", file.path, "-o", tmp_path / "c.json", "--names", names).status == 0
    rows = [line.split("\t") for line in names.read_text(encoding="utf8").splitlines()[1:]]
    assert [row[1] for row in rows] == [f"'{part}" for part in texts[:-1]] + ["plain"]
    assert {len(row) for row in rows} == {6}
    read = [name.text for record in read_vocabulary(names, "discovered", report=ReadReport()) for name in record.names]
    assert read == texts


def test_exports_that_cannot_be(command, file, tmp_path):
    corpus = tmp_path / "c.json"
    for names in (file.path, corpus):
        assert "E533" in command("review", "export", file.path, "-o", corpus, "--names", names).err
    assert not corpus.exists()
    assert "E551" in command("review", "export", file.path, "-o", tmp_path / "corpus").err
    assert "E120" in command("review", "export", tmp_path / "none.db", "-o", tmp_path / "c.spacy").err
    assert "there is no such file" in command("review", "report", tmp_path / "none.db").err
    assert not (tmp_path / "none.db").exists()
    empty = CorrectionsFile(tmp_path / "empty.db", create=True).path
    assert "E105" in command("review", "export", empty, "-o", tmp_path / "c.spacy").err
    assert not (tmp_path / "c.spacy").exists()


def test_report(command, file):
    finished = command("review", "report", file.path)
    assert finished.status == 0, finished.err
    assert json.loads(finished.out)["most_corrected"][0]["instead"] == {"D009020": 1}
    assert "D001241" in finished.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["PIPE"], "E533"),
        (["notes.txt"], "E533"),
        (["notes.txt", "notes.txt", "--pipeline", "PIPE"], "E533"),
        (["PIPE", "notes.txt", "--pipeline", "PIPE"], "E533"),
        (["none.jsonl"], "E533"),
        (["PIPE", "nothing.txt"], "E105"),
        (["links.jsonl", "--pipeline", "PIPE"], "links.jsonl, line 2: there is no 'text'"),
    ],
)
@pytest.mark.usefixtures("notes")
def test_what_cannot_be_reviewed(command, linking_folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing.txt").write_text("Nothing.")
    (tmp_path / "links.jsonl").write_text('{"id": "1", "text": "a", "entities": []}\n{"id": "2"}\n')
    given = [linking_folder if argument == "PIPE" else argument for argument in arguments]
    finished = command("review", *given, "-c", "c.db", "--port", 0, "--no-browser")
    assert (finished.status, message in finished.err) == (1, True)
    # wrong arguments leave no file
    assert (tmp_path / "c.db").exists() == (message != "E533")


def test_link_obeys_corrections(command, file, linking_folder, notes, tmp_path):
    output = tmp_path / "links.jsonl"
    assert command("link", linking_folder, notes, "-o", output).status == 0
    assert ids(output)["aspirin"] == "D001241"
    finished = command("link", linking_folder, notes, "-o", output, "--corrections", file.path)
    assert finished.status == 0, finished.err
    assert ids(output)["aspirin"] == "D009020"
    finished = command("link", linking_folder, notes, "-o", output, "--corrections", tmp_path / "none.db")
    assert (finished.status, "E120" in finished.err) == (1, True)


def test_a_run_goes_on_with_the_same_corrections_only(command, file, linking_folder, notes, tmp_path, monkeypatch):
    notes.write_text(f"{TEXT}\n{TEXT}\n")
    output = tmp_path / "links.jsonl"
    reading = ["--format", "lines"]
    arguments = ["link", linking_folder, notes, *reading, "-o", output, "--corrections", file.path]

    def full(*_, **__):
        raise SapbertError("[E507] no room")

    with monkeypatch.context() as patch:
        patch.setattr("spacy_sapbert.runs.link_files.write_records", full)
        assert "E507" in command(*arguments).err
    number = file.add([CHANGED])[0]
    other = command(*arguments, "--resume")
    assert (other.status, "corrections" in other.err) == (1, True)
    file.undo(number)
    assert command(*arguments, "--resume").status == 0
    assert output.read_text().count('"kb_id": "D009020"') == 2


def test_train(command, file, small_kb, tmp_path):
    learned = tmp_path / "learned"
    finished = command("review", "train", small_kb.path, file.path, "-o", learned)
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    assert (result["corrections"], result["names"], result["held_out"]) == (1, 1, None)
    assert "Too few decisions" in finished.err
    assert [ent.kb_id_ for ent in spacy.load(learned)("Aspirin.").ents] == ["D009020"]
    again = command("review", "train", learned, file.path, "-o", learned, "--no-measure")
    assert (again.status, "Too few" in again.err) == (0, False)


def test_what_cannot_be_trained(command, file, linking_folder, tmp_path):
    assert "E120" in command("review", "train", linking_folder, tmp_path / "no.db", "-o", tmp_path / "new").err
    empty = CorrectionsFile(tmp_path / "empty.db", create=True).path
    assert "E105" in command("review", "train", linking_folder, empty, "-o", tmp_path / "new").err
    assert "E507" in command("review", "train", linking_folder, file.path, "-o", tmp_path).err
    assert not (tmp_path / "new").exists()


OLD = [("X:1", "red fever"), ("X:2", "blue fever"), ("X:3", "rash"), ("X:4", "cough"), ("X:5", "cold")]
NEW = "id\tname\talternative_ids\nX:9\tcrimson fever\tX:1|X:8\nX:10\tpale blue fever\tX:2\nX:11\tdark blue fever\tX:2\n"


def test_upgrade(command, file, tmp_path):
    (tmp_path / "old.tsv").write_text("id\tname\n" + "".join(f"{i}\t{name}\n" for i, name in OLD))
    (tmp_path / "new.tsv").write_text(f"{NEW}X:4\ttussis\t\nX:5\tcold\t\n")
    for name in ("old", "new"):
        assert command("kb", "build", tmp_path / f"{name}.tsv", "-o", tmp_path / f"{name}.kb").status == 0
    numbers = file.add(
        [
            Correction("replace", "everywhere", KEY, 0, 6, "Cystic", ("X:1", "X:9", "X:5"), author="Ann", date="2026"),
            Correction("reject", "corpus", KEY, 0, 6, "Cystic", ("X:2", "X:3", "X:4")),
            Correction("no_mention", "everywhere", KEY, 0, 1, "C"),
        ]
    )
    assert file.undo(numbers[-1])
    arguments = ("review", "upgrade", file.path, tmp_path / "new.kb", "--from", tmp_path / "old.kb", "-o")
    finished = command(*arguments, tmp_path / "n.db")
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    changes = {change["id"]: (change["change"], change["into"], change["name"]) for change in result["changes"]}
    assert changes == {
        "D009020": ("unknown", [], ""),
        "X:1": ("replaced", ["X:9"], "red fever"),
        "X:2": ("divided", ["X:10", "X:11"], "blue fever"),
        "X:3": ("removed", [], "rash"),
        "X:4": ("renamed", ["X:4"], "cough"),
    }
    assert (result["corrections_changed"], result["replaced"], result["same"]) == (1, 1, 2)
    new = CorrectionsFile(tmp_path / "n.db")
    before, after = list(file.corrections().values()), list(new.corrections().values())
    assert after == [before[0], before[1]._replace(concept_ids=("X:9", "X:5")), before[2]]
    assert [*new.documents()] == [*file.documents()]
    assert (new.corpora(), [*new.links()]) == (file.corpora(), [*file.links()])
    # the new file is never overwritten
    again = command(*arguments, tmp_path / "n.db")
    assert again.status
    assert "E533" in again.err


def test_upgrade_to_the_descriptor_of_a_replaced_record(command, tmp_path):
    old = "id\tname\ttypes\nX:1\taspirin\tChemical\nC056507\tgemcitabine\tChemical\n"
    (tmp_path / "mesh.tsv").write_text(old)
    assert command("kb", "build", tmp_path / "mesh.tsv", "-o", tmp_path / "old.kb").status == 0
    (tmp_path / "mesh.tsv").write_text(f"{old}D000093542\tGemcitabine\tChemical\n")
    finished = command("kb", "build", tmp_path / "mesh.tsv", "-o", tmp_path / "new.kb")
    assert counts(finished.err)["supplementary records merged into their descriptors"] == 1
    file = CorrectionsFile(tmp_path / "c.db", create=True)
    file.add_documents([("1", TEXT)], "notes")
    file.add([CHANGED._replace(concept_ids=("C056507",))])
    for kb, corrections, linked in (("old", "c", "C056507"), ("new", "c", "D000093542"), ("new", "n", "D000093542")):
        if corrections == "n":
            finished = command("review", "upgrade", file.path, tmp_path / "new.kb", "-o", tmp_path / "n.db")
            (change,) = json.loads(finished.out)["changes"]
            assert (change["change"], change["into"]) == ("replaced", ["D000093542"])
        nlp = spacy.blank("en")
        nlp.add_pipe("concept_matcher", config={"kb": str(tmp_path / f"{kb}.kb")})
        path = tmp_path / f"{corrections}.db"
        nlp.add_pipe("sapbert_linker", config={"kb": str(tmp_path / f"{kb}.kb"), "corrections": str(path)})
        (entity,) = nlp(TEXT).ents
        assert entity.kb_id_ == linked
