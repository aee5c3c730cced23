import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.id_lists import read_labels, write_labels


def test_ids_come_once_and_in_canonical_form(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("MESH:D001943\n\n D003550 \nD001943\nOMIM:219700\n")
    assert read_labels(path) == ["D001943", "D003550", "OMIM:219700"]
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_labels(tmp_path / "labels.txt.gz") == read_labels(path)


def test_what_is_written_is_read(tmp_path):
    write_labels(["D2", "D1"], tmp_path / "labels.txt")
    assert read_labels(tmp_path / "labels.txt") == ["D2", "D1"]


@pytest.mark.parametrize("write", [lambda path, data: path.write_bytes(data), lambda path, data: gzip_to(path, data)])
def test_labels_are_canonical_and_unique(tmp_path, write):
    path = tmp_path / "labels.txt"
    write(path, "\ufeffMESH:D001943\r\n\n  omim:145250 \nD001943\nDOID:1612".encode())
    assert read_labels(path) == ["D001943", "OMIM:145250", "DOID:1612"]


def gzip_to(path, data):
    path.write_bytes(gzip.compress(data))


@pytest.mark.parametrize("line", ["D001943|D010051", "D001943\tBreast Cancer", "-1", "Breast Neoplasms", "D1, D2"])
def test_lines_that_are_no_id(tmp_path, line):
    path = tmp_path / "labels.txt"
    path.write_text(f"D001943\n\n{line}\n")
    with pytest.raises(SapbertError, match=r"E633.*labels\.txt, line 3"):
        read_labels(path)


@pytest.mark.parametrize(("data", "code"), [(b" \n\n", "E632"), (b"", "E632"), (b"D1\n\xff\n", "E127"), (None, "E120")])
def test_files_without_labels(tmp_path, data, code):
    path = tmp_path / "labels.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(SapbertError, match=code):
        read_labels(path)


@settings(max_examples=20)
@given(st.lists(st.from_regex(r"(D[0-9]{3}|OMIM:[0-9]{2})", fullmatch=True), min_size=1))
def test_ids_are_read_as_they_are_written(tmp_path_factory, ids):
    path = tmp_path_factory.getbasetemp() / "written_labels.txt"
    path.write_text("\n".join(ids))
    assert read_labels(path) == list(dict.fromkeys(ids))
