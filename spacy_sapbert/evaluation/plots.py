"""Draw the separation of names by encoders, the calibration of probabilities, and the training of a linker.

Curves differ in color, line style, line width and marker at once, so that they also differ in grey. The colors are
those of Okabe and Ito (2008, jfly.uni-koeln.de/color), which color-blind readers can distinguish. Later curves are
thinner than earlier ones and lie on top of them, so that equal curves stay visible.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CannotWriteError, ChoiceError, LimitError, requiring
from ..files.output import replacing
from ..metrics.calibration import wilson_interval
from ..metrics.separation import Separation, equal_error, histograms
from .separation import NamePairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")

COLORS = ("#E69F00", "#0072B2", "#000000", "#D55E00", "#56B4E9", "#009E73", "#CC79A7")
"""The colors of curves. Each of the first four has another lightness than the one before."""
ORANGE, BLUE = COLORS[:2]
MARKERS = "os^DvPX*p<>dh"
_LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)))
_WIDEST, _THINNEST, _STEP = 3.0, 1.2, 0.6  # of lines, in points
_LARGEST, _SMALLEST, _SHRINK = 9.0, 4.0, 2.2  # markers, in points


@contextmanager
def in_style() -> Iterator[None]:
    """Draw with matplotlib's defaults and `plots.mplstyle`, whatever the user's own settings are. Also a decorator."""
    check_matplotlib()
    from matplotlib import style

    with style.context(["default", Path(__file__).with_suffix(".mplstyle")]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, without a window."""
    from matplotlib.figure import Figure  # not pyplot, which looks for a window system

    return Figure(figsize=(width, height))


def curve_style(number: int) -> dict[str, Any]:
    """Return the keywords of matplotlib's `plot` for a curve, from its number in the panel. Nothing is clipped at the
    edge.
    """
    return {
        "color": COLORS[number % len(COLORS)],
        "linestyle": _LINES[number % len(_LINES)],
        "linewidth": max(_THINNEST, _WIDEST - _STEP * number),
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": max(_SMALLEST, _LARGEST - _SHRINK * number),
        "zorder": 3 + number / 100,
        "clip_on": False,
    }


def legend_above(figure: Figure, panel: Axes, columns: int) -> None:
    """Put the legend of one panel above all panels, where it covers nothing."""
    figure.legend(*panel.get_legend_handles_labels(), loc="outside upper center", ncols=columns)


def wrapped(label: str, width: int) -> str:
    """Return a label in lines of at most `width` characters; long words, such as paths, are broken."""
    return "\n".join(textwrap.wrap(label, width)) or label


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, such as "1,234 links"."""
    return f"{n:,} {noun if n == 1 else f'{noun}s'}"


# --- files


def check_matplotlib() -> None:
    """Check before long work that matplotlib and scikit-learn are installed."""
    with requiring("plots", "A plot"):
        import matplotlib  # noqa: F401
        import sklearn  # noqa: F401


def check_ending(path: Path) -> None:
    """Check that a file name has the ending of a picture."""
    if path.suffix.lower() not in ENDINGS:
        raise ChoiceError(given=path.suffix, what="picture format", choices=ENDINGS)


def prepare_folder(folder: Path) -> None:
    """Create a folder for pictures, before long work."""
    check_matplotlib()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWriteError(path=folder, reason=error.strerror) from error


@in_style()
def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its file name: SVG, PNG or PDF. The same figure gives the same file."""
    from matplotlib import rc_context

    check_ending(path)
    kind = path.suffix[1:].lower()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with replacing(path) as temporary, rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, format=kind, metadata=metadata)


def save_both(figure: Figure, path: Path) -> None:
    """Write a figure as SVG and as PNG, given the path without an ending."""
    for ending in (".svg", ".png"):
        save_figure(figure, path.with_name(path.name + ending))


MOST_PAIRS_OF_A_HEAT_MAP = 40
_CHARACTERS = 30
_TITLE = 68  # characters of a line
LINKING_SCORES = {"link_acc": "accuracy", "link_strict": "strict accuracy", "link_recall": "candidate recall@20"}


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


def check_heat_map(pairs: NamePairs, path: Path) -> None:
    """Check that the file has few enough pairs for a heat map."""
    if len(pairs.left) > MOST_PAIRS_OF_A_HEAT_MAP:
        remedy = f"Give at most {MOST_PAIRS_OF_A_HEAT_MAP} pairs, such as plot.txt from `spacy-sapbert pairs`."
        raise LimitError(remedy, path=path, reason=f"has {len(pairs.left)} pairs, too many for a heat map")


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


# --- calibration


@in_style()
def draw_reliability(result: Mapping[str, Any]) -> Figure:
    """Draw how many links of each probability are right, from a report of `calibrate`.

    A calibrated probability lies on the diagonal. A bar at each point is its 95 % interval, see `wilson_interval`. A
    vertical line marks the threshold. The panel below shows the number of links in each bin.
    """
    figure = new_figure(6, 7.5)
    panel, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    panel.plot([0, 1], [0, 1], color="gray", linewidth=1, label="calibrated")
    for number, when in enumerate(("before", "after")):
        style, links = curve_style(number), result[when]
        x, right, n = (np.array([row[key] for row in links["reliability"]]) for key in ("mean", "right", "n"))
        panel.plot(x, right, label=f"{when}: {counted(links['links'], 'link')}", **style)
        low, high = wilson_interval(right, n)
        looks = {"color": style["color"], "zorder": style["zorder"], "elinewidth": 1.2, "capsize": 3, "clip_on": False}
        panel.errorbar(x, right, yerr=np.clip([right - low, high - right], 0, 1), fmt="none", **looks)
        # the score of the threshold differs from its probability once these are fitted
        at, score = f"{links['threshold_probability']:.3f}", f"{result['threshold'][when]:.3f}"
        name = f"threshold {when}: {at}" + ("" if at == score else f" (score {score})")
        line = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": 1.2}
        panel.axvline(links["threshold_probability"], label=name, **line)
        below.axvline(links["threshold_probability"], **line)
        below.vlines(x, 0, n, color=style["color"], linewidth=style["linewidth"], zorder=style["zorder"])
        below.plot(x, n, **{**style, "linestyle": ""})
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    panel.set(
        ylabel="share right, with 95 % interval", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=ticks, yticks=ticks
    )
    below.set(xlabel="mean probability of the bin", ylabel="links in the bin")
    below.set_ylim(bottom=0)
    below.margins(y=0.15)
    below.yaxis.set_major_formatter("{x:,.0f}")
    legend_above(figure, panel, columns=1)
    return figure


# --- training


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
