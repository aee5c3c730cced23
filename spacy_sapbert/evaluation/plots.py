"""Plot learning curves, reliability and risk against coverage, as SVG, PNG or PDF by the file name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors, SapbertError
from ..files import replacing

POINTS = 200
TICKS = 20
ENDINGS = (".svg", ".png", ".pdf")
LINKING_SCORES = {"link_acc": "accuracy", "link_strict": "strict accuracy", "link_recall": "candidate recall@20"}


def plot_learning_curve(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw a training run: the loss and the mined pairs per step, and the results of evaluations.

    Args:
        lines: The lines of the run's log. A line with a loss is a step, and any other line is an evaluation.
        path: The file to write.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    from matplotlib.figure import Figure  # not pyplot, which looks for a window system

    steps = [line for line in lines if "loss" in line]
    evaluations = [line for line in lines if "loss" not in line]
    measures = [name for name in (evaluations[0] if evaluations else {}) if name != "step"]
    figure = Figure(figsize=(7, 5 if measures else 4), layout="constrained")
    panels = figure.subplots(3 if measures else 2, 1, sharex=True)
    for panel, key, label in zip(panels, ("loss", "mined_pairs"), ("loss", "mined pairs"), strict=False):
        panel.plot(*_means(steps, key), color="tab:blue")
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
    for name in measures:
        panels[-1].plot([line["step"] for line in evaluations], [line[name] for line in evaluations], "o-", label=name)
    if measures:
        panels[-1].set_ylabel("%")
        panels[-1].legend()
        panels[-1].grid(alpha=0.3)
    panels[-1].set_xlabel("step")
    save_figure(figure, path)


def plot_reliability(tables: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Draw how many links of each probability are right. A calibrated probability lies on the diagonal.

    Args:
        tables: The tables from `metrics.calibration.reliability`, by label.
        path: The file to write.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    panel = figure.subplots()
    panel.plot([0, 1], [0, 1], color="gray", linestyle="--")
    for label, table in tables.items():
        panel.plot([row["mean"] for row in table], [row["right"] for row in table], "o-", label=label)
    panel.set(xlabel="mean probability", ylabel="share right", xlim=(0, 1), ylim=(0, 1))
    panel.legend()
    panel.grid(alpha=0.3)
    save_figure(figure, path)


def plot_risk_coverage(curves: Mapping[str, Sequence[Mapping[str, float]]], path: Path) -> None:
    """Draw the share of wrong links if only the links with the highest scores are kept.

    Args:
        curves: The points from `metrics.calibration.risk_points`, by label.
        path: The file to write.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    panel = figure.subplots()
    for label, points in curves.items():
        panel.plot([point["coverage"] for point in points], [point["risk"] for point in points], label=label)
    panel.set(xlabel="coverage", ylabel="risk", xlim=(0, 1))
    panel.set_ylim(bottom=0)
    panel.legend()
    panel.grid(alpha=0.3)
    save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> None:
    """Write a matplotlib figure in the format of its file name. The same figure gives the same file.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    from matplotlib import rc_context

    kind = path.suffix[1:].lower()
    metadata = {"Date": None} if kind == "svg" else {}
    with replacing(path) as temporary, rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, format=kind, metadata=metadata)


def check_matplotlib() -> None:
    """Check before long work that matplotlib is installed.

    Raises:
        SapbertError: E542 matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise SapbertError(Errors.E542.format(module=error.name, extra="plots")) from error


def plot_linking_scores(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the training of a linker: accuracy and candidate recall at each evaluation, by epoch.

    Args:
        lines: The lines of a log, see `read_candidate_log`.
        path: The file to write.

    Raises:
        SapbertError: E507 the file cannot be written. E523 the file name has no format of a picture. E542 matplotlib is
            not installed.
    """
    if path.suffix.lower() not in ENDINGS:
        raise SapbertError(Errors.E523.format(path=path, endings=", ".join(ENDINGS)))
    check_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    panel = figure.subplots()
    steps = [line["step"] for line in lines]
    for name, label in LINKING_SCORES.items():
        values = np.array([line[name] for line in lines], dtype=float)  # None becomes nan, which is not drawn
        panel.plot(steps, 100 * values, "o-", label=label)
    firsts = list({line["epoch"]: line["step"] for line in reversed(lines)}.items())[::-1]
    firsts = firsts[:: -(-len(firsts) // TICKS)]
    panel.set_xticks([step for _, step in firsts], labels=[str(epoch) for epoch, _ in firsts])
    panel.set_xlabel("epoch")
    panel.set_ylabel("%")
    panel.legend()
    panel.grid(alpha=0.3)
    save_figure(figure, path)


def _means(steps: Sequence[Mapping[str, Any]], key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return steps and values, averaged to at most `POINTS` points."""
    values = np.array([[line["step"], line[key]] for line in steps], dtype=float).reshape(-1, 2)
    parts = np.array_split(values, min(POINTS, max(1, len(values))))
    return tuple(np.array([part.mean(0) for part in parts if len(part)]).reshape(-1, 2).T)
