from __future__ import annotations

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.linking.spelling import load_corrections, open_corrector, read_corrections, save_corrections
from spacy_sapbert.text.spelling import KnownWords


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "list.txt").write_text(text, encoding="utf-8")
        return tmp_path / "list.txt"

    return write


def test_a_list_is_read(write, small_store):
    path = write("Brest||breast\n\n smallbowel || small bowel \r\nbrest||breast\nœdema||edema")
    pairs = {"brest": "breast", "smallbowel": "small bowel", "œdema": "edema"}
    assert read_corrections(path).pairs == pairs
    assert open_corrector(str(path), small_store).pairs == pairs


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("brest", "there are not two sides"),
        ("brest|breast", "there are not two sides"),
        ("brest||breast||bust", "there are not two sides"),
        ("small bowl||small bowel", "'small bowl' is not one word"),
        ("||breast", "'' is not one word"),
        ("brest||", "nothing stands for 'brest'"),
        ("FIST||fits", "'fist' stands for 'first' already"),
    ],
)
def test_bad_lines(write, line, reason):
    path = write(f"fist||first\n{line}\n")
    with pytest.raises(SapbertError, match=r"\[E411\]") as caught:
        read_corrections(path)
    assert f"{path}, line 2: {reason}" in str(caught.value)


def test_there_is_no_such_list(tmp_path, small_store):
    with pytest.raises(SapbertError, match=r"E120.*missing\.txt"):
        open_corrector(str(tmp_path / "missing.txt"), small_store)


def test_saved_and_loaded(write, tmp_path):
    assert load_corrections(tmp_path) is None
    corrections = read_corrections(write("Brest||breast\nœdema||edema"))
    save_corrections(corrections, tmp_path)
    assert load_corrections(tmp_path).pairs == corrections.pairs


def test_by_the_vocabulary(small_store):
    corrector = open_corrector("vocabulary", small_store)
    assert isinstance(corrector, KnownWords)
    assert corrector("brest cancer") == "breast cancer"
    assert [corrector(name) for name in small_store.names()] == list(small_store.names())
