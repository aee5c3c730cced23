"""Every output is read back by an independent reader, or by our own, and compared with the record."""

import csv
import gzip
import io
import json
import os
import sys
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.values import escaped, unescaped
from spacy_sapbert.kb.ids import NO_ID, canonical_id
from spacy_sapbert.outputs import tables
from spacy_sapbert.outputs.tables import COLUMNS, table_rows
from spacy_sapbert.outputs.writers import text_pieces, write_records


def xml_text(text):
    """The text of BioC XML: control characters that XML refuses are blanks."""
    return "".join(
        " " if (character < " " and character not in "\t\n\r") or character in "\ufffe\uffff" else character
        for character in text
    )


# all that ends lines, columns, cells and elements, more often than its share; all that spreadsheets run
ODD_CHARACTERS = "\t\n\r\v\f\x1c\x85\u2028|;,<&>\"'=+-@\\% aß字𝄞😀"
# no text has a NUL character: such documents are not linked
ODD = st.text(
    st.one_of(st.sampled_from(ODD_CHARACTERS), st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    max_size=12,
)
NAMED = ODD.filter(bool)
IDS = NAMED.filter(lambda text: canonical_id(text) == text == xml_text(text) and text not in NO_ID)
SCORES = st.floats(-1, 1).map(lambda score: round(score, 5))


def or_none(values):
    return st.none() | values


RANKED = {"name": ODD, "preferred_name": or_none(NAMED), "score": SCORES, "probability": or_none(SCORES)}
ALTERNATIVES = st.fixed_dictionaries({"concept_id": NAMED, **RANKED})
LINKS = st.fixed_dictionaries(
    {
        **{name: or_none(NAMED) for name in ("preferred_name", "long_form", "reason", "tie")},
        **{name: or_none(SCORES) for name in ("score", "probability")},
        **{name: st.lists(NAMED, max_size=2) for name in ("types", "reasons")},
        **{name: or_none(ALTERNATIVES) for name in ("runner_up", "rejected")},
        "text": ODD,
        "concept_id": or_none(IDS),
        "name": or_none(ODD),
        "split": st.booleans(),
    }
)


@st.composite
def links(draw, start, end):
    link = draw(LINKS)
    if link["split"] and end - start > 2:
        link["offsets"] = [[start, start + 1], [end - 1, end]]
    return link


@st.composite
def entities(draw, text):
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    entity = {
        "start": start,
        "end": end,
        "text": text[start:end],
        "label": draw(ODD),
        "snippet": draw(ODD),
        "assertion": draw(st.lists(st.sampled_from(["negated", "family"]), unique=True)),
        "kb_id": "",
        "kb_ents": [],
        "links": draw(st.lists(links(start, end), max_size=2)),
    }
    if end - start > 2 and draw(st.booleans()):
        entity["offsets"] = [[start, start + 1], [end - 1, end]]
    return entity


@st.composite
def records(draw):
    """A record as `record_of` makes it. Mentions may overlap and have several pieces."""
    title = draw(ODD)
    text = f"{title} {draw(ODD)}x" if title else f"{draw(ODD)}x"
    record = {"id": f"d{draw(ODD)}d", "text": text}
    if title:
        record["title"] = title
    found = draw(st.lists(entities(text), max_size=3))
    record["entities"] = sorted(found, key=lambda entity: (entity["start"], entity["end"]))
    return {**record, "abbreviations": []}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for the outputs of all examples of a test."""
    return tmp_path_factory.mktemp("outputs")


LISTS = st.lists(records(), max_size=2)
few = settings(max_examples=30, deadline=None)  # records are large
ONE_LINK = {
    "text": "cold", "concept_id": "X:1|2\t3", "name": "=cold()", "preferred_name": "Common Cold",
    "types": ["Disease", "Symptom"], "score": -0.25, "probability": 0.5, "long_form": "+cold", "split": False,
    "reason": None, "tie": "@tie", "reasons": ["=one", "two"], "rejected": None,
    "runner_up": {"concept_id": "Y", "name": "y", "preferred_name": "-Y", "score": -0.5, "probability": 0.25},
}  # fmt: skip
ENTITY = {"start": 2, "end": 6, "text": "cold", "label": "=L", "snippet": "a [cold]", "kb_id": "", "kb_ents": []}
RECORD = {"id": "-1", "text": "a cold", "entities": [{**ENTITY, "links": [ONE_LINK]}], "abbreviations": []}


def written(some, format):
    return "".join(text_pieces(some, format))


def one_line(text):
    return "".join(" " if character in "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029" else character for character in text)


def cells_of(some, clean):
    """What a reader of the table finds: texts, and numbers as texts that are read as the same numbers."""
    for row in table_rows(some):
        yield [
            "" if value is None else str(value).lower() if isinstance(value, (bool, int, float)) else clean(value)
            for value in row.values()
        ]


SYSTEMS = ["ICD10CM", "=S,\t"]


@st.composite
def coded(draw):
    """A record with codes of odd texts, as `record_of` adds them."""
    record = draw(records())
    for entity in record["entities"]:
        for link in entity["links"]:
            codes = draw(st.lists(st.tuples(st.sampled_from(SYSTEMS), NAMED, st.none() | NAMED), max_size=3))
            link["codes"] = [
                {"system": system, "code": code, "predicate": predicate, "origin": "a"}
                for system, code, predicate in codes
            ]
    return {**record, "code_systems": SYSTEMS}


@few
@given(st.lists(coded(), min_size=1, max_size=2))
def test_every_code_is_in_every_output(some):
    links = [link for record in some for entity in record["entities"] for link in entity["links"] or [{"codes": []}]]
    wanted = [
        ["|".join(dict.fromkeys(code["code"] for code in link["codes"] if code["system"] == one)) for one in SYSTEMS]
        for link in links
    ]
    header, *rows = csv.reader(io.StringIO(written(some, "csv"), newline=""))
    assert [*map(unescaped, header)] == [*COLUMNS, *(f"codes_{system}" for system in SYSTEMS)]
    assert [[unescaped(cell) for cell in row[-2:]] for row in rows] == [
        [cell.replace("\0", " ") for cell in cells] for cells in wanted
    ]
    collection = json.loads(written(some, "biocjson"))
    annotations = [
        annotation["infons"]
        for document in collection["documents"]
        for passage in document["passages"]
        for annotation in passage["annotations"]
    ]
    code_infons = [value for infons in annotations for name, value in infons.items() if name.startswith("codes_")]
    assert sorted(code_infons) == sorted(cell for cells in wanted for cell in cells if cell)
    assert written(some, "html").count(">Codes</th>") == sum(
        any(link["codes"] for entity in record["entities"] for link in entity["links"]) for record in some
    )


@few
@given(LISTS)
def test_json_lines_give_back_the_records(some):
    out = written(some, "jsonl")
    assert len(out.splitlines()) == len(some)  # of all characters that Python takes for the end of a line
    assert [json.loads(line) for line in out.splitlines()] == some
    assert written(map(json.loads, out.splitlines()), "csv") == written(some, "csv")


@few
@given(LISTS)
@example([RECORD])
def test_csv_gives_back_every_cell(some):
    header, *rows = csv.reader(io.StringIO(written(some, "csv"), newline=""))
    assert header == list(COLUMNS)
    expected = list(cells_of(some, lambda text: text.replace("\0", " ")))
    assert [
        [unescaped(cell) if kind is str else cell for cell, kind in zip(row, COLUMNS.values(), strict=True)]
        for row in rows
    ] == expected
    for row in rows:
        for cell, kind in zip(row, COLUMNS.values(), strict=True):
            assert not (kind is str and cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")))
            if kind in (int, float) and cell:
                kind(cell)


@few
@given(LISTS)
@example([RECORD])
def test_tsv_has_a_line_for_each_row(some):
    lines = written(some, "tsv").removesuffix("\n").split("\n")
    expected = list(cells_of(some, lambda text: one_line(escaped(text.replace("\0", " ")))))
    assert len(lines) == len(written(some, "tsv").splitlines()) == 1 + len(expected)
    assert all(line.count("\t") == len(COLUMNS) - 1 for line in lines)
    assert list(csv.reader(lines, delimiter="\t"))[1:] == expected


@given(ODD)
@example("'=x")
@example("''")
def test_an_escaped_cell_is_distinguished_from_one_with_an_apostrophe_of_its_own(text):
    assert unescaped(escaped(text)) == text


@few
@given(LISTS)
@example([RECORD])
def test_parquet_gives_back_every_value_with_its_type(folder, some):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_records(some, "parquet", folder / "t.parquet")
    table = parquet.read_table(folder / "t.parquet")
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == list(table_rows(some))


@few
@given(LISTS)
@example([RECORD])
def test_a_workbook_has_the_table(folder, some):
    openpyxl = pytest.importorskip("openpyxl")
    write_records(some, "xlsx", folder / "t.xlsx")
    sheet = openpyxl.load_workbook(folder / "t.xlsx").active
    header, *rows = sheet.values
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", sheet.dimensions)
    assert header == tuple(COLUMNS)
    wanted = list(table_rows(some))
    assert len(rows) == len(wanted)
    for name in ("start", "score", "split"):
        assert [row[header.index(name)] for row in rows] == [row[name] for row in wanted]
    cells = [cell for row in rows for cell in row if isinstance(cell, str)]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_parquet_is_written_in_groups_of_rows(folder, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 2)
    taken = []
    write_records((taken.append(i) or RECORD for i in range(5)), "parquet", folder / "g.parquet")
    file = parquet.ParquetFile(folder / "g.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [2, 2, 1]


def test_parquet_needs_a_file_and_pyarrow(folder, monkeypatch):
    for path in (None, folder / "a.parquet.gz"):
        with pytest.raises(SapbertError, match=r"\[E533\]"):
            write_records([RECORD], "parquet", path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SapbertError, match=r"\[E542\] .*spacy-sapbert\[parquet\]"):
        write_records([RECORD], "parquet", folder / "a.parquet")


def ids_of(entity):
    return tuple(dict.fromkeys(link["concept_id"] for link in entity["links"] if link["concept_id"]))


def readable(some):
    """The records of which corpus formats can hold every mention: readers refuse mentions of blanks alone."""
    return [
        {**record, "entities": [entity for entity in record["entities"] if xml_text(entity["text"]).strip()]}
        for record in some
    ]


@few
@given(LISTS)
@example([RECORD])
def test_pubtator_gives_back_offsets_and_ids(folder, some):
    some = readable(some)
    write_records(some, "pubtator", folder / "t.pubtator")
    documents = list(read_corpus(folder / "t.pubtator", "pubtator", strict=True))
    assert [document.doc_id for document in documents] == [record["id"] for record in some]
    for document, record in zip(documents, some, strict=True):
        assert document.text.ljust(len(record["text"])) == one_line(record["text"])
        found = [(mention.start, mention.end, mention.ids) for mention in document.mentions]
        assert sorted(found) == sorted(
            (entity["start"], entity["end"], ids_of(entity)) for entity in record["entities"]
        )


@few
@given(LISTS)
@example([RECORD])
def test_bioc_gives_back_texts_pieces_and_ids(folder, some):
    some = readable(some)
    write_records(some, "bioc", folder / "t.xml")
    documents = list(read_corpus(folder / "t.xml", "bioc", strict=True))
    assert [document.doc_id for document in documents] == [xml_text(record["id"]) for record in some]
    for document, record in zip(documents, some, strict=True):
        assert document.text == xml_text(record["text"])
        expected = [
            (entity["start"], entity["end"], ids_of(entity), tuple(map(tuple, entity.get("offsets", ()))))
            for entity in record["entities"]
        ]
        found = [(mention.start, mention.end, mention.ids, mention.offsets) for mention in document.mentions]
        assert sorted(found) == sorted(expected)


def bioc_values(annotation):
    """What an annotation says about its links, as the table has it."""
    return {infon.get("key"): infon.text or "" for infon in annotation.iter("infon")}


@few
@given(LISTS)
@example([RECORD])
def test_bioc_has_every_value_of_the_table(some):
    root = ET.fromstring(written(some, "bioc"))
    as_json = json.loads(written(some, "biocjson"))
    for document, from_json, record in zip(root.iter("document"), as_json["documents"], some, strict=True):
        annotations = sorted(document.iter("annotation"), key=lambda one: int(one.get("id")))
        of_passages = [one for passage in from_json["passages"] for one in passage["annotations"]]
        assert from_json["id"] == record["id"]
        for annotation, other, entity in zip(
            annotations, sorted(of_passages, key=lambda one: int(one["id"])), record["entities"], strict=True
        ):
            rows = list(table_rows([{"id": "", "entities": [entity]}]))
            for number, row in enumerate(rows, start=1):
                suffix = f".{number}" if number > 1 else ""
                for name in ("preferred_name", "score", "matched_name", "reason", "runner_up_id", "rejected_score"):
                    if row[name] is not None:
                        assert other["infons"][name + suffix] == str(row[name])
                        assert bioc_values(annotation)[name + suffix] == xml_text(str(row[name]))
            assert other["infons"]["type"] == entity["label"]
            places = entity.get("offsets") or [[entity["start"], entity["end"]]]
            assert [[one["offset"], one["offset"] + one["length"]] for one in other["locations"]] == places


@pytest.mark.parametrize("format", ["jsonl", "tsv", "csv", "pubtator", "bioc", "biocjson", "html"])
def test_text_formats_can_be_gzipped_and_are_written_piece_by_piece(format, folder):
    path = folder / f"out.{format}.gz"
    write_records([RECORD, RECORD], format, path)
    assert gzip.decompress(path.read_bytes()).decode() == written([RECORD, RECORD], format)
    taken = []
    pieces = text_pieces((taken.append(i) or RECORD for i in range(9)), format)
    while len(taken) < 2:
        next(pieces)
    assert len(taken) < 9


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_a_failure_leaves_no_file(format, folder):
    if format == "parquet":
        pytest.importorskip("pyarrow")

    def broken():
        yield RECORD
        raise RuntimeError

    place = folder / "failing"
    place.mkdir(exist_ok=True)
    with pytest.raises(RuntimeError):
        write_records(broken(), format, place / f"a.{format}")
    assert os.listdir(place) == []


def test_a_mention_that_was_not_looked_up(folder):
    entity = {**ENTITY, "links": []}
    (row,) = table_rows([{**RECORD, "entities": [entity]}])
    assert (row["concept_id"], row["reason"]) == ("NIL", "the linker did not look up this mention")
    (row,) = table_rows([{**RECORD, "entities": [{**entity, "kb_id": "D1|D2"}]}])
    assert (row["concept_id"], row["reason"]) == ("D1|D2", None)
    for format in ("pubtator", "bioc"):
        path = folder / f"other.{format}"
        write_records([{**RECORD, "entities": [{**entity, "kb_id": "D1|D2"}]}], format, path)
        ((mention,),) = (document.mentions for document in read_corpus(path, format))
        assert mention.ids == ("D1", "D2")


def test_another_name_of_a_format_is_that_format(tmp_path):
    records = [{"id": "1", "text": "Asthma.", "entities": []}]
    for name in ("pubtator", "ncbi"):
        write_records(records, name, tmp_path / name)
    assert (tmp_path / "ncbi").read_bytes() == (tmp_path / "pubtator").read_bytes() != b""
