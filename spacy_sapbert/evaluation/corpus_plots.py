"""Draw what a corpus is about: the most frequent concepts, their trends by year, and how often two occur together.

The pictures are narrow, so that their text stays readable on a phone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .figures import BLUE, counted, curve_style, in_style, new_figure, wrapped

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.figure import Figure

BARS = 20
CURVES = 5
MATRIX = 12
_WIDTH = 4.8  # inches
_NAME = 26  # characters of a line
_LONGEST = 52  # characters of a name


def draw_corpus(tables: dict[str, pyarrow.Table]) -> dict[str, Figure]:
    """Draw all pictures of a corpus.

    Args:
        tables: The tables of `CorpusStatistics`.

    Returns:
        The figures by name. A figure without data is left out: "concepts", "trends", "pairs".

    Raises:
        SapbertError: E542 matplotlib is not installed.
    """
    figures = {"concepts": draw_concepts(tables["concepts"])}
    if "concept_years" in tables and tables["years"].num_rows > 1:
        figures["trends"] = draw_trends(tables["concept_years"])
    if tables["pairs"].num_rows:
        figures["pairs"] = draw_pairs(tables["pairs"])
    return figures


@in_style()
def draw_concepts(concepts: pyarrow.Table) -> Figure:
    """Draw the concepts in most documents as bars, with the number of documents at each."""
    rows = concepts.slice(0, BARS).to_pylist()[::-1]
    figure = new_figure(_WIDTH, 1 + 0.34 * len(rows))
    panel = figure.subplots()
    bars = panel.barh(range(len(rows)), [100 * row["share"] for row in rows], color=BLUE)
    panel.bar_label(bars, [f"{row['documents']:,}" for row in rows], padding=3, fontsize=8)
    panel.set_yticks(range(len(rows)), labels=[_name(row) for row in rows], fontsize=8)
    panel.set(xlabel="% of the documents")
    panel.margins(x=0.14, y=0.02)
    panel.grid(axis="y", visible=False)
    return figure


@in_style()
def draw_trends(concept_years: pyarrow.Table) -> Figure:
    """Draw the share of documents by year for the concepts in most documents."""
    from matplotlib.ticker import MaxNLocator

    curves: dict[str, list[dict[str, Any]]] = {}
    for row in concept_years.to_pylist():
        curves.setdefault(row["concept_id"], []).append(row)
    shown = list(curves.values())[:CURVES]
    figure = new_figure(_WIDTH, 3.4 + 0.22 * len(shown))
    panel = figure.subplots()
    for number, rows in enumerate(shown):
        shares = [100 * row["share"] for row in rows]
        panel.plot([row["year"] for row in rows], shares, label=_name(rows[0]), **curve_style(number))
    panel.set(xlabel="year", ylabel="% of the documents of the year")
    panel.set_ylim(bottom=0)
    panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    figure.legend(*panel.get_legend_handles_labels(), loc="outside upper left", fontsize=8)
    return figure


@in_style()
def draw_pairs(pairs: pyarrow.Table) -> Figure:
    """Draw a matrix of PMI for the concepts of the pairs with the largest log-likelihood ratio.

    Pairs in too few documents have no color.
    """
    from matplotlib.colors import TwoSlopeNorm

    rows = pairs.to_pylist()
    names = _concepts_of(rows)[:MATRIX]
    places = {row["concept_id"]: place for place, row in enumerate(names)}
    values = [[math.nan] * len(names) for _ in names]
    for row in rows:
        if row["concept_a"] in places and row["concept_b"] in places:
            a, b = places[row["concept_a"]], places[row["concept_b"]]
            values[a][b] = values[b][a] = row["pmi"]
    largest = max((abs(value) for line in values for value in line if not math.isnan(value)), default=0) or 1
    figure = new_figure(_WIDTH, _WIDTH + 0.5)
    panel = figure.subplots()
    image = panel.imshow(values, cmap="PuOr_r", norm=TwoSlopeNorm(0, -largest, largest))
    panel.set_facecolor("#EEEEEE")
    panel.grid(False)
    labels = [_name(row) for row in names]
    panel.set_yticks(range(len(names)), labels=labels, fontsize=7)
    panel.set_xticks(range(len(names)), labels=labels, rotation=90, fontsize=7)
    figure.colorbar(image, ax=panel, label="PMI: 1 is twice as often as by chance", location="bottom", shrink=0.8)
    panel.set_title(counted(len(names), "concept"), loc="left")
    return figure


def _concepts_of(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the id and name of each concept, in the order in which pairs have them first."""
    names = {row[f"concept_{side}"]: row[f"name_{side}"] for row in pairs for side in "ab"}
    return [{"concept_id": concept_id, "preferred_name": name} for concept_id, name in names.items()]


def _name(row: dict[str, Any]) -> str:
    name = row["preferred_name"] or row["concept_id"]
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return wrapped(short.replace("$", r"\$"), _NAME)  # no mathematics
