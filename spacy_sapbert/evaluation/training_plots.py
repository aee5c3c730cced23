"""Draw training runs: the learning curve of an encoder, and the scores of a linker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .figures import BLUE, counted, curve_style, in_style, legend_above, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 200
TICKS = 20
LINKING_SCORES = {"link_acc": "accuracy", "link_strict": "strict accuracy", "link_recall": "candidate recall@20"}


@in_style()
def draw_learning_curve(lines: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw a training run: the loss and the mined pairs per step, and the results of evaluations.

    Args:
        lines: The lines of the run's log. A line with a loss is a step, and any other line is an evaluation.

    Raises:
        SapbertError: E542 matplotlib is not installed.
    """
    steps = [line for line in lines if "loss" in line]
    evaluations = [line for line in lines if "loss" not in line]
    measures = [name for name in (evaluations[0] if evaluations else {}) if name != "step"]
    figure = new_figure(7, 6 if measures else 4)
    panels = figure.subplots(3 if measures else 2, 1, sharex=True)
    for panel, key, label in zip(panels, ("loss", "mined_pairs"), ("loss", "mined pairs"), strict=False):
        panel.plot(*_means(steps, key), color=BLUE, marker="o" if len(steps) == 1 else "")
        panel.set_ylabel(label)
    for number, name in enumerate(measures):
        values = [line[name] for line in evaluations]
        panels[-1].plot([line["step"] for line in evaluations], values, label=name, **curve_style(number))
    if measures:
        panels[-1].set_ylabel("%")
    panels[0].set_title(_counts(len(steps), len(evaluations)), loc="left")
    panels[-1].set_xlabel("step")
    legend_above(figure, panels[-1], columns=3)
    return figure


def _counts(steps: int, evaluations: int) -> str:
    """Describe how many steps and evaluations a picture shows."""
    per_point = -(-steps // POINTS)
    means = f", mean of up to {per_point:,} at each point" if per_point > 1 else ""
    return f"{counted(steps, 'step')}{means}; {counted(evaluations, 'evaluation')}"


def _means(steps: Sequence[Mapping[str, Any]], key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return steps and values, averaged to at most `POINTS` points."""
    values = np.array([[line["step"], line[key]] for line in steps], dtype=float).reshape(-1, 2)
    parts = np.array_split(values, min(POINTS, max(1, len(values))))
    return tuple(np.array([part.mean(0) for part in parts if len(part)]).reshape(-1, 2).T)


@in_style()
def draw_linking_scores(lines: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the training of a linker: accuracy and candidate recall at each evaluation, by epoch.

    Args:
        lines: The lines of a log, see `read_candidate_log`.

    Raises:
        SapbertError: E542 matplotlib is not installed.
    """
    figure = new_figure(7, 4)
    panel = figure.subplots()
    steps = [line["step"] for line in lines]
    for number, (name, label) in enumerate(LINKING_SCORES.items()):
        values = np.array([line[name] for line in lines], dtype=float)  # None becomes nan, which is not drawn
        panel.plot(steps, 100 * values, label=label, **curve_style(number))
    firsts = list({line["epoch"]: line["step"] for line in reversed(lines)}.items())[::-1]
    firsts = firsts[:: -(-len(firsts) // TICKS)]
    panel.set_xticks([step for _, step in firsts], labels=[str(epoch) for epoch, _ in firsts])
    panel.set(xlabel="epoch", ylabel="%")
    panel.set_title(counted(len(lines), "evaluation"), loc="left")
    legend_above(figure, panel, columns=3)
    return figure
