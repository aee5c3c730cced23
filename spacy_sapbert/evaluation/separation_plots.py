"""Plot how well encoders separate synonyms from other names: histograms, heat maps and clusters, as SVG and PNG.

Every picture has one panel per encoder, for example to compare an encoder before and after training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors, SapbertError
from ..metrics.separation import Separation, equal_error, histograms
from .plots import save_figure
from .separation import NamePairs

MOST_PAIRS_OF_A_HEAT_MAP = 40
_CHARACTERS = 30
_PERPLEXITY = 30  # scikit-learn's default


def plot_histograms(separations: Mapping[str, Separation], folder: Path) -> None:
    """Draw the distributions of cosines of synonyms and of names of different concepts, as `separation.svg` and `.png`.

    A dashed line shows the threshold of equal error rates.

    Args:
        separations: The separations, by the label of the encoder.
        folder: The folder to write to.

    Raises:
        SapbertError: E507 a file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1 + 2 * len(separations)), layout="constrained")
    panels = figure.subplots(len(separations), 1, sharex=True, squeeze=False)[:, 0]
    lowest = 0.0
    for panel, (label, separation) in zip(panels, separations.items(), strict=True):
        bounds, positives, negatives = histograms(separation)
        lowest = min(lowest, bounds[np.flatnonzero(positives + negatives)[0]])
        panel.stairs(100 * negatives, bounds, fill=True, alpha=0.5, color="tab:orange", label="different concepts")
        panel.stairs(100 * positives, bounds, fill=True, alpha=0.5, color="tab:blue", label="synonyms")
        panel.axvline(equal_error(separation)[0], color="gray", linestyle="--")
        panel.set(title=label, ylabel="% of the pairs")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    panels[-1].set_xlabel("cosine")
    panels[-1].set_xlim(lowest, 1)
    _save_both(figure, folder / "separation")


def check_heat_map(pairs: NamePairs) -> None:
    """Check that there are few enough pairs for a heat map.

    Raises:
        SapbertError: E546 there are too many pairs.
    """
    if len(pairs.left) > MOST_PAIRS_OF_A_HEAT_MAP:
        raise SapbertError(Errors.E546.format(pairs=len(pairs.left), most=MOST_PAIRS_OF_A_HEAT_MAP))


def plot_heat_maps(pairs: NamePairs, cosines: Mapping[str, np.ndarray], folder: Path) -> None:
    """Draw the cosines of all left names with all right names of a few pairs, as `heat_map.svg` and `.png`.

    Synonyms are on the diagonal.

    Args:
        pairs: The pairs to draw.
        cosines: Cosines by the label of the encoder, float32, shape (n, n); one row per left name.
        folder: The folder to write to.

    Raises:
        SapbertError: E507 a file cannot be written.
    """
    from matplotlib.figure import Figure

    n, places = len(cosines), range(len(pairs.left))
    side = 1.5 + 0.3 * len(pairs.left)
    figure = Figure(figsize=(3 + n * side, 2 + side), layout="constrained")
    panels = figure.subplots(1, n, sharey=True, squeeze=False)[0]
    least = min(0.0, *(float(values.min()) for values in cosines.values()))
    for panel, (label, values) in zip(panels, cosines.items(), strict=True):
        image = panel.imshow(values, vmin=least, vmax=1, cmap="viridis")
        panel.set_title(label)
        panel.set_xticks(places, labels=list(map(_short, pairs.right)), rotation=45, ha="right", rotation_mode="anchor")
    panels[0].set_yticks(places, labels=list(map(_short, pairs.left)))
    figure.colorbar(image, ax=list(panels), label="cosine", shrink=0.7)
    _save_both(figure, folder / "heat_map")


def names_of_largest_concepts(pairs: NamePairs, n: int) -> dict[str, list[str]]:
    """Return the names of the n concepts with the most names in the pairs, largest first.

    Among equal concepts, the first in the file wins.
    """
    names: dict[str, dict[str, None]] = {}
    for concept_id, *both in zip(pairs.concept_ids, pairs.left, pairs.right, strict=True):
        names.setdefault(concept_id, {}).update(dict.fromkeys(both))
    largest = Counter({concept_id: len(some) for concept_id, some in names.items()}).most_common(n)
    return {concept_id: list(names[concept_id]) for concept_id, _ in largest}


def plot_clusters(names: Mapping[str, Sequence[str]], vectors: Mapping[str, np.ndarray], folder: Path) -> None:
    """Draw the names of some concepts in two dimensions, with one color per concept, as `clusters.svg` and `.png`.

    t-SNE (van der Maaten and Hinton 2008) draws similar names close together, as in figure 1 of SapBERT (Liu et al.
    2021). The distances between clusters mean little.

    Args:
        names: The names of two or more concepts, by id.
        vectors: Vectors by the label of the encoder, float32, one row per name.
        folder: The folder to write to.

    Raises:
        SapbertError: E507 a file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 + 5 * len(vectors), 5), layout="constrained")
    panels = figure.subplots(1, len(vectors), squeeze=False)[0]
    ends = np.cumsum([len(some) for some in names.values()])
    for panel, (label, matrix) in zip(panels, vectors.items(), strict=True):
        for number, (some, points) in enumerate(zip(names.values(), np.split(_flat(matrix), ends[:-1]), strict=True)):
            marker = "o^sv"[number // 10 % 4]  # there are only ten colors
            panel.scatter(*points.T, s=20, color=f"C{number}", marker=marker, label=_short(some[0]))
        panel.set(title=label, xticks=[], yticks=[])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    _save_both(figure, folder / "clusters")


def _flat(vectors: np.ndarray) -> np.ndarray:
    """Return points in the plane, float32, shape (n, 2); the same vectors give the same points."""
    from sklearn.manifold import TSNE

    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)  # t-SNE uses three times as many neighbors
    flat: np.ndarray = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=0).fit_transform(vectors)
    return flat


def _short(name: str) -> str:
    return name if len(name) <= _CHARACTERS else name[: _CHARACTERS - 1] + "…"


def _save_both(figure: Any, path: Path) -> None:
    for ending in (".svg", ".png"):
        save_figure(figure, path.with_suffix(ending))
