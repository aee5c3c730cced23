"""Draw how well scores and probabilities of links are calibrated: reliability, and risk against coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..metrics.calibration import wilson_interval
from .figures import counted, curve_style, in_style, legend_above, new_figure, shares_from_0_to_1

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WHEN = ("before", "after")


class Measured(NamedTuple):
    """What is drawn of links that were measured before or after calibration.

    Attributes:
        links: The number of links.
        reliability: The bins from `metrics.calibration.reliability`.
        risk_coverage: The points from `metrics.calibration.risk_points`.
        threshold: The threshold of the scores.
        probability: The probability at the threshold; the threshold itself if scores serve as probabilities.
        coverage: The share of the links above the threshold, from 0 to 1.
        risk: The share of them that is wrong, from 0 to 1. None if there are none.
    """

    links: int
    reliability: Sequence[Mapping[str, Any]]
    risk_coverage: Sequence[Mapping[str, float]]
    threshold: float
    probability: float
    coverage: float
    risk: float | None


def measured_in(result: Mapping[str, Any]) -> dict[str, Measured]:
    """Return what is drawn of a report from `evaluation.calibrate`: the links `before` and `after` it."""
    return {when: _measured(result[when], result["threshold"][when]) for when in WHEN}


def _measured(one: Mapping[str, Any], threshold: float) -> Measured:
    return Measured(
        one["links"],
        one["reliability"],
        one["risk_coverage"],
        threshold,
        one["threshold_probability"],
        one["coverage"] / 100,
        None if one["p"] is None else 1 - one["p"] / 100,
    )


@in_style()
def draw_reliability(curves: Mapping[str, Measured]) -> Figure:
    """Draw how many links of each probability are right. A calibrated probability lies on the diagonal.

    A bar at each point is its 95 % interval, see `wilson_interval`. A vertical line marks the threshold. The panel
    below shows the number of links in each bin.

    Args:
        curves: The measured links, by label.

    Raises:
        SapbertError: E542 matplotlib is not installed.
    """
    figure = new_figure(6, 7.5)
    panel, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    panel.plot([0, 1], [0, 1], color="gray", linewidth=1, label="calibrated")
    for number, (label, measured) in enumerate(curves.items()):
        style = curve_style(number)
        x, right, n = (np.array([row[key] for row in measured.reliability]) for key in ("mean", "right", "n"))
        panel.plot(x, right, label=f"{label}: {counted(measured.links, 'link')}", **style)
        _intervals(panel, x, right, n, style)
        _threshold_line(panel, below, label, measured, style)
        below.vlines(x, 0, n, color=style["color"], linewidth=style["linewidth"], zorder=style["zorder"])
        below.plot(x, n, **{**style, "linestyle": ""})
    shares_from_0_to_1(panel)
    panel.set(ylabel="share right, with 95 % interval")
    below.set(xlabel="mean probability of the bin", ylabel="links in the bin")
    below.set_ylim(bottom=0)
    below.margins(y=0.15)
    below.yaxis.set_major_formatter("{x:,.0f}")
    legend_above(figure, panel, columns=1)
    return figure


def _intervals(panel: Axes, x: np.ndarray, right: np.ndarray, n: np.ndarray, style: Mapping[str, Any]) -> None:
    low, high = wilson_interval(right, n)
    looks = {"color": style["color"], "zorder": style["zorder"], "elinewidth": 1.2, "capsize": 3, "clip_on": False}
    panel.errorbar(x, right, yerr=np.clip([right - low, high - right], 0, 1), fmt="none", **looks)


def _threshold_line(panel: Axes, below: Axes, label: str, measured: Measured, style: Mapping[str, Any]) -> None:
    """Mark the threshold in both panels. Its score differs from its probability once these are fitted."""
    at, score = f"{measured.probability:.3f}", f"{measured.threshold:.3f}"
    name = f"threshold {label}: {at}" + ("" if at == score else f" (score {score})")
    looks = {key: style[key] for key in ("color", "linestyle")}
    panel.axvline(measured.probability, linewidth=1.2, label=name, **looks)
    below.axvline(measured.probability, linewidth=1.2, **looks)


@in_style()
def draw_risk_coverage(curves: Mapping[str, Measured]) -> Figure:
    """Draw the share of wrong links if only the links with the highest scores are kept.

    A large marker shows how many links the threshold keeps. A threshold that keeps no link is not drawn.

    Args:
        curves: The measured links, by label.

    Raises:
        SapbertError: E542 matplotlib is not installed.
    """
    figure = new_figure(7, 5)
    panel = figure.subplots()
    for number, (label, measured) in enumerate(curves.items()):
        style = {**curve_style(number), "marker": ""}
        points = {point["coverage"]: point["risk"] for point in measured.risk_coverage}
        if measured.risk is not None:
            points[measured.coverage] = measured.risk
        panel.plot(
            *zip(*sorted(points.items()), strict=True), label=f"{label}: {counted(measured.links, 'link')}", **style
        )
        if measured.risk is not None:
            _threshold_point(panel, label, measured, measured.risk, curve_style(number))
    shares_from_0_to_1(panel, "x")
    panel.set(xlabel="coverage: share of the links that are kept", ylabel="risk: share of them that are wrong")
    panel.set_ylim(bottom=0)
    legend_above(figure, panel, columns=1)
    return figure


def _threshold_point(panel: Axes, label: str, measured: Measured, risk: float, style: Mapping[str, Any]) -> None:
    name = f"threshold {label}: score {measured.threshold:.3f}, coverage {measured.coverage:.3f}, risk {risk:.3f}"
    looks = {**style, "linestyle": "", "markersize": 10, "markerfacecolor": "white", "markeredgewidth": 2, "zorder": 4}
    panel.plot([measured.coverage], [risk], label=name, **looks)
