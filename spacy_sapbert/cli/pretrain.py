"""Define `spacy-sapbert pairs`, `mine` and `pretrain`: what an encoder is trained on, and its training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from ..documents.reader import read_corpus
from ..errors import Errors, SapbertError
from ..files.console import progress_callback, show, stderr_console, track
from ..files.output import open_output
from ..kb.storage import load_knowledge_base
from ..training.hard_negatives import MINED_COUNTS, PAIRS_AT_ONCE, HardNegatives
from ..training.pair_files import (
    HEADINGS,
    Pair,
    SharedName,
    pair_line,
    read_pairs,
    read_shared_names,
    shared_names_path,
    triple_line,
)
from ..training.pairs import MENTION_COUNTS, SYNONYM_COUNTS, gold_mentions, mention_pairs, shared_names, synonym_pairs
from ..training.run_files import has_checkpoint
from ..training.settings import MiningSettings, PairSelection, PairSettings
from ..vectors.flat import cached_name_vectors
from ..vectors.storage import open_index
from .configs import OptionalConfig, resolve
from .encoder import open_named

SECTION = "pretrain"
CONFIG_FILE = "config.cfg"


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
    written = _write_pairs(drawn, shared_names(opened, gold), _paths(output, chosen))
    show({**{name: counts[name] for name in names}, **written})


def _paths(output: Path, chosen: PairSelection) -> dict[str, Path]:
    """Return the files to write, by their contents."""
    paths = {"train": output}
    if chosen.eval_pairs:
        parts = ("train", "eval", "plot") if chosen.plot_pairs else ("train", "eval")
        paths = {part: output / f"{part}.txt" for part in parts}
        output.mkdir(parents=True, exist_ok=True)
    return {**paths, "shared": shared_names_path(paths["train"])}


def _write_pairs(
    drawn: Iterable[tuple[str, Pair]], shared: Iterable[SharedName], paths: Mapping[str, Path]
) -> dict[str, int]:
    """Write all files, which appear when the last is complete, and return their numbers of lines for the result."""
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


# --- mine


def mine(
    ctx: typer.Context,
    pairs: Annotated[Path, typer.Argument(help="Pairs from `spacy-sapbert pairs`.")],
    kb: Annotated[str, typer.Option(help="Knowledge base from which the pairs were drawn, or 'starter'.")],
    encoder: Annotated[str, typer.Option(help="Encoder before training: 'starter', a folder or a hub name.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Table to write. It is gzipped if its name ends in .gz.")
    ],
    config: OptionalConfig = None,
) -> None:
    """Mine hard negatives to train an encoder on.

    The negatives of a pair are the names of other concepts that are nearest to its second name.
    The output contains one triple per negative.
    Names of any concept that has one of the two names are skipped, and so are identical texts.
    If a file of shared names belongs to the pairs, the command copies it for the triples.
    To override a setting of the config, give it as --mine.neighbors 5.
    """
    from spacy.util import minibatch

    _, settings = resolve(ctx, config, "mine", MiningSettings)
    knowledge_base = load_knowledge_base(kb)
    opened = open_named(encoder, settings.pooling, settings.device, l2_normalized=True)
    shared = shared_names_path(pairs) if shared_names_path(pairs).is_file() else None
    console = stderr_console()
    with progress_callback(console, "names") as progress:
        # the index needs these vectors, and only this call reports its progress
        cached_name_vectors(knowledge_base, opened, progress)
    vectors = open_index(knowledge_base, opened, settings.index)
    negatives = HardNegatives(
        knowledge_base, vectors, neighbors=settings.neighbors, shared=read_shared_names(shared) if shared else ()
    )
    batches = minibatch(track(read_pairs(pairs), console, "pairs"), PAIRS_AT_ONCE)
    counts: Counter[str] = Counter()
    total = 0.0
    with ExitStack() as stack:
        write = stack.enter_context(open_output(output))
        if shared:
            write_shared = stack.enter_context(open_output(shared_names_path(output)))
            for name, concept_ids in read_shared_names(shared):
                write_shared(pair_line(name, *concept_ids))
        write(HEADINGS)
        for triple in chain.from_iterable(negatives.mine(batch, counts) for batch in batches):
            total += triple.similarity or 0.0
            write(triple_line(triple))
        if not counts["triples"]:  # nothing is written
            raise SapbertError(Errors.E543.format(pairs=counts["pairs"], unknown=counts["pairs_of_unknown_concepts"]))
    show({**{name: counts[name] for name in MINED_COUNTS}, "mean_cosine": round(total / counts["triples"], 4)})


# --- pretrain


def pretrain(
    ctx: typer.Context,
    config_path: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Config file, such as one that `init config pretrain` writes.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for encoders, checkpoints and the log.")],
    resume: Annotated[bool, typer.Option(help="Continue from the last checkpoint in the output folder.")] = False,
    max_minutes: Annotated[
        float | None, typer.Option(min=0, help="Stop after this time, and save a checkpoint.")
    ] = None,
) -> None:
    """Train an encoder on pairs of synonyms, with the settings of a config file.

    To override a setting, give it as with `spacy train`: --paths.pairs pairs.txt --pretrain.batcher.size 512.
    """
    config, run = resolve(ctx, config_path, SECTION)
    if run.processes.is_first and not has_checkpoint(output):  # a resumed run keeps the config in the folder
        output.mkdir(parents=True, exist_ok=True)
        with open_output(output / CONFIG_FILE) as write:
            write(config.to_str() + "\n")
    result = run.train(output, resume=resume, max_minutes=max_minutes, settings=dict(config.interpolate()[SECTION]))
    if run.processes.is_first:
        show(result)
