from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import BadRecordError, CannotReadError, DamagedError
from spacy_sapbert.linking.spelling_files import (
    WORDS_FILE,
    load_corrector,
    read_corrections,
    save_corrector,
)
from spacy_sapbert.text.spelling import CorrectionList, KnownWords


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "list.txt").write_text(text, encoding="utf-8")
        return tmp_path / "list.txt"

    return write


def test_a_list_is_read(write):
    path = write("Brest||breast\n\n smallbowel || small bowel \r\nbrest||breast\nœdema||edema")
    pairs = {"brest": "breast", "smallbowel": "small bowel", "œdema": "edema"}
    assert read_corrections(path).pairs == pairs


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("brest", "it must have exactly two sides"),
        ("brest|breast", "it must have exactly two sides"),
        ("brest||breast||bust", "it must have exactly two sides"),
        ("small bowl||small bowel", "'small bowl' is not one word"),
        ("||breast", "'' is not one word"),
        ("brest||", "there is no correction of 'brest'"),
        ("FIST||fits", "'fist' is already corrected to 'first'"),
    ],
)
def test_bad_lines(write, line, reason):
    path = write(f"fist||first\n{line}\n")
    with pytest.raises(BadRecordError) as caught:
        read_corrections(path)
    assert f"{path}, line 2: {reason}" in str(caught.value)


def test_a_list_that_does_not_exist(tmp_path):
    with pytest.raises(CannotReadError, match=r"missing\.txt"):
        read_corrections(tmp_path / "missing.txt")


def test_a_list_is_saved_and_loaded(write, tmp_path):
    corrections = read_corrections(write("Brest||breast\nœdema||edema"))
    save_corrector(corrections, tmp_path)
    loaded = load_corrector(tmp_path)
    assert isinstance(loaded, CorrectionList)
    assert loaded.pairs == corrections.pairs


def test_the_words_of_a_vocabulary_are_saved_and_loaded(small_kb, tmp_path):
    known = KnownWords.of_names(small_kb.names())
    save_corrector(known, tmp_path)
    loaded = load_corrector(tmp_path)
    assert isinstance(loaded, KnownWords)
    assert loaded.counts == known.counts
    assert loaded("brest cancer") == "breast cancer"
    assert [loaded(name) for name in small_kb.names()] == list(small_kb.names())


def test_a_vocabulary_without_words(tmp_path):
    save_corrector(KnownWords.of_names(["12", "?"]), tmp_path)
    assert load_corrector(tmp_path)("brest") == "brest"


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_words_survive(names):
    known = KnownWords.of_names(names)
    with TemporaryDirectory() as folder:
        save_corrector(known, Path(folder))
        assert load_corrector(Path(folder)).counts == known.counts


def test_damaged_words(tmp_path):
    (tmp_path / WORDS_FILE).write_text("breast\tmany\n")
    with pytest.raises(DamagedError, match=WORDS_FILE):
        load_corrector(tmp_path)
