"""Draw the pictures of the papers that are on the pages of results.

- names per concept of a knowledge base;
- for one or more encoders: the cosines of the pairs in PAIRS, which is `eval.txt` of `pairs --pairs.selection
  kg-aligned`; those of the few pairs of `plot.txt` beside it; and the names of the ten largest concepts of `train.txt`
  beside it, in two dimensions (t-SNE);
- accuracy and recall of candidates by epoch, from the log of `spacy train configs/linker.cfg`.

    python benchmarks/pictures.py FOLDER [--kb KB] [--pairs PAIRS --encoder ENCODER …] [--log FILE]
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from common import new_parser

from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.evaluation.candidate_log import read_candidate_log
from spacy_sapbert.evaluation.plots import (
    BLUE,
    COLORS,
    MARKERS,
    ORANGE,
    counted,
    curve_style,
    in_style,
    legend_above,
    new_figure,
    save_figure,
)
from spacy_sapbert.evaluation.separation import NamePairs, evaluate_separation, read_name_pairs
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.metrics.separation import Separation, equal_error, histograms, to_unit_length

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20  # names of a concept; the last bar has this many or more
CLUSTERS = 10  # colors that an eye can tell apart
MOST_PAIRS_OF_A_HEAT_MAP = 40
_CHARACTERS = 30
_TITLE = 68  # characters of a line
LINKING_SCORES = {"link_acc": "accuracy", "link_strict": "strict accuracy", "link_recall": "candidate recall@20"}


@in_style()
def draw_names_per_concept(counts: Mapping[str, int], names: int) -> Figure:
    """Draw the number of concepts by their number of names."""
    figure = new_figure(7, 3)
    axes = figure.add_subplot(xlabel="names", ylabel="concepts", yscale="log")
    axes.bar(list(counts), list(counts.values()), color=BLUE)
    axes.set_title(f"{sum(counts.values()):,} concepts with {names:,} names", loc="left")
    return figure


@in_style()
def draw_histograms(separations: Mapping[str, Separation]) -> Figure:
    """Draw the distributions of cosines of synonyms and of names of different concepts, by the label of the encoder.

    A dashed line shows the threshold of equal error rates, with its value and this rate.
    """
    figure = new_figure(7, 1 + 2.6 * len(separations))
    panels = figure.subplots(len(separations), 1, sharex=True, squeeze=False)[:, 0]
    lowest = 0.0
    for panel, (label, separation) in zip(panels, separations.items(), strict=True):
        bounds, positives, negatives = histograms(separation)
        lowest = min(lowest, bounds[np.flatnonzero(positives + negatives)[0]])
        panel.stairs(100 * negatives, bounds, fill=True, color=ORANGE, alpha=0.6, label="different concepts")
        looks = {"edgecolor": BLUE, "facecolor": "none", "hatch": "////", "linewidth": 1.8}
        panel.stairs(100 * positives, bounds, fill=True, label="synonyms", **looks)
        threshold, error = equal_error(separation)
        panel.axvline(threshold, color="black", linestyle="--", linewidth=1.2, label="threshold of equal error rates")
        text, where = f"{threshold:.3f}: error rate {100 * error:.1f} %", {"xycoords": ("data", "axes fraction")}
        offset: dict[str, Any] = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        panel.annotate(text, (threshold, 1), **where, **offset)
        n = counted(len(separation.positives), "pair"), counted(int(separation.below[-1]), "pair")
        title = f"{wrapped(label, _TITLE)}\n{n[0]} of synonyms, {n[1]} of different concepts"
        panel.set_title(title, loc="left", pad=18)
        panel.set(ylabel="% of the pairs")
    legend_above(figure, panels[0], columns=3)
    panels[-1].set_xlabel("cosine")
    panels[-1].set_xlim(lowest - 0.02, 1.02)
    return figure


@in_style()
def draw_heat_maps(pairs: NamePairs, cosines: Mapping[str, np.ndarray]) -> Figure:
    """Draw the cosines of all left names with all right names of a few pairs. Synonyms are on the diagonal.

    The cosines are by the label of the encoder, float32, shape (n, n), with a row for each left name.
    """
    n, places = len(cosines), range(len(pairs.left))
    side = 1.5 + 0.3 * len(pairs.left)
    figure = new_figure(3 + n * side, 2.5 + side)
    panels = figure.subplots(1, n, sharey=True, squeeze=False)[0]
    least = min(0.0, *(float(values.min()) for values in cosines.values()))
    for panel, (label, values) in zip(panels, cosines.items(), strict=True):
        image = panel.imshow(values, vmin=least, vmax=1, cmap="viridis")  # lightness rises with the cosine
        panel.grid(False)
        panel.set_title(f"{wrapped(label, round(8 * side))}\n{counted(len(pairs.left), 'pair')}", loc="left")
        panel.set_xticks(places, labels=list(map(_short, pairs.right)), rotation=45, ha="right", rotation_mode="anchor")
    panels[0].set_yticks(places, labels=list(map(_short, pairs.left)))
    figure.colorbar(image, ax=list(panels), label="cosine", shrink=0.7)
    return figure


def names_of_largest_concepts(pairs: NamePairs, n: int) -> dict[str, list[str]]:
    """Return the names of the n concepts with the most names in the pairs, largest first.

    Among equal concepts, the first in the file wins.
    """
    names: dict[str, dict[str, None]] = {}
    for concept_id, *both in zip(pairs.concept_ids, pairs.left, pairs.right, strict=True):
        names.setdefault(concept_id, {}).update(dict.fromkeys(both))
    largest = Counter({concept_id: len(some) for concept_id, some in names.items()}).most_common(n)
    return {concept_id: list(names[concept_id]) for concept_id, _ in largest}


@in_style()
def draw_clusters(names: Mapping[str, Sequence[str]], vectors: Mapping[str, np.ndarray]) -> Figure:
    """Draw the names of two or more concepts in two dimensions, with one color and marker per concept.

    t-SNE (van der Maaten and Hinton 2008) draws similar names close together, as in figure 1 of SapBERT (Liu et al.
    2021). The distances between clusters mean little. The legend has the first name and the number of names of each
    concept. The vectors, one for each name, are by the label of the encoder.
    """
    from sklearn.manifold import TSNE

    figure = new_figure(3 + 5 * len(vectors), max(5, 1 + 0.25 * len(names)))
    panels = figure.subplots(1, len(vectors), squeeze=False)[0]
    ends = np.cumsum([len(some) for some in names.values()])
    for panel, (label, matrix) in zip(panels, vectors.items(), strict=True):
        perplexity = min(30, (len(matrix) - 1) / 3)  # scikit-learn's default, if there are enough neighbors
        flat = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=0).fit_transform(matrix)
        for number, (of_concept, points) in enumerate(zip(names.values(), np.split(flat, ends[:-1]), strict=True)):
            panel.scatter(*points.T, label=f"{_short(of_concept[0])} ({len(of_concept):,})", **_dots(number))
        title = f"{wrapped(label, _TITLE // 2)}\n{counted(int(ends[-1]), 'name')} of {counted(len(names), 'concept')}"
        panel.set_title(title, loc="left")
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_visible(True)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    return figure


def _dots(number: int) -> dict[str, Any]:
    """Return the look of a concept's points. Markers that come again are hollow."""
    color, hollow = COLORS[number % len(COLORS)], number // len(MARKERS) % 2
    face, edge = ("none", color) if hollow else (color, "white")
    looks = {"marker": MARKERS[number % len(MARKERS)], "facecolor": face, "edgecolor": edge}
    return {**looks, "s": 36, "alpha": 0.8, "linewidth": 1.4 if hollow else 0.4, "zorder": 3}


