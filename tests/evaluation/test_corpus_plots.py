import pytest

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")

from spacy_sapbert.evaluation.corpus_plots import BARS, CURVES, MATRIX, draw_corpus  # noqa: E402


def tables(n):
    ids = [f"K:{number}" for number in range(n)]
    names = [f"name {number} with $ and {'x' * number}" for number in range(n)]
    concepts = {"concept_id": ids, "preferred_name": names, "documents": list(range(n, 0, -1))}
    concepts["share"] = [one / (2 * n) for one in concepts["documents"]]
    years = {"concept_id": [one for one in ids for _ in "ab"], "preferred_name": [None] * 2 * n}
    years |= {"year": [2000, 2001] * n, "share": [0.1, 0.2] * n}
    pairs = {"concept_a": ids[:-1], "name_a": names[:-1], "concept_b": ids[1:], "name_b": names[1:]}
    pairs["pmi"] = [1.0, *[-2.0] * (n - 2)][: n - 1]
    columns = {"concepts": concepts, "pairs": pairs, "concept_years": years, "years": {"year": [2000, 2001]}}
    return {name: pyarrow.table(of_table) for name, of_table in columns.items()}


def test_bars_and_curves():
    figures = draw_corpus(tables(30))
    assert list(figures) == ["concepts", "trends", "pairs"]
    (bars,) = figures["concepts"].axes
    assert [bar.get_width() for bar in bars.patches] == pytest.approx([50 * (11 + i) / 30 for i in range(BARS)])
    assert bars.texts[-1].get_text() == "30"
    (trends,) = figures["trends"].axes
    assert len(trends.lines) == CURVES
    assert list(trends.lines[0].get_ydata()) == [10, 20]


def test_the_matrix_is_symmetric_and_centered_at_chance():
    panel = draw_corpus(tables(30))["pairs"].axes[0]
    image = panel.images[0]
    values = image.get_array()
    assert values.shape == (MATRIX, MATRIX)
    assert (values[0, 1], values[1, 0], values[1, 2]) == (1, 1, -2)
    assert values.mask[0, 0]
    assert values.mask[0, 2]
    assert image.norm(0) == 0.5


def test_pictures_without_data_are_left_out():
    few = tables(3)
    few["pairs"] = few["pairs"].slice(0, 0)
    del few["years"], few["concept_years"]
    assert list(draw_corpus(few)) == ["concepts"]
