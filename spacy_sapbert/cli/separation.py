"""`spacy-sapbert evaluate separation`: how far encoders hold synonyms and names of different concepts apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..errors import Errors, SapbertError
from .progress import show, table_of_numbers

if TYPE_CHECKING:
    from ..encoders.transformer import TransformerEncoder
    from ..evaluation.separation import Separation


def separation(
    encoder: Annotated[str, typer.Argument(help="'starter', a folder or a hub name.")],
    pairs: Annotated[Path, typer.Argument(help="Pairs of synonyms, id||name||name, e.g. eval.txt of `pairs`.")],
    others: Annotated[
        list[str] | None, typer.Option("--and", help="Another encoder to measure; can be given several times.")
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", help="What to call the encoders, once for each, in their order.")
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="A folder for pictures, each as .svg and .png.")] = None,
    heat: Annotated[
        Path | None,
        typer.Option(help="With --plots: draw the cosines of these few pairs, e.g. plot.txt of `pairs`."),
    ] = None,
    clusters: Annotated[
        Path | None, typer.Option(help="With --plots: draw the names in these pairs, e.g. train.txt of `pairs`.")
    ] = None,
    n_clusters: Annotated[
        int,
        typer.Option(min=2, max=20, help="How many concepts --clusters draws: those with most names."),
    ] = 10,
) -> None:
    """How far the cosines of synonyms and of names of different concepts lie apart.

    Cosines are from -1 to 1; overlap, AUC and the rate of equal errors are in percent.
    With --and, the keys of the output are those of the first encoder, and `encoders` has all of them.
    """
    from ..evaluation.separation import as_measures, evaluate_separation, read_name_pairs

    if (heat or clusters) and not plots:
        raise SapbertError(Errors.E533.format(reason="--heat and --clusters need --plots"))
    read = read_name_pairs(pairs)
    draw = _pictures(plots, heat, clusters, n_clusters) if plots else None
    encoders = _open([encoder, *(others or [])], labels)
    separations = {label: evaluate_separation(one, read) for label, one in encoders.items()}
    if draw:
        draw(encoders, separations)
    measures = {label: as_measures(one) for label, one in separations.items()}
    first = {**next(iter(measures.values())), "same_name": read.same_name}
    show(_table(measures), {**first, "encoders": measures} if others else first)


def _open(names: Sequence[str], labels: Sequence[str] | None) -> dict[str, TransformerEncoder]:
    """RETURNS (dict[str, TransformerEncoder]): by what each is called.

    RAISES (SapbertError): E519 two are called the same, or one has no label, E547 there is no such encoder.
    """
    from ..encoders.transformer import open_encoder

    labels = labels or names
    if len(set(labels)) != len(names) or len(labels) != len(names):
        raise SapbertError(Errors.E519.format(labels=", ".join(labels)))
    encoders = {label: open_encoder(name) for label, name in zip(labels, names, strict=True)}
    found = {label: encoder for label, encoder in encoders.items() if encoder}
    if len(found) < len(encoders):
        raise SapbertError(Errors.E547)
    return found


def _pictures(
    folder: Path, heat: Path | None, clusters: Path | None, n_clusters: int
) -> Callable[[Mapping[str, TransformerEncoder], Mapping[str, Separation]], None]:
    """RETURNS: draws all pictures; what would hinder that is told before encoders are asked.

    RAISES (SapbertError): E507 the folder cannot be made, E542 matplotlib is not installed, E546 too many pairs for a
        heat map, and what `read_name_pairs` raises.
    """
    from ..evaluation import separation_plots
    from ..evaluation.plots import check_matplotlib
    from ..evaluation.separation import cosines_of_pairs, read_name_pairs

    check_matplotlib()
    few = read_name_pairs(heat) if heat else None
    names = separation_plots.names_of_largest_concepts(read_name_pairs(clusters), n_clusters) if clusters else None
    if few:
        separation_plots.check_heat_map(few)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=folder, reason=error.strerror)) from error

    def draw(encoders: Mapping[str, TransformerEncoder], separations: Mapping[str, Separation]) -> None:
        separation_plots.plot_histograms(separations, folder)
        if few:
            cosines = {label: cosines_of_pairs(encoder, few) for label, encoder in encoders.items()}
            separation_plots.plot_heat_maps(few, cosines, folder)
        if names:
            texts = [name for some in names.values() for name in some]
            vectors = {label: encoder.encode(texts) for label, encoder in encoders.items()}
            separation_plots.plot_clusters(names, vectors, folder)

    return draw


def _table(measures: Mapping[str, Mapping[str, Any]]) -> Table:
    rows: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "synonyms": lambda row: f"{row['positive']['mean']:.3f} ± {row['positive']['sd']:.3f}",
        "different concepts": lambda row: f"{row['negative']['mean']:.3f} ± {row['negative']['sd']:.3f}",
        "difference": lambda row: f"{row['difference']:.3f}",
        "overlap": lambda row: f"{row['overlap']:.1f} %",
        "AUC": lambda row: f"{row['auc']:.2f} %",
        "threshold of equal errors": lambda row: f"{row['threshold_eer']:.3f}",
        "errors there": lambda row: f"{row['eer']:.2f} %",
    }
    table = table_of_numbers("cosine", *measures)
    for name, cell in rows.items():
        table.add_row(name, *map(cell, measures.values()))
    positive, negative = (next(iter(measures.values()))[kind]["n"] for kind in ("positive", "negative"))
    table.caption = f"{positive:,} pairs of synonyms, {negative:,} of names of different concepts"
    return table
