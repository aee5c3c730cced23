"""Link a corpus with an engine: only what is missing, and what was made with something else.

Each partition of the input becomes one file of the output. An engine links partitions: in processes of this machine, on
Ray or on Spark.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow
import pyarrow.compute as compute
from pyarrow import ArrowException, Table, array, parquet
from rich.console import Console

from ..documents.formats import files_of
from ..documents.input_documents import Inputs, Problems
from ..errors import CannotReadError, CannotWriteError, Errors, SapbertError
from ..files.console import track
from ..files.output import open_output
from ..files.values import digest_of
from ..types import NIL, Document
from .document_linker import Failure, LinkSettings, linker_of
from .engines import TRIES, Engine
from .engines import engine as engine_of
from .link_batches import FAILURE, linked_batches, schema_of
from .partitions import Partition, find_partitions
from .parts import Parts, do_missing, statement

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

MANIFEST = "_manifest.json"
"""Readers of Parquet folders leave out names that begin with `_`."""
_KEY = b"spacy-sapbert"
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
        workers: int = 1,
    ) -> None:
        self.partitions = find_partitions(sources, problems, workers)
        self.results: dict[str, PartitionResult] = {}
        self.removed = 0
        self._output = output
        self._identity = linker_of(settings).identity()  # loaded here, so that errors show before any process starts
        self._work = PartitionWork(settings, digest_of(self._identity), Parts(output, ".parquet"), problems.strict)
        self._started = time.monotonic()

    def __call__(self, engine: Engine) -> Generator[PartitionResult, None, None]:
        """Link the partitions that are not done. Closing the generator ends the processes that do so.

        Yields:
            The results, as the partitions end, and of those that were done before.
        """
        parts = self._work.parts
        self._output.parent.mkdir(parents=True, exist_ok=True)
        with parts.locked(self._output):
            self._remove_others()
            self._write_manifest(complete=False)
            with closing(do_missing(self._work, self.partitions, engine)) as results:
                for result in results:
                    if result.error:
                        raise result.error
                    if result.problem:  # an older file is of another pipeline or another input
                        parts.path_of(result.name).unlink(missing_ok=True)
                    self.results[result.name] = result
                    yield result
            self._write_manifest(complete=not self.set_aside())

    def counts(self) -> Counter[str]:
        """Return the documents, mentions, linked mentions, failures and broken records of all partitions."""
        return sum((result.counts for result in self.results.values()), Counter())

    def set_aside(self) -> list[PartitionResult]:
        """Return the partitions without a file."""
        return [result for result in self.results.values() if result.problem]

    def _remove_others(self) -> None:
        """Remove the files of partitions that are not in the input any more.

        If there is a Parquet file that no run has made, nothing is removed.
        """
        expected = {self._work.parts.path_of(partition.name) for partition in self.partitions}
        others = []
        for file in files_of(self._output, lambda *_: None):
            if file.suffix != self._work.parts.suffix:
                continue
            try:
                is_ours = _KEY in (parquet.read_metadata(file).metadata or {})
            except (OSError, ArrowException):
                is_ours = file in expected  # a damaged one is made again
            if not is_ours:
                raise CannotWriteError(path=file, reason="no run has made this file", remedy="Choose another folder.")
            if file not in expected:
                others.append(file)
        for file in others:
            file.unlink()
            with suppress(OSError):  # it has other files
                file.parent.rmdir()
        self.removed = len(others)

    def _write_manifest(self, *, complete: bool) -> None:
        """Write what the folder was made with, and how the last run ended."""
        results = sorted(self.results.values())
        manifest = {
            "version": 1,
            "complete": complete,
            "run": self._work.run,
            "made with": self._identity,
            "counts": self.counts(),
            "seconds": round(time.monotonic() - self._started, 1),
            "partitions": {result.name: result.counts for result in results if not result.problem},
            "set aside": {result.name: result.problem for result in results if result.problem},
        }
        with open_output(self._output / MANIFEST) as write:
            write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def link_corpus(
    settings: LinkSettings,
    inputs: Inputs,
    output: Path,
    engine: str,
    problems: Problems,
    workers: int,
    counts: Counter[str],
) -> None:
    """Link a corpus in partitions with an engine, and show the progress.

    Args:
        engine: One of `ENGINES`; an address may follow after `=`.
        counts: Gets those of all partitions.

    Raises:
        SapbertError: E508 no record could be linked, E569 a partition has no links.
    """
    name, _, address = engine.partition("=")
    console, started, new = problems.console, time.monotonic(), 0
    inputs = [(path.absolute(), options) for path, options in inputs]  # processes elsewhere have other working folders
    corpus = CorpusRun(settings, inputs, output.absolute(), problems, workers)
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
    parts: Parts
    strict: bool = False

    def done(self, partition: Partition) -> PartitionResult | None:
        """Return the result of a partition that is already linked; None if it is not, or was made with something else.

        If only more documents are replaced by later files, they are removed from the file, and nothing is linked again.
        """
        about = self.parts.about(partition.name)
        if not about or about["made of"] != self._made_of(partition):
            return None
        counts, left_out = Counter[str](about["counts"]), frozenset(about["left_out"])
        if left_out != partition.left_out:
            if not left_out < partition.left_out:
                return None
            counts = self._remove_replaced(partition, Counter(broken=counts["broken"]))
        return PartitionResult(partition.name, counts)

    def __call__(self, partition: Partition) -> PartitionResult:
        """Link a partition, and write its file. What a rerun may not have sets it aside; other errors end the run."""
        started = time.monotonic()
        reports = StringIO()
        # a text in brackets is not markup
        console = Console(file=reports, markup=False, emoji=False, highlight=False, soft_wrap=True)
        counts, problem = Counter[str](), ""
        try:
            counts = self._link(partition, Problems(console, strict=self.strict))
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

    def _link(self, partition: Partition, problems: Problems) -> Counter[str]:
        linker, counts = linker_of(self.settings), Counter[str]()
        schema = schema_of(linker)
        unreadable: list[dict[str, str]] = []

        def documents() -> Iterator[Document]:
            for item in partition.documents(problems):
                if isinstance(item, Failure):
                    unreadable.append({"doc_id": item.position, FAILURE: item.reason})
                else:
                    yield item

        def batches() -> Iterator[RecordBatch]:
            yield from linked_batches(linker, documents())
            yield pyarrow.RecordBatch.from_pylist(unreadable, schema)
            counts["broken"] = problems.broken

        self._write(partition, schema, batches(), counts)
        return counts

    def _remove_replaced(self, partition: Partition, counts: Counter[str]) -> Counter[str]:
        path, left_out = self.parts.path_of(partition.name), array(sorted(partition.left_out))

        def remaining() -> Iterator[RecordBatch]:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    yield batch.filter(compute.invert(compute.is_in(batch["doc_id"], left_out)))

        self._write(partition, parquet.read_schema(path), remaining(), counts)
        return counts

    def _write(
        self, partition: Partition, schema: Schema, batches: Iterable[RecordBatch], counts: Counter[str]
    ) -> None:
        """Write the file of a partition, and count what is in it. Batches without a row are left out."""
        with (
            self.parts.writing(partition.name) as path,
            parquet.ParquetWriter(path, schema.remove_metadata(), compression="zstd") as writer,
        ):
            for batch in filter(len, batches):
                _count(batch, counts)
                writer.write_batch(batch)
            about = {"made of": self._made_of(partition), "left_out": sorted(partition.left_out), "counts": counts}
            writer.add_key_value_metadata({_KEY: statement(about)})

    def _made_of(self, partition: Partition) -> str:
        return digest_of([self.run, partition.fingerprint()])


def _count(batch: RecordBatch, counts: Counter[str]) -> None:
    """Count the documents, mentions, linked mentions and failures of a batch.

    Documents with the same id in one batch count once.
    """
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
