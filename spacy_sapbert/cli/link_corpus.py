"""Define the options of `spacy-sapbert link --engine`, which links a corpus in partitions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.console import Console

from ..documents.formats import STDIN, InputFormat, OutputFormat
from ..documents.input_documents import Problems, ReadOptions
from ..errors import Errors, SapbertError
from ..files.console import track
from ..kb.code_systems import CodeSystems
from ..kb.knowledge_base import KnowledgeBase
from ..review.corrections_file import CorrectionsFile
from ..runs.engine import Engine
from .code_options import CodeOptions
from .inputs import check_apart

if TYPE_CHECKING:
    from ..runs.corpus_run import CorpusRun
    from ..runs.partition_work import PartitionResult

_SHOWN = 10


@dataclass(frozen=True)
class EngineOptions:
    """How to link a corpus in partitions."""

    PANEL: ClassVar[str] = "Corpus in partitions"

    engine: Annotated[
        Engine | None,
        typer.Option(
            help="Link each file of the input to a Parquet file in the folder --output: here, on Ray or on Spark."
        ),
    ] = None
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster, or Spark master. Default: this machine.")
    ] = None
    time_limit: Annotated[
        float,
        typer.Option(min=1, help="Seconds for documents that are linked together, plus one per 1,000 characters."),
    ] = 60.0
    max_characters: Annotated[int, typer.Option(min=1, help="Longer documents fail.")] = 1_000_000


def check_engine(
    output: Path | None, to: OutputFormat | None, inputs: Sequence[Path], others: Mapping[str, object]
) -> Path:
    """Check the options of `link` that do not fit to an engine, and return the output folder.

    Args:
        output: The given output.
        to: The given format.
        inputs: The inputs.
        others: The values of options that have no effect.

    Raises:
        SapbertError: E533 input and output overlap. E542 pyarrow is not installed. E559 an option does not fit.
    """
    if output is None or output.is_file():
        raise SapbertError(Errors.E559.format(option="--output", reason="it needs a folder, which may be new"))
    if to not in (None, OutputFormat.parquet):
        raise SapbertError(Errors.E559.format(option="--to", reason="the links are Parquet files"))
    if STDIN in inputs:
        raise SapbertError(Errors.E559.format(option="-", reason="a rerun could not read standard input again"))
    for option, value in others.items():
        if value:
            raise SapbertError(Errors.E559.format(option=option, reason="a rerun always goes on with what is missing"))
    for path in inputs:
        check_apart(path, output)
    if not find_spec("pyarrow"):
        raise SapbertError(Errors.E542.format(module="pyarrow", extra="parquet"))
    return output


def link_corpus(
    pipeline: str,
    sources: Sequence[tuple[Path, ReadOptions]],
    output: Path,
    options: EngineOptions,
    problems: Problems,
    *,
    workers: int,
    language: str | None,
    adding: CodeOptions | None,
    corrections: Path | None,
) -> None:
    """Link a corpus in partitions, show the progress, and end with status 1 if a partition has no links."""
    from ..runs.corpus_linker import LinkSettings
    from ..runs.corpus_run import CorpusRun

    file = CorrectionsFile(corrections) if corrections else None
    settings = LinkSettings(
        str(Path(pipeline).resolve()) if Path(pipeline).exists() else pipeline,
        given=any(one.gold or one.format is InputFormat.names for _, one in sources),
        corrections=str(file.path.absolute()) if file else None,
        language=language,
        codes=_Codes.of(adding) if adding else None,
        max_characters=options.max_characters,
        seconds=options.time_limit,
    )
    shown: dict[str, Any] = {
        **({"display language": language} if language else {}),
        **(adding.identity() if adding else {}),
        **({"corrections": file.fingerprint} if file else {}),
    }
    assert options.engine
    run = options.engine.runner(workers, options.address)
    console, started, done = problems.console, time.monotonic(), Counter[str]()
    inputs = [(path.absolute(), reading) for path, reading in sources]  # processes elsewhere have other working folders
    with CorpusRun(settings, inputs, output.absolute(), problems, shown, workers) as corpus:
        total = len(corpus.partitions)
        for result in track(corpus(run), console, "partitions", total=total):
            _report(result, console)
            done.update(new=bool(result.seconds), old=not result.seconds and not result.problem)
    _summarize(corpus, done, time.monotonic() - started, console)


@dataclass(frozen=True)
class _Codes:
    """Opens codes in a worker. Equal ones are equal there, too, so that the worker loads the pipeline once."""

    systems: tuple[str, ...]
    mappings: tuple[Path, ...]
    predicates: tuple[str, ...]

    @classmethod
    def of(cls, adding: CodeOptions) -> _Codes:
        return cls(tuple(adding.systems), tuple(path.absolute() for path in adding.mappings), tuple(adding.predicates))

    def __call__(self, kb: KnowledgeBase) -> CodeSystems:
        return CodeOptions(self.systems, self.mappings, self.predicates).open(kb, Console(quiet=True))


def _report(result: PartitionResult, console: Console) -> None:
    for line in result.reports:
        console.print(f"{result.name}: {line}")
    if result.problem:
        console.print(f"{result.name}: {result.problem}; no links")


def _summarize(corpus: CorpusRun, done: Counter[str], seconds: float, console: Console) -> None:
    counts, aside = corpus.counts(), corpus.set_aside()
    found = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    console.print(f"{found}; {counts['failures']:,} documents failed; {counts['broken']:,} broken records left out")
    removed = f"; {corpus.removed:,} of files that are gone were removed" if corpus.removed else ""
    partitions = f"{done['new']:,} partitions linked, {done['old']:,} were done before{removed}"
    console.print(f"{partitions}; {seconds:,.0f} seconds")
    if counts["broken"] and not counts["documents"]:
        raise SapbertError(Errors.E508.format(n=counts["broken"]))
    if aside:
        names = ", ".join(result.name for result in aside[:_SHOWN]) + (", …" if len(aside) > _SHOWN else "")
        raise SapbertError(Errors.E569.format(n=len(aside), total=len(corpus.partitions), names=names))
