from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.triple_files import HEADINGS, Triple, as_line, read_triples

HEAD = "concept_id\tanchor\tpositive\tnegative"


@pytest.mark.parametrize("packed", [False, True])
def test_triples_of_others_are_read(tmp_path, packed):
    """Columns in another order, others beside them, and none that can be left out."""
    data = b"\xef\xbb\xbfnegative\tnote\tconcept_id\tanchor\tpositive\r\nhot\t\tC1\tcold\tchill\r\n\r\n"
    path = tmp_path / "triples.tsv"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_triples(path)) == [Triple("C1", "cold", "chill", "hot", None, ())]


def test_a_column_that_is_missing_is_told(tmp_path):
    path = tmp_path / "triples.tsv"
    for head in ("", "concept_id\tanchor\tpositive", "C1||a||b", "CUI\tSTR_A\tSTR_P\tnegative"):
        path.write_text(f"{head}\nC1\ta\tb\tc\n")
        with pytest.raises(SapbertError, match=r"E185.*triples.tsv has no column.*spacy-sapbert mine"):
            next(read_triples(path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("C1\ta\tb", "argument 2 is shorter"),
        ("C1\ta\tb\tc\td\te", "longer"),
        ("C1\t \tb\tc\t0.5", "anchor is empty"),
        ("\ta\tb\tc\t0.5", "concept_id is empty"),
        ("C1\ta\tb\tc\tnear", "near"),
    ],
)
def test_a_broken_triple_is_told_with_its_line(tmp_path, line, reason):
    path = tmp_path / "triples.tsv"
    path.write_text(f"{HEAD}\tsimilarity\nC0\ta\tb\tc\t0.5\n\n{line}\n")
    triples = read_triples(path)
    assert next(triples) == Triple("C0", "a", "b", "c", 0.5)
    with pytest.raises(SapbertError, match=rf"E186.*triples.tsv, line 4: .*{reason}.*Correct the line"):
        next(triples)


# in normal form there are single blanks and no others; quotation marks and bars are part of a name
NAMES = st.text(st.sampled_from("aB\"|,;'") | st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8)
IDS = st.from_regex(r"[A-Z]{1,5}:?[0-9]{1,6}", fullmatch=True)
COSINES = st.integers(-10000, 10000).map(lambda number: number / 10000)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.builds(Triple, IDS, NAMES, NAMES, NAMES, st.none() | COSINES, st.lists(IDS, max_size=2).map(tuple))))
def test_what_is_written_is_read_again(tmp_path_factory, triples):
    path = tmp_path_factory.mktemp("triples") / "triples.tsv"
    path.write_text(HEADINGS + "".join(map(as_line, triples)), encoding="utf8")
    assert list(read_triples(path)) == triples
