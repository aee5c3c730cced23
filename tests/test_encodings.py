"""Names that are not encodings of text, wherever an encoding can be given."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from spacy_sapbert.cli import app
from spacy_sapbert.documents.formats import ANNOTATED
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.opening import check_encoding, open_text
from spacy_sapbert.kb.readers import READERS, ReadReport, read_vocabulary

NOT_ENCODINGS = [
    "hex", "rot13", "zlib", "base64", "bz2", "uu", "quopri", "undefined", "idna", "punycode", "unicode_escape",
    "raw_unicode_escape", "utf-9", "", "a" * 10_000, "utf-8\0", "é", "../utf_8",
]  # fmt: skip
TEXT = ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-7", "shift_jis", "cp037"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("D1||fever\n")
    return path


@pytest.mark.parametrize("encoding", NOT_ENCODINGS)
def test_names_that_are_not_encodings(file, encoding):
    with pytest.raises(SapbertError, match=r"E533.*a\.txt"), open_text(file, encoding):
        pass


@pytest.mark.parametrize("encoding", TEXT)
def test_encodings_of_text(file, encoding):
    assert check_encoding(file, encoding)
    file.write_bytes("Sjogren\nfever\n".encode(encoding))
    with open_text(file, encoding) as lines:
        assert list(lines) == ["Sjogren\n", "fever\n"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_file_without_its_mark(file, encoding):
    with pytest.raises(SapbertError, match=r"E127.*line 1"), open_text(file, encoding) as lines:
        list(lines)


@pytest.mark.parametrize("format", READERS)
def test_vocabularies(file, format):
    with pytest.raises(SapbertError, match="no such encoding"):
        list(read_vocabulary(file, format, encoding="hex", report=ReadReport()))
    # without its mark, and lines of bytes need an encoding that has them
    match = r"E533.*line end" if format in ("umls", "rxnorm", "snomed") else "E1"
    if format not in ("rdf", "icd10cm", "mesh", "claml", "omop"):  # XML names its encoding; OMOP is several files
        with pytest.raises(SapbertError, match=match):
            list(read_vocabulary(file, format, encoding="utf-16", report=ReadReport()))


def test_lines_of_bytes_may_have_a_mark(tmp_path):
    path = tmp_path / "MRCONSO.RRF"
    path.write_bytes("C9000001|ENG|P|L1|PF|S1|Y|A1||||ABC|PT|X1|fièvre|0|N||\n".encode("utf-8-sig"))
    (record,) = read_vocabulary(path, "umls", encoding="utf-8-sig", report=ReadReport())
    assert record.concept_id == "C9000001"


@pytest.mark.parametrize("format", [None, *ANNOTATED, "docbin", "ncbi"])
def test_corpora(file, format):
    with pytest.raises(SapbertError, match="no such encoding"):
        list(read_corpus(file, format, encoding="hex"))


@pytest.mark.parametrize("format", ["text", "lines", "jsonl", "csv", "tsv", "names"])
def test_documents(file, format):
    problems = Problems(Console(file=io.StringIO()), strict=True)
    with pytest.raises(SapbertError, match="no such encoding"):
        list(read_documents(file, ReadOptions(format, encoding="hex"), problems))


@pytest.mark.parametrize(
    "command",
    [
        ["link", "PIPELINE", "FILE", "--encoding"],
        ["discover", "PIPELINE", "FILE", "--output", "OUT", "--discover.encoding"],
        ["convert", "FILE", "-o", "OUT", "--encoding"],
    ],
    ids=lambda command: command[0],
)
def test_commands(file, tmp_path, monkeypatch, linking_nlp, command):
    monkeypatch.chdir(tmp_path)
    linking_nlp.to_disk(tmp_path / "pipeline")
    names = {"PIPELINE": str(tmp_path / "pipeline"), "FILE": str(file), "OUT": str(tmp_path / "out.spacy")}
    result = CliRunner().invoke(app, [*(names.get(part, part) for part in command), "hex"])
    assert result.exit_code
    assert "no such encoding" in result.output + str(result.exception)
    assert not Path("corrections.db").exists()
