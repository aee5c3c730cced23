"""Draw the calibration of probabilities, and give figures one style.

Curves differ in color, line style, line width and marker at once, so that they also differ in grey. The colors are
those of Okabe and Ito (2008, jfly.uni-koeln.de/color), which color-blind readers can distinguish. Later curves are
thinner than earlier ones and lie on top of them, so that equal curves stay visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CannotWriteError, requiring
from ..files.output import replacing
from ..metrics.calibration import wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    with requiring("plots", "A plot"):
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


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, such as "1,234 links"."""
    return f"{n:,} {noun if n == 1 else f'{noun}s'}"


def prepare_folder(folder: Path) -> None:
    """Create a folder for pictures, and check that matplotlib is installed, before long work."""
    with in_style():
        pass
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWriteError(path=folder, reason=error.strerror) from error


@in_style()
def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its file name: SVG, PNG or PDF. The same figure gives the same file."""
    from matplotlib import rc_context

    kind = path.suffix[1:].lower()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with replacing(path) as temporary, rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, format=kind, metadata=metadata)


def save_both(figure: Figure, path: Path) -> None:
    """Write a figure as SVG and as PNG, given the path without an ending."""
    for ending in (".svg", ".png"):
        save_figure(figure, path.with_name(path.name + ending))


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
