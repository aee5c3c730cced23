"""Define `spacy-sapbert mine`, which mines hard negatives for pairs of synonyms."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .. import __version__
from ..errors import Errors, SapbertError
from ..files.console import progress_callback, show_values, stderr_console, track
from ..files.opening import open_text
from ..files.output import open_output
from ..training.pair_files import HEADINGS, Triple, triple_line
from ..training.settings import MiningSettings
from .configs import OptionalConfig, resolve

if TYPE_CHECKING:
    from ..training.checkpoints import PartialFile

_STEPS = 20


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
    To continue an interrupted run, start the same command again.
    The JSON counts the cosines of positives and negatives in steps of 0.05, by the lower end of each step.
    """
    from spacy.util import minibatch

    from ..encoders.transformer import TransformerEncoder
    from ..kb.storage import load_knowledge_base
    from ..training.checkpoints import PartialFile
    from ..training.hard_negatives import PAIRS_AT_ONCE, HardNegatives
    from ..training.pair_files import read_pairs, read_shared_names, shared_names_path
    from ..vectors.flat import cached_name_vectors
    from ..vectors.storage import open_index

    _, settings = resolve(ctx, config, "mine", MiningSettings)
    knowledge_base = load_knowledge_base(kb)
    opened = TransformerEncoder(encoder, pooling=settings.pooling, l2_normalized=True, device=settings.device)
    shared = shared_names_path(pairs) if shared_names_path(pairs).is_file() else None
    run = {
        "version": __version__,
        "pairs": [_hash(path) for path in (pairs, shared) if path],
        "kb": knowledge_base.fingerprint,
        "encoder": opened.fingerprint,
        "neighbors": settings.neighbors,
        "index": settings.index,
    }
    partial = PartialFile(output, run)
    console = stderr_console()
    with progress_callback(console, "names") as progress:
        # the index needs these vectors, and only this call reports its progress
        cached_name_vectors(knowledge_base, opened, progress)
    vectors = open_index(knowledge_base, opened, settings.index)
    negatives = HardNegatives(
        knowledge_base, vectors, neighbors=settings.neighbors, shared=read_shared_names(shared) if shared else ()
    )
    batches = minibatch(track(read_pairs(pairs), console, "pairs"), PAIRS_AT_ONCE)
    for batch in islice(batches, partial.done, None):
        counts: Counter[str] = Counter()
        triples = negatives.mine(batch, counts)
        partial.add({"counts": counts, "triples": triples})
    result = _statistics(partial)
    if result["triples"]:
        _write(partial, output, shared)
    partial.remove()
    if not result["triples"]:
        raise SapbertError(Errors.E543.format(pairs=result["pairs"], unknown=result["pairs_of_unknown_concepts"]))
    show_values(result)


def _statistics(partial: PartialFile) -> dict[str, Any]:
    """Return `MINED_COUNTS`, and the distribution of the cosines of positives and negatives."""
    from ..training.hard_negatives import MINED_COUNTS

    counts: Counter[str] = Counter()
    steps = np.arange(_STEPS + 1) / _STEPS
    histogram = np.zeros(len(steps), dtype=int)
    total = 0.0
    for piece in partial.pieces():
        counts.update(piece["counts"])
        cosines = [triple[Triple._fields.index("similarity")] for triple in piece["triples"]]
        histogram += np.histogram(cosines, bins=[-1, *steps])[0]
        total += sum(cosines)
    labels = ["below 0", *(f"{step:.2f}" for step in steps[:-1])]
    return {
        **{name: counts[name] for name in MINED_COUNTS},
        "mean_cosine": round(total / max(1, counts["triples"]), 4),
        "cosines": dict(zip(labels, histogram.tolist(), strict=True)),
    }


def _write(partial: PartialFile, output: Path, shared: Path | None) -> None:
    """Write the triples, and a copy of the shared names of their pairs."""
    from ..training import pair_files

    with ExitStack() as stack:
        write = stack.enter_context(open_output(output))
        if shared:
            write_shared = stack.enter_context(open_output(pair_files.shared_names_path(output)))
            for name, concept_ids in pair_files.read_shared_names(shared):
                write_shared(pair_files.pair_line(name, *concept_ids))
        write(HEADINGS)
        for piece in partial.pieces():
            for fields in piece["triples"]:
                write(triple_line(Triple(*fields)))


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open_text(path) as lines:
        for line in lines:
            digest.update(line.encode())
    return digest.hexdigest()
