"""Define `spacy-sapbert pairs`, which writes pairs of names to train an encoder on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..documents.reader import read_corpus
from ..files.console import show_values, stderr_console, track
from ..files.output import open_output
from ..training.settings import PairSettings
from .configs import OptionalConfig, resolve

if TYPE_CHECKING:
    from ..training.pair_files import Pair, SharedName
    from ..training.settings import PairSelection


def pairs(
    ctx: typer.Context,
    kb: Annotated[str, typer.Argument(help="Knowledge base file, or 'starter'.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write, gzipped if its name ends in .gz. With eval_pairs: a folder."
        ),
    ],
    config: OptionalConfig = None,
) -> None:
    """Write pairs of synonyms to train an encoder on.

    Each line is `id||name||name`.
    To override a setting of the config, give it as --pairs.max_pairs 10.
    With eval_pairs, the output is a folder with train.txt, eval.txt and plot.txt.
    A second file, such as pairs.shared.txt, lists the names that several concepts share: `name||id||id…`.
    Training does not use these names as negatives of each other.
    With mentions, each mention is paired with names of its concept, and is the first name of the pair.
    """
    from ..kb.storage import load_knowledge_base
    from ..training.pairs import (
        MENTION_COUNTS,
        SYNONYM_COUNTS,
        gold_mentions,
        mention_pairs,
        shared_names,
        synonym_pairs,
    )

    _, settings = resolve(ctx, config, "pairs", PairSettings)
    chosen = settings.chosen()
    opened = load_knowledge_base(kb)
    counts: Counter[str] = Counter()
    names: tuple[str, ...]
    if settings.mentions is None:
        names, gold = SYNONYM_COUNTS, []
        drawn = synonym_pairs(opened, chosen, counts, seed=settings.seed)
    else:
        documents = track(read_corpus(Path(settings.mentions), settings.mentions_format), stderr_console())
        names, gold = MENTION_COUNTS, gold_mentions(opened, documents, counts, settings.types)
        drawn = mention_pairs(opened, gold, counts, max_pairs=chosen.max_pairs, seed=settings.seed)
    written = _write(drawn, shared_names(opened, gold), _paths(output, chosen))
    show_values({**{name: counts[name] for name in names}, **written})


def _paths(output: Path, chosen: PairSelection) -> dict[str, Path]:
    """Return the files to write, by their contents."""
    from ..training.pair_files import shared_names_path

    paths = {"train": output}
    if chosen.eval_pairs:
        parts = ("train", "eval", "plot") if chosen.plot_pairs else ("train", "eval")
        paths = {part: output / f"{part}.txt" for part in parts}
        output.mkdir(parents=True, exist_ok=True)
    return {**paths, "shared": shared_names_path(paths["train"])}


def _write(
    drawn: Iterable[tuple[str, Pair]], shared: Iterable[SharedName], paths: Mapping[str, Path]
) -> dict[str, int]:
    """Write all files. They appear when the last of them is complete.

    Returns:
        The number of lines of each file, by the name in the result of the command.
    """
    from ..training.pair_files import pair_line

    written = dict.fromkeys(paths, 0)
    with ExitStack() as stack:
        write = {part: stack.enter_context(open_output(path)) for part, path in paths.items()}
        for part, pair in track(drawn, stderr_console(), "pairs"):
            write[part](pair_line(*pair))
            written[part] += 1
        for name, concept_ids in track(shared, stderr_console(), "shared names"):
            write["shared"](pair_line(name, *concept_ids))
            written["shared"] += 1
    return {"shared_names" if part == "shared" else f"{part}_pairs": number for part, number in written.items()}
