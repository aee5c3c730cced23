import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.documents.source import NEAR, locate
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.source import Source
from spacy_sapbert.types import Mention


def lines(tmp_path, raw, **settings):
    path = tmp_path / "corpus.txt"
    path.write_bytes(raw)
    return list(Source(path, **settings).lines())


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_are_taken_off(tmp_path, end):
    assert lines(tmp_path, end.join([b"one", b"", b"two"])) == [(1, "one"), (2, ""), (3, "two")]


def test_byte_order_mark_is_left_out(tmp_path):
    assert lines(tmp_path, "\ufeffa\nb\n".encode()) == [(1, "a"), (2, "b")]


def test_carriage_return_inside_a_line_stays(tmp_path):
    assert lines(tmp_path, b"a\rb\nc\r\n") == [(1, "a\rb"), (2, "c")]


def test_other_unicode_line_separators_end_no_line(tmp_path):
    assert lines(tmp_path, "a\u2028b\x0bc\n".encode()) == [(1, "a\u2028b\x0bc")]


def test_gzip_is_seen_from_the_bytes(tmp_path):
    assert lines(tmp_path, gzip.compress(b"a\nb\n")) == [(1, "a"), (2, "b")]


def test_truncated_gzip_is_an_error(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E121\].*corpus\.txt"):
        lines(tmp_path, gzip.compress(b"a line\n" * 50000)[:-20])


def test_wrong_encoding_tells_the_line(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E127\].*corpus\.txt, line 2"):
        lines(tmp_path, "a\nCétuximab\n".encode("cp1252"))
    assert lines(tmp_path, "Cétuximab\n".encode("cp1252"), encoding="cp1252") == [(1, "Cétuximab")]


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E120\]"):
        list(Source(tmp_path / "none.txt").lines())


def located(text, start, end, surface):
    span = locate(text, Mention(start, end, surface, "Disease"))
    return span and text[slice(*span)]


def test_offsets_that_agree_count_even_where_the_text_repeats():
    assert locate("flu and flu", Mention(8, 11, "flu", "Disease")) == (8, 11)


def test_text_close_to_wrong_offsets_is_found():
    assert located("The patient had hepatic failure.", 14, 29, "hepatic failure") == "hepatic failure"
    assert located("had flu", 5, 8, "flu") == "flu"


def test_offsets_count_where_the_text_is_found_twice_or_not_at_all():
    assert located("flu, flu and colds", 2, 5, "flu") == "u, "
    assert located('seizures "plus"', 0, 15, 'seizures " plus "') == 'seizures "plus"'


def test_text_far_from_its_offsets_is_not_taken():
    assert located("x" * 10 + " " * (NEAR + 10) + "flu", 0, 3, "flu") == "xxx"


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (3, 2), (0, 99), (99, 102)])
def test_offsets_that_are_no_part_of_the_text_give_nothing(start, end):
    assert locate("a short text", Mention(start, end, "flu", "Disease")) is None


@given(st.text("ab ", max_size=60), st.integers(-5, 70), st.integers(-5, 70), st.text("ab ", max_size=5))
def test_located_spans_are_never_empty_nor_outside(text, start, end, surface):
    span = locate(text, Mention(start, end, surface, "Disease"))
    assert span is None or 0 <= span[0] < span[1] <= len(text)