def _short(name: str) -> str:
    return name if len(name) <= _CHARACTERS else name[: _CHARACTERS - 1] + "…"


@in_style()
def draw_linking_scores(lines: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw accuracy and candidate recall at each evaluation of a training, by epoch, from `read_candidate_log`."""
    figure = new_figure(7, 4)
    panel = figure.subplots()
    steps = [line["step"] for line in lines]
    for number, (name, label) in enumerate(LINKING_SCORES.items()):
        values = np.array([line[name] for line in lines], dtype=float)  # None becomes nan, which is not drawn
        panel.plot(steps, 100 * values, label=label, **curve_style(number))
    firsts = list({line["epoch"]: line["step"] for line in reversed(lines)}.items())[::-1]
    firsts = firsts[:: -(-len(firsts) // 20)]
    panel.set_xticks([step for _, step in firsts], labels=[str(epoch) for epoch, _ in firsts])
    panel.set(xlabel="epoch", ylabel="%")
    panel.set_title(counted(len(lines), "evaluation"), loc="left")
    legend_above(figure, panel, columns=3)
    return figure


def wrapped(label: str, width: int) -> str:
    """Return a label in lines of at most `width` characters; long words, such as paths, are broken."""
    return "\n".join(textwrap.wrap(label, width)) or label


def pictures_of_encoders(path: Path, names: Sequence[str]) -> dict[str, Figure]:
    """Draw the separation of names by encoders."""
    encoders: dict[str, Any] = {name: open_encoder(name) for name in names}
    pairs = read_name_pairs(path)
    figures = {"separation": draw_histograms({n: evaluate_separation(one, pairs) for n, one in encoders.items()})}
    if (few := path.with_name("plot.txt")).is_file():
        pairs = read_name_pairs(few)
        if len(pairs.left) > MOST_PAIRS_OF_A_HEAT_MAP:
            raise SystemExit(f"{few} has more than {MOST_PAIRS_OF_A_HEAT_MAP} pairs, too many for a heat map.")
        texts = [*pairs.left, *pairs.right]
        sides = {name: np.split(to_unit_length(one.encode(texts)), 2) for name, one in encoders.items()}
        figures["heat_map"] = draw_heat_maps(pairs, {name: left @ right.T for name, (left, right) in sides.items()})
    if (large := path.with_name("train.txt")).is_file():
        largest = names_of_largest_concepts(read_name_pairs(large), CLUSTERS)
        texts = [name for some in largest.values() for name in some]
        figures["clusters"] = draw_clusters(largest, {name: one.encode(texts) for name, one in encoders.items()})
    return figures


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kb")
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--encoder", action="append", default=[], help="Repeatable. Default: starter-transformer.")
    parser.add_argument("--log", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Figure] = {}
    if args.kb:
        kb = KnowledgeBase(args.kb)
        counts = Counter(min(len(list(kb.names_of(one))), MOST) for one in kb.concept_ids())
        bars = {f"{n}+" if n == MOST else str(n): counts[n] for n in range(1, MOST + 1)}
        print(json.dumps({"concepts by number of names": bars}, indent=2))
        figures["names_per_concept"] = draw_names_per_concept(bars, kb.n_names)
    if args.pairs:
        figures |= pictures_of_encoders(args.pairs, args.encoder or ["starter-transformer"])
    if args.log:
        figures["recall_by_epoch"] = draw_linking_scores(read_candidate_log(args.log))
    for name, figure in figures.items():
        save_figure(figure, args.folder / f"{name}.svg")


if __name__ == "__main__":
    main()
