"""The one look of all pictures, and how they become files.

Curves differ in color, line style, line width and marker at once, so that they also differ in grey. The colors are
those of Okabe and Ito (2008, jfly.uni-koeln.de/color), which color-blind readers can distinguish. Later curves are
thinner than earlier ones and lie on top of them, so that equal curves stay visible.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CannotWriteError, ChoiceError, MissingExtraError
from ..files.output import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")

ORANGE, BLUE, BLACK, VERMILLION, SKY, GREEN, PURPLE = (
    "#E69F00", "#0072B2", "#000000", "#D55E00", "#56B4E9", "#009E73", "#CC79A7",
)  # fmt: skip
COLORS = (ORANGE, BLUE, BLACK, VERMILLION, SKY, GREEN, PURPLE)
"""The colors of curves. Each of the first four has another lightness than the one before."""
MARKERS = "os^DvPX*p<>dh"
_LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)))
_WIDEST, _THINNEST, _STEP = 3.0, 1.2, 0.6  # of lines, in points
_LARGEST, _SMALLEST, _SHRINK = 9.0, 4.0, 2.2  # markers, in points

STYLE: dict[str, Any] = {
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#D0D0D0",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "savefig.dpi": 150,
}
"""The settings of matplotlib that differ from its defaults."""


@contextmanager
def in_style() -> Iterator[None]:
    """Draw with matplotlib's defaults and `STYLE`, whatever the user's own settings are.

    The context also serves as a decorator of functions that draw.
    """
    check_matplotlib()
    from matplotlib import style

    with style.context(["default", STYLE]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, without a window."""
    from matplotlib.figure import Figure  # not pyplot, which looks for a window system

    return Figure(figsize=(width, height))


def curve_style(number: int) -> dict[str, Any]:
    """Return color, line style, width, marker and order of a curve, as keywords of matplotlib's `plot`.

    Nothing is clipped at the edge of the panel.

    Args:
        number: The place of the curve among those of its panel, from 0.
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


def legend_above(figure: Figure, panel: Axes, columns: int = 2) -> None:
    """Put the legend of one panel above all panels, where it covers nothing."""
    handles, labels = panel.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def wrapped(label: str, width: int) -> str:
    """Return a label in lines of at most `width` characters; long words, such as paths, are broken."""
    return "\n".join(textwrap.wrap(label, width)) or label


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, such as "1,234 links"."""
    return f"{n:,} {noun if n == 1 else f'{noun}s'}"


# --- files


def check_matplotlib() -> None:
    """Check before long work that matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(what="A plot", package=error.name, extra="plots") from error


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
