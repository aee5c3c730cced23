import gzip

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.labels import read_labels, write_labels


def test_ids_come_once_and_in_canonical_form(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("MESH:D001943\n\n D003550 \nD001943\nOMIM:219700\n")
    assert read_labels(path) == ["D001943", "D003550", "OMIM:219700"]
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_labels(tmp_path / "labels.txt.gz") == read_labels(path)


def test_what_is_written_is_read(tmp_path):
    write_labels(["D2", "D1"], tmp_path / "labels.txt")
    assert read_labels(tmp_path / "labels.txt") == ["D2", "D1"]


@pytest.mark.parametrize(
    ("text", "told"), [("D1\nD2\tfever\n", "line 2: 'D2\tfever' is no id"), ("\n \n", "there is no id"), ("", "no id")]
)
def test_what_is_no_list_of_ids(tmp_path, text, told):
    path = tmp_path / "labels.txt"
    path.write_text(text)
    with pytest.raises(SapbertError, match="E644") as error:
        read_labels(path)
    assert told in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SapbertError, match=r"E12\d.*nowhere"):
        read_labels(tmp_path / "nowhere.txt")
