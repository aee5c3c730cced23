"""Link a corpus with an engine: only what is missing, and what was made with something else.

Each partition of the input becomes one file of the output. An engine links partitions: in processes of this machine, on
Ray or on Spark.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
import pyarrow.compute as compute
from pyarrow import Table, array, parquet
from rich.console import Console

from ..documents.input_documents import Inputs, Problems
from ..errors import CannotReadError, Errors, SapbertError
from ..files.console import track
from ..files.values import digest_of
from ..types import NIL, Document
from .document_linker import Failure, LinkingPipeline, LinkSettings, linker_of
from .engines import TRIES, Engine
from .engines import engine as engine_of
from .link_batches import FAILURE, linked_batches, schema_of
from .partitions import Origin, OutputFolder, Partition, find_partitions

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_SHOWN = 10


class PartitionResult(NamedTuple):
    """How the partition of this name ended.

    Attributes:
        counts: The documents, mentions, linked mentions, failures and broken records.
        reports: The first reports of broken records.
        problem: Why it was set aside; empty if its file was written.
        error: What ends the run, if it does. It is not raised, since some engines change what is raised.
    """

    name: str
    counts: Counter[str]
    seconds: float = 0.0
    reports: tuple[str, ...] = ()
    problem: str = ""
    error: SapbertError | None = None


class CorpusRun:
    """Links a corpus: each partition of the input becomes one file of the output, exactly once.

    Args:
        shown: Other settings that change the links, by name.
        workers: The number of processes that search files of PubMed for newer records.

    Attributes:
        removed: The number of files whose input is gone.
        results: How the partitions ended, by name.
    """

    def __init__(
        self,
        settings: LinkSettings,
        sources: Inputs,
        output: Path,
        problems: Problems,
        shown: Mapping[str, Any] | None = None,
        workers: int = 1,
    ) -> None:
        self.partitions = find_partitions(sources, problems, workers)
        self.results: dict[str, PartitionResult] = {}
        self.removed = 0
        self._output = OutputFolder(output)
        limits = {"max characters": settings.max_characters, "seconds": settings.seconds}
        # loaded here, so that errors show before any process starts
        self._identity = linker_of(settings).identity({**limits, **(shown or {})})
        self._work = PartitionWork(settings, digest_of(self._identity), self._output, problems.strict)
        self._started = time.monotonic()

    def __call__(self, engine: Engine) -> Generator[PartitionResult, None, None]:
        """Link the partitions that are not done. Closing the generator ends the processes that do so.

        Yields:
            The results: first those that were done before, then the others as they end.
        """
        with self._output.locked():
            self.removed = self._output.remove_others(partition.name for partition in self.partitions)
            self._write_manifest(complete=False)
            missing = []
            for partition in self.partitions:
                result = self._work.done(partition)
                if result:
                    yield self._add(result)
                else:
                    missing.append(partition)
            with closing(engine(self._work, missing)) as results:
                for result in results:
                    if result.error:
                        raise result.error
                    if result.problem:  # an older file is of another pipeline or another input
                        self._output.file_of(result.name).unlink(missing_ok=True)
                    yield self._add(result)
            self._write_manifest(complete=not self.set_aside())

    def counts(self) -> Counter[str]:
        """Return the documents, mentions, linked mentions, failures and broken records of all partitions."""
        return sum((result.counts for result in self.results.values()), Counter())

    def set_aside(self) -> list[PartitionResult]:
        """Return the partitions without a file."""
        return [result for result in self.results.values() if result.problem]

    def _add(self, result: PartitionResult) -> PartitionResult:
        self.results[result.name] = result
        return result

    def _write_manifest(self, *, complete: bool) -> None:
        results = sorted(self.results.values())
        self._output.write_manifest(
            {
                "version": 1,
                "complete": complete,
                "run": self._work.run,
                "made with": self._identity,
                "counts": self.counts(),
                "seconds": round(time.monotonic() - self._started, 1),
                "partitions": {result.name: result.counts for result in results if not result.problem},
                "set aside": {result.name: result.problem for result in results if result.problem},
            }
        )


def link_corpus(
    settings: LinkSettings,
    inputs: Inputs,
    output: Path,
    engine: str,
    problems: Problems,
    workers: int,
    shown: Mapping[str, Any],
    counts: Counter[str],
) -> None:
    """Link a corpus in partitions with an engine, and show the progress.

    Args:
        engine: One of `ENGINES`; an address may follow after `=`.
        shown: As for `CorpusRun`.
        counts: Gets those of all partitions.

    Raises:
        SapbertError: E508 no record could be linked, E569 a partition has no links.
    """
    if settings.language:
        shown = {"display language": settings.language, **shown}
    name, _, address = engine.partition("=")
    console, started, new = problems.console, time.monotonic(), 0
    inputs = [(path.absolute(), options) for path, options in inputs]  # processes elsewhere have other working folders
    corpus = CorpusRun(settings, inputs, output.absolute(), problems, shown, workers)
    with closing(corpus(engine_of(name, workers, address or None))) as results:
        for result in track(results, console, "partitions", total=len(corpus.partitions)):
            for line in result.reports:
                console.print(f"{result.name}: {line}")
            if result.problem:
                console.print(f"{result.name}: {result.problem}; no links")
            new += bool(result.seconds)
    counts += corpus.counts()
    aside = corpus.set_aside()
    links = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    console.print(f"{links}; {counts['failures']:,} documents failed; {counts['broken']:,} broken records left out")
    old = sum(not result.seconds and not result.problem for result in corpus.results.values())
    removed = f"; {corpus.removed:,} of files that are gone were removed" if corpus.removed else ""
    partitions = f"{new:,} partitions linked, {old:,} were done before{removed}"
    console.print(f"{partitions}; {time.monotonic() - started:,.0f} seconds")
    if counts["broken"] and not counts["documents"]:
        raise SapbertError(Errors.E508.format(n=counts["broken"]))
    if aside:
        names = ", ".join(result.name for result in aside[:_SHOWN]) + (", …" if len(aside) > _SHOWN else "")
        raise SapbertError(Errors.E569.format(n=len(aside), total=len(corpus.partitions), names=names))


@dataclass(frozen=True)
class PartitionWork:
    """Links partitions, and writes their files. It travels to the processes of an engine.

    Attributes:
        run: A hash of pipeline, vocabulary and settings.
    """

    settings: LinkSettings
    run: str
    output: OutputFolder
    strict: bool = False

    def done(self, partition: Partition) -> PartitionResult | None:
        """Return the result of a partition that is already linked; None if it is not, or was made with something else.

        If only more documents are replaced by later files, they are removed from the file, and nothing is linked again.
        """
        origin = self.output.origin(partition.name)
        if not origin or (origin.run, origin.partition) != (self.run, partition.fingerprint()):
            return None
        if origin.left_out != partition.left_out:
            if not origin.left_out < partition.left_out:
                return None
            origin = self._remove_replaced(partition, origin)
        return PartitionResult(partition.name, origin.counts)

    def __call__(self, partition: Partition) -> PartitionResult:
        """Link a partition, and write its file. What a rerun may not have sets it aside; other errors end the run."""
        started = time.monotonic()
        reports = StringIO()
        # a text in brackets is not markup
        console = Console(file=reports, markup=False, emoji=False, highlight=False, soft_wrap=True)
        counts, problem = Counter[str](), ""
        try:
            counts = self._write(partition, Problems(console, strict=self.strict))
        except CannotReadError as error:
            problem = str(error)
        except SapbertError as error:
            return PartitionResult(partition.name, counts, error=error)
        except Exception as error:  # readers and components can raise anything
            problem = f"{type(error).__name__}: {error}"
        shown = tuple(reports.getvalue().splitlines()[:_SHOWN])
        return PartitionResult(partition.name, counts, time.monotonic() - started, shown, problem)

    def lost(self, partition: Partition, reason: str = "") -> PartitionResult:
        """Return the result of a partition that no process could link. A rerun may not have the reason."""
        problem = reason or f"its process ended at each of {TRIES} tries"
        return PartitionResult(partition.name, Counter(), problem=problem)

    def _write(self, partition: Partition, problems: Problems) -> Counter[str]:
        linker = linker_of(self.settings)
        origin = Origin(self.run, partition.fingerprint(), partition.left_out, Counter())

        def batches() -> Iterator[RecordBatch]:
            yield from _counted(_link(linker, partition, problems), origin.counts)
            origin.counts["broken"] = problems.broken

        self.output.write(partition.name, schema_of(linker), batches(), origin)
        return origin.counts

    def _remove_replaced(self, partition: Partition, origin: Origin) -> Origin:
        left_out = array(sorted(partition.left_out))
        remaining = (
            batch.filter(compute.invert(compute.is_in(batch["doc_id"], left_out)))
            for batch in self.output.batches(partition.name)
        )
        new = origin._replace(left_out=partition.left_out, counts=Counter(broken=origin.counts["broken"]))
        schema = parquet.read_schema(self.output.file_of(partition.name))
        self.output.write(partition.name, schema, _counted(remaining, new.counts), new)
        return new


def _link(linker: LinkingPipeline, partition: Partition, problems: Problems) -> Iterator[RecordBatch]:
    unreadable: list[dict[str, str]] = []

    def documents() -> Iterator[Document]:
        for item in partition.documents(problems):
            if isinstance(item, Failure):
                unreadable.append({"doc_id": item.position, FAILURE: item.reason})
            else:
                yield item

    yield from linked_batches(linker, documents())
    yield pyarrow.RecordBatch.from_pylist(unreadable, schema_of(linker))


def _counted(batches: Iterable[RecordBatch], counts: Counter[str]) -> Iterator[RecordBatch]:
    """Pass batches on, and count their documents, mentions, linked mentions and failures.

    Documents with the same id in one batch count once.
    """
    for batch in batches:
        ids = Table.from_batches([batch.select(["doc_id", "start", "end", "concept_id", FAILURE])])
        mentions = ids.filter(compute.is_valid(ids["start"]))
        linked = mentions.filter(compute.not_equal(mentions["concept_id"], NIL))
        offsets = ["doc_id", "start", "end"]
        counts.update(
            documents=len(compute.unique(ids["doc_id"])),
            mentions=len(mentions.group_by(offsets).aggregate([])),
            linked=len(linked.group_by(offsets).aggregate([])),
            failures=len(ids) - ids[FAILURE].null_count,
        )
        yield batch
