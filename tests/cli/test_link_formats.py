"""Every input format of `link` with every output format."""

import csv
import json

import pytest
import spacy

from spacy_sapbert.corpora.docbin import write_docbin
from spacy_sapbert.corpora.docs import DOC_ID
from spacy_sapbert.corpora.reader import read_corpus
from spacy_sapbert.io.formats import OutputFormat
from spacy_sapbert.io.outputs import write_records

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
        write_records([record], OutputFormat(format), output)
        if format == "html":
            page = output.read_text()
            assert all(one in page for one in ("cystic fibrosis", "D003550", "D001943", "D010051"))
        else:
            doc_id, places = _places(output, format)
            assert doc_id == ("7.txt" if name == "folder" else "7"), format
            assert places == PLACES, format
