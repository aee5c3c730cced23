"""Define `spacy-sapbert evaluate separation`, which measures how well encoders separate synonyms from other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..encoders.encoder import Encoder, open_encoder
from ..errors import OptionError
from ..evaluation.separation import cosines_of_pairs, evaluate_separation, read_name_pairs
from ..files.console import results_to, table_of_numbers
from ..metrics.separation import Separation, as_measures
from .inputs import Output

_CLUSTERS = 10  # colors that an eye can tell apart


def separation(
    encoder: Annotated[str, typer.Argument(help="Encoder: 'starter', a folder or a hub name.")],
    pairs: Annotated[Path, typer.Argument(help="Pairs of synonyms, id||name||name, such as eval.txt from `pairs`.")],
    output: Output = None,
    others: Annotated[list[str] | None, typer.Option("--and", help="Another encoder to measure. Repeatable.")] = None,
    plots: Annotated[
        Path | None,
        typer.Option(
            help="Folder for plots, as .svg and .png, also of plot.txt and train.txt in the folder of the pairs."
        ),
    ] = None,
) -> None:
    """Measure how well an encoder separates synonyms from names of different concepts.

    Cosines range from -1 to 1. Overlap, AUC and the equal error rate are percentages.
    With --and, the JSON shows the first encoder at the top level, and all encoders under `encoders`.
    The plots are a histogram, a heat map of the pairs in plot.txt, and the largest concepts of train.txt.
    """
    with results_to(output, [pairs]) as show:
        read = read_name_pairs(pairs)
        draw = _pictures(plots, pairs) if plots else None
        encoders = _open([encoder, *(others or [])])
        separations = {label: evaluate_separation(opened, read) for label, opened in encoders.items()}
        if draw:
            draw(encoders, separations)
        measures = {label: as_measures(separation) for label, separation in separations.items()}
        first = {**next(iter(measures.values())), "same_name": read.same_name}
        show(_table(measures), {**first, "encoders": measures} if others else first)


def _open(names: Sequence[str]) -> dict[str, Encoder]:
    """Open the encoders, by name."""
    encoders = {}
    for name in names:
        opened = open_encoder(name)
        if opened is None:
            remedy = "Give 'starter', a folder or a hub name."
            raise OptionError(remedy, option=f"The encoder {name!r}", reason="it has no vectors")
        encoders[name] = opened
    return encoders


def _pictures(folder: Path, pairs: Path) -> Callable[[Mapping[str, Encoder], Mapping[str, Separation]], None]:
    """Return a function that draws all pictures. Errors are raised now, before the encoders run."""
    from ..evaluation import plots
    from ..evaluation.plots import prepare_folder, save_both

    prepare_folder(folder)
    heat, clusters = pairs.with_name("plot.txt"), pairs.with_name("train.txt")
    few = read_name_pairs(heat) if heat.is_file() else None
    if few:
        plots.check_heat_map(few, heat)
    names = plots.names_of_largest_concepts(read_name_pairs(clusters), _CLUSTERS) if clusters.is_file() else None

    def draw(encoders: Mapping[str, Encoder], separations: Mapping[str, Separation]) -> None:
        save_both(plots.draw_histograms(separations), folder / "separation")
        if few:
            cosines = {label: cosines_of_pairs(encoder, few) for label, encoder in encoders.items()}
            save_both(plots.draw_heat_maps(few, cosines), folder / "heat_map")
        if names:
            texts = [name for some in names.values() for name in some]
            vectors = {label: encoder.encode(texts) for label, encoder in encoders.items()}
            save_both(plots.draw_clusters(names, vectors), folder / "clusters")

    return draw


def _table(measures: Mapping[str, Mapping[str, Any]]) -> Table:
    rows: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "synonyms": lambda row: f"{row['positive']['mean']:.3f} ± {row['positive']['sd']:.3f}",
        "different concepts": lambda row: f"{row['negative']['mean']:.3f} ± {row['negative']['sd']:.3f}",
        "difference": lambda row: f"{row['difference']:.3f}",
        "overlap": lambda row: f"{row['overlap']:.1f} %",
        "AUC": lambda row: f"{row['auc']:.2f} %",
        "threshold of equal error rate": lambda row: f"{row['threshold_eer']:.3f}",
        "equal error rate": lambda row: f"{row['eer']:.2f} %",
    }
    table = table_of_numbers("cosine", *measures)
    for name, cell in rows.items():
        table.add_row(name, *map(cell, measures.values()))
    positive, negative = (next(iter(measures.values()))[kind]["n"] for kind in ("positive", "negative"))
    table.caption = f"{positive:,} pairs of synonyms, {negative:,} of names of different concepts"
    return table
