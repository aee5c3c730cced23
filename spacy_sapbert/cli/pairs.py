"""Define `spacy-sapbert pairs`, which writes pairs of names to train an encoder on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..documents.reader import FORMATS, read_corpus
from ..errors import Errors, SapbertError
from ..files.console import show_values, stderr_console, track
from ..files.output import open_output

if TYPE_CHECKING:
    from ..training.pair_files import Pair, SharedName
    from ..training.pairs import PairSelection


class SelectionName(str, Enum):
    """The names of `spacy_sapbert.training.pairs.SELECTIONS`, which is imported only when needed."""

    all = "all"
    kg_aligned = "kg-aligned"


def pairs(
    kb: Annotated[str, typer.Argument(help="Knowledge base file, or 'starter'.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write, gzipped if its name ends in .gz. With --eval-pairs: a folder."
        ),
    ],
    selection: Annotated[
        SelectionName,
        typer.Option(help="all: pairs of all concepts. kg-aligned: 3 to 5 pairs of 5,000 concepts, 100 set aside."),
    ] = SelectionName.all,
    max_pairs: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of pairs per concept or mention. Default: 50.")
    ] = None,
    min_pairs: Annotated[
        int | None, typer.Option(min=1, help="Draw a random number of pairs per concept, from this one to --max-pairs.")
    ] = None,
    min_names: Annotated[
        int | None, typer.Option(min=2, help="Use only concepts with at least this many names.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Leave out names with more characters. Default: no limit.")
    ] = None,
    concepts: Annotated[int | None, typer.Option(min=1, help="Number of concepts to draw. Default: all.")] = None,
    eval_pairs: Annotated[int | None, typer.Option(min=0, help="Number of pairs to set aside for evaluation.")] = None,
    plot_pairs: Annotated[int | None, typer.Option(min=0, help="Number of these pairs to copy for a heat map.")] = None,
    mentions: Annotated[
        Path | None,
        typer.Option(help="Corpus whose mentions are paired with names of their concepts, instead of synonyms."),
    ] = None,
    mentions_format: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(FORMATS)}. Default: guessed from the file.")
    ] = None,
    mentions_type: Annotated[list[str] | None, typer.Option(help="Use only mentions of this type. Repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Seed for drawing pairs.")] = 0,
) -> None:
    """Write pairs of synonyms to train an encoder on.

    Each line is `id||name||name`.
    With --eval-pairs, the output is a folder with train.txt, eval.txt and plot.txt.
    A second file, such as pairs.shared.txt, lists the names that several concepts share: `name||id||id…`.
    Training does not use these names as negatives of each other.
    With --mentions, each mention is paired with names of its concept, and is the first name of the pair.
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

    numbers = {
        "max_pairs": max_pairs,
        "min_pairs": min_pairs,
        "min_names": min_names,
        "max_length": max_length,
        "concepts": concepts,
        "eval_pairs": eval_pairs,
        "plot_pairs": plot_pairs,
    }
    chosen = _selection(selection.value, numbers)
    _check_options(chosen, mentions, has_mention_settings=bool(mentions_format or mentions_type))
    opened = load_knowledge_base(kb)
    counts: Counter[str] = Counter()
    wanted: tuple[str, ...]
    if mentions is None:
        wanted, gold = SYNONYM_COUNTS, []
        drawn = synonym_pairs(opened, chosen, counts, seed=seed)
    else:
        documents = track(read_corpus(mentions, mentions_format), stderr_console())
        wanted, gold = MENTION_COUNTS, gold_mentions(opened, documents, counts, mentions_type or ())
        drawn = mention_pairs(opened, gold, counts, max_pairs=chosen.max_pairs, seed=seed)
    written = _write(drawn, shared_names(opened, gold), _paths(output, chosen))
    result = {**{name: counts[name] for name in wanted}, **written}
    show_values(result)


def _selection(name: str, numbers: Mapping[str, int | None]) -> PairSelection:
    """Return the selection with this name, with the given numbers instead of its own."""
    from ..training.pairs import SELECTIONS

    return SELECTIONS[name]._replace(**{field: number for field, number in numbers.items() if number is not None})


def _check_options(chosen: PairSelection, mentions: Path | None, *, has_mention_settings: bool) -> None:
    """Check that the options fit together.

    Args:
        has_mention_settings: Whether there are settings for mentions.

    Raises:
        SapbertError: E533 the options do not fit together.
    """
    reasons = {
        "--min-pairs is above --max-pairs": (chosen.min_pairs or 0) > chosen.max_pairs,
        "--plot-pairs is above --eval-pairs": chosen.plot_pairs > chosen.eval_pairs,
        "of the settings for pairs, --mentions uses only --max-pairs": bool(mentions)
        and chosen != type(chosen)(max_pairs=chosen.max_pairs),
        "--mentions-format and --mentions-type need --mentions": has_mention_settings and not mentions,
    }
    for reason, holds in reasons.items():
        if holds:
            raise SapbertError(Errors.E533.format(reason=reason))


def _paths(output: Path, chosen: PairSelection) -> dict[str, Path]:
    """Return the files to write, by their contents."""
    from ..training.pair_files import shared_names_path

    paths = {"train": output}
    if chosen.eval_pairs:
        parts = ("train", "eval", "plot") if chosen.plot_pairs else ("train", "eval")
        paths = {part: output / f"{part}.txt" for part in parts}
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SapbertError(Errors.E507.format(path=output, reason=error.strerror)) from error
    return {**paths, "shared": shared_names_path(paths["train"])}


def _write(
    drawn: Iterable[tuple[str, Pair]], shared: Iterable[SharedName], paths: Mapping[str, Path]
) -> dict[str, int]:
    """Write all files. They appear when the last of them is complete.

    Returns:
        The number of lines of each file, by the name in the result of the command.
    """
    from ..training.pair_files import as_line

    written = dict.fromkeys(paths, 0)
    with ExitStack() as stack:
        write = {part: stack.enter_context(open_output(path)) for part, path in paths.items()}
        for part, pair in track(drawn, stderr_console(), "pairs"):
            write[part](as_line(*pair))
            written[part] += 1
        for name, concept_ids in track(shared, stderr_console(), "shared names"):
            write["shared"](as_line(name, *concept_ids))
            written["shared"] += 1
    return {"shared_names" if part == "shared" else f"{part}_pairs": number for part, number in written.items()}
