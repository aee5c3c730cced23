"""Every input format of `link` with every output format."""

import csv
import json

import pytest
import spacy

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import DOC_ID
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.outputs.writers import write_records

TEXT = "We gave aspirin for cystic fibrosis, and breast and ovarian cancer."
PLACES = [(8, 15, "D001241"), (20, 35, "D003550"), (41, 66, "D001943|D010051")]


def _parquet(path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"id": ["7"], "text": [TEXT]}), path)


def _bioc(path, root):
    passage = {"offset": 0, "infons": {}, "text": TEXT, "annotations": []}
    document = {"id": "7", "passages": [passage]}
    if root == "json":
        path.write_text(json.dumps({"source": "", "date": "", "key": "", "documents": [document]}))
        return
    path.write_text(
        "<collection><source/><date/><key/><document><id>7</id>"
        f"<passage><offset>0</offset><text>{TEXT}</text></passage></document></collection>"
    )


INPUTS = {
    "7": lambda path: path.write_text(TEXT),  # one document of this name
    "a.jsonl": lambda path: path.write_text(json.dumps({"id": 7, "text": TEXT})),
    "a.csv": lambda path: path.write_text(f'id,text\n7,"{TEXT}"\n'),
    "a.tsv": lambda path: path.write_text(f"id\ttext\n7\t{TEXT}\n"),
    "a.parquet": _parquet,
    "a.pubtator": lambda path: path.write_text(f"7|t|{TEXT}\n7|a|\n\n"),
    "a.xml": lambda path: _bioc(path, "xml"),
    "a.json": lambda path: _bioc(path, "json"),
    "a.spacy": lambda path: write_docbin([_document()], path),
    "folder": lambda path: [path.mkdir(), (path / "7.txt").write_text(TEXT)],
}
OUTPUTS = ("jsonl", "tsv", "csv", "parquet", "pubtator", "bioc", "biocjson", "html")


def _document():
    doc = spacy.blank("en")(TEXT)
    doc.user_data[DOC_ID] = "7"
    return doc


def _places(path, format):
    """RETURNS: the id of the document, and the offsets and ids of its mentions."""
    if format in ("pubtator", "bioc"):
        (document,) = read_corpus(path, format, strict=True)
        return document.doc_id, sorted((one.start, one.end, "|".join(one.ids)) for one in document.mentions)
    if format == "jsonl":
        record = json.loads(path.read_text())
        return record["id"], [(one["start"], one["end"], one["kb_id"]) for one in record["entities"]]
    if format == "biocjson":
        (document,) = json.loads(path.read_text())["documents"]
        found = [
            (one["locations"][0]["offset"], one["locations"][-1], one["infons"]["identifier"])
            for passage in document["passages"]
            for one in passage["annotations"]
        ]
        return document["id"], [(start, last["offset"] + last["length"], ids) for start, last, ids in found]
    if format == "parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    else:
        rows = list(csv.DictReader(path.open(newline=""), delimiter="," if format == "csv" else "\t"))
    ids = {}
    for row in rows:  # a composite has one row for each part
        ids.setdefault((int(row["start"]), int(row["end"])), []).append(row["concept_id"])
    (doc_id,) = {row["doc_id"] for row in rows}
    return doc_id, [(*place, "|".join(concepts)) for place, concepts in sorted(ids.items())]


@pytest.mark.parametrize("name", INPUTS)
def test_every_input_can_be_written_to_every_output(name, command, linking_folder, tmp_path):
    path = tmp_path / name
    INPUTS[name](path)
    how = ("--format", "text") if name == "7" else ()
    finished = command("link", linking_folder, path, *how, "-o", tmp_path / "o.jsonl")
    assert finished.status == 0, finished.err
    record = json.loads((tmp_path / "o.jsonl").read_text())
    for format in OUTPUTS:
        if format == "parquet":
            pytest.importorskip("pyarrow")
        output = tmp_path / f"o.{format}"
        write_records([record], format, output)
        if format == "html":
            page = output.read_text()
            assert all(one in page for one in ("cystic fibrosis", "D003550", "D001943", "D010051"))
        else:
            doc_id, places = _places(output, format)
            assert doc_id == ("7.txt" if name == "folder" else "7"), format
            assert places == PLACES, format


OVERLAPPING = (
    "7|t|Breast and ovarian cancer in CF patients\n7|a|\n7\t0\t25\tBreast and ovarian cancer\tDisease\tD001943\n"
    "7\t11\t25\tovarian cancer\tDisease\tD010051\n7\t29\t40\tCF patients\tGroup\t-\n7\t29\t31\tCF\tDisease\tD003550\n"
)


def test_overlapping_mentions_are_in_every_output(command, linking_folder, tmp_path):
    (tmp_path / "a.pubtator").write_text(OVERLAPPING)
    finished = command("link", linking_folder, tmp_path / "a.pubtator", "--gold", "--to", "jsonl")
    for format in OUTPUTS:
        write_records([json.loads(finished.out)], format, tmp_path / format)
        if format == "html":
            page = (tmp_path / format).read_text()
            assert page.count('<a class="mention') == 4 + 5  # in the text and below it; in the table, one per part
            assert "Inside other mentions: " in page
        else:
            _, places = _places(tmp_path / format, format)
            assert {place[:2] for place in places} == {(0, 25), (11, 25), (29, 31), (29, 40)}


ARTICLE = """\
7|t|On cystic fibrosis (CF)
7|a|It is common.

7|t|Methods
7|a|CF was treated with aspirin.

7|t|No title CF
7|a|

8|t|CF alone
8|a|

7|t|Aspirin later
7|a|

"""
PASSAGE_LINKS = [(1, 3, 18), (1, 20, 22), (2, 8, 10), (2, 28, 35), (3, 9, 11)]


@pytest.fixture
def article(tmp_path):
    path = tmp_path / "article.pubtator"
    path.write_text(ARTICLE)
    return path


def _link(command, linking_folder, article, to, *options):
    output = article.with_name(f"o.{to}")
    finished = command("link", linking_folder, article, *options, "-o", output)
    assert finished.status == 0, finished.err
    return output.read_text(), " ".join(finished.err.split())


def test_abbreviations_of_one_passage_are_resolved_in_the_others(command, linking_folder, article):
    text, told = _link(command, linking_folder, article, "jsonl")
    first, alone, later = map(json.loads, text.splitlines())
    assert [entity["kb_id"] for entity in first["entities"]] == ["D003550"] * 3 + ["D001241", "D003550"]
    places = [(entity["start"], entity["end"]) for entity in first["entities"]]
    assert all(
        first["text"][start:end] == one["text"] for (start, end), one in zip(places, first["entities"], strict=True)
    )
    assert [first["text"][one["start"] : one["end"]] for one in first["passages"]] == [
        "On cystic fibrosis (CF) It is common.",
        "Methods CF was treated with aspirin.",
        "No title CF",
    ]
    assert [one["long_form"] for one in first["abbreviations"]] == ["cystic fibrosis"] * 3
    assert alone["abbreviations"] == []
    assert "passages" not in alone
    assert later["id"] == "7"
    assert told.count("3 records are passages of 1 documents, since consecutive ids repeat") == 1
    assert told.count("an earlier document has the same id '7'") == 1


def test_pubtator_gives_back_the_records_with_their_own_offsets(command, linking_folder, article):
    text, _ = _link(command, linking_folder, article, "pubtator")
    heads = [line for line in text.splitlines() if "|t|" in line or "|a|" in line]
    assert heads == [line for line in ARTICLE.splitlines() if line]
    records = list(read_corpus(article.with_name("o.pubtator"), strict=True))
    found = [(one.start, one.end) for record in records[:3] for one in record.mentions]
    assert found == [place[1:] for place in PASSAGE_LINKS]
    assert all(record.text[one.start : one.end] == one.text for record in records for one in record.mentions)


def test_tables_have_the_passage_and_the_offsets_in_it(command, linking_folder, article):
    text, _ = _link(command, linking_folder, article, "csv")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["passage"]]
    assert [(int(row["passage"]), int(row["start"]), int(row["end"])) for row in rows] == PASSAGE_LINKS


def test_bioc_counts_in_the_joined_text(command, linking_folder, article):
    text, _ = _link(command, linking_folder, article, "bioc.json")
    document = json.loads(text)["documents"][0]
    assert [(one["offset"], one["infons"]["type"]) for one in document["passages"]] == [
        (0, "title"),
        (24, "abstract"),
        (38, "text"),
        (75, "text"),
    ]
    for passage in document["passages"]:
        for one in passage["annotations"]:
            start = one["locations"][0]["offset"] - passage["offset"]
            assert passage["text"][start : start + one["locations"][0]["length"]] == one["text"]
            assert "passage" not in one["infons"]


def test_given_mentions_of_passages_move_with_them(command, linking_folder, article):
    article.write_text("7|t|A title\n7|a|\n\n7|t|CF (cystic fibrosis)\n7|a|\n7\t0\t2\tCF\tDisease\tD1\n")
    text, _ = _link(command, linking_folder, article, "jsonl", "--gold")
    ((entity,),) = [json.loads(line)["entities"] for line in text.splitlines()]
    assert (entity["start"], entity["end"], entity["text"], entity["kb_id"]) == (8, 10, "CF", "D003550")


def test_a_mention_that_reaches_into_the_next_passage_is_cut(tmp_path):
    passages = [{"start": 0, "end": 4, "title": ""}, {"start": 5, "end": 9, "title": ""}]
    entity = {"start": 0, "end": 7, "text": "abcd\nef", "label": "X", "kb_id": "", "links": []}
    record = {"id": "1", "text": "abcd\nefgh", "passages": passages, "entities": [entity]}
    write_records([record], "pubtator", tmp_path / "o.pubtator")
    first, second = read_corpus(tmp_path / "o.pubtator", strict=True)
    assert [(one.start, one.end, one.text) for one in first.mentions] == [(0, 4, "abcd")]
    assert second.mentions == ()


def _full_text(*offsets):
    texts = "On cystic fibrosis (CF).", "CF is common.", "CF was treated with aspirin."
    passages = "".join(
        f"<passage><offset>{offset}</offset><text>{text}</text></passage>"
        for offset, text in zip(offsets, texts, strict=True)
    )
    return f"<collection><document><id>7</id>{passages}</document></collection>"


def test_a_bioc_document_is_one_text_with_the_offsets_of_its_passages(command, linking_folder, tmp_path):
    path = tmp_path / "full.xml"
    path.write_text(_full_text(0, 25, 49))  # ten blanks lie between the last two
    text, told = _link(command, linking_folder, path, "jsonl")
    record = json.loads(text)
    assert [one["long_form"] for one in record["abbreviations"]] == ["cystic fibrosis"] * 3
    assert [one["start"] for one in record["abbreviations"]] == [20, 25, 49]
    assert "passages" not in told
    path.write_text(_full_text(0, 0, 1000))
    text, told = _link(command, linking_folder, path, "jsonl")
    assert [one["start"] for one in json.loads(text)["abbreviations"]] == [20, 25, 39]
    assert "2 passages overlap or are far apart" in told
