"""Link one partition and write its file, in any process of any engine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as compute
from pyarrow import Table, array
from rich.console import Console

from ..documents.input_documents import Problems
from ..errors import SapbertError
from ..types import NIL, Document
from .corpus_linker import FAILURE, CorpusLinker, LinkSettings, linker_of
from .output_folder import TRIES, Made, OutputFolder
from .partitions import MAY_WORK_LATER, Partition, UnreadableFile

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_SHOWN = 10


class PartitionResult(NamedTuple):
    """How a partition ended.

    Attributes:
        name: The partition.
        counts: The documents, mentions, linked mentions, failures and broken records.
        seconds: The time that it took.
        reports: The first reports of broken records.
        problem: Why it was set aside; empty if its file was written.
    """

    name: str
    counts: Counter[str]
    seconds: float = 0.0
    reports: tuple[str, ...] = ()
    problem: str = ""


Results = Generator[PartitionResult, None, None]
"""What an engine yields. Closing it ends what still runs."""


@dataclass(frozen=True)
class PartitionWork:
    """Links partitions. It travels to the processes of an engine.

    Attributes:
        settings: How to link.
        run: A hash of pipeline, vocabulary and settings.
        output: The folder of the links.
        strict: Stop at the first broken record.
    """

    settings: LinkSettings
    run: str
    output: OutputFolder
    strict: bool = False

    def done(self, partition: Partition) -> PartitionResult | None:
        """Return the result of a partition that is already linked; None if it is not, or was made with something else.

        If only more documents are replaced by later files, they are removed from the file, and nothing is linked again.

        Raises:
            SapbertError: E120 a file cannot be read. E567 the output is a file of something else.
        """
        made = self.output.made(partition.name)
        if not made or (made.run, made.partition) != (self.run, partition.fingerprint()):
            return None
        if made.left_out != partition.left_out:
            if not made.left_out < partition.left_out:
                return None
            made = self._remove(partition, made)
        return PartitionResult(partition.name, made.counts)

    def __call__(self, partition: Partition) -> PartitionResult:
        """Link a partition, and write its file.

        Raises:
            SapbertError: The errors of `link_batches`, E506 and E507. They end a run. Other errors set the partition
                aside.
        """
        started = time.monotonic()
        if not self.output.begin_try(partition.name):
            return PartitionResult(partition.name, Counter(), problem=f"its process ended at each of {TRIES} tries")
        reports = StringIO()
        # a text in brackets is no markup
        console = Console(file=reports, markup=False, emoji=False, highlight=False, soft_wrap=True)
        try:
            counts = self._write(partition, Problems(console, strict=self.strict))
            problem = ""
        except SapbertError as error:
            if not str(error).startswith(MAY_WORK_LATER):
                raise
            counts, problem = Counter(), str(error)
        except Exception as error:  # readers and components can raise anything
            counts, problem = Counter(), f"{type(error).__name__}: {error}"
        self.output.end_try(partition.name)
        shown = tuple(reports.getvalue().splitlines()[:_SHOWN])
        return PartitionResult(partition.name, counts, time.monotonic() - started, shown, problem)

    def or_error(self, partition: Partition) -> PartitionResult | SapbertError:
        """Link a partition, and return the error that ends a run, since some engines change what is raised."""
        try:
            return self(partition)
        except SapbertError as error:
            return error

    def _write(self, partition: Partition, problems: Problems) -> Counter[str]:
        linker = linker_of(self.settings)
        made = Made(self.run, partition.fingerprint(), partition.left_out, Counter())

        def batches() -> Iterator[RecordBatch]:
            yield from _counted(_link(linker, partition, problems), made.counts)
            made.counts["broken"] = problems.count

        self.output.write(partition.name, linker.schema, batches(), made)
        return made.counts

    def _remove(self, partition: Partition, made: Made) -> Made:
        """Remove the documents from the file of a partition that later files have replaced since."""
        left_out = array(sorted(partition.left_out))
        kept = (
            batch.filter(compute.invert(compute.is_in(batch["doc_id"], left_out)))
            for batch in self.output.batches(partition.name)
        )
        new = made._replace(left_out=partition.left_out, counts=Counter(broken=made.counts["broken"]))
        schema = self.output.schema(partition.name)
        self.output.write(partition.name, schema, _counted(kept, new.counts), new)
        return new


def _link(linker: CorpusLinker, partition: Partition, problems: Problems) -> Iterator[RecordBatch]:
    unreadable: list[UnreadableFile] = []

    def documents() -> Iterator[Document]:
        for item in partition.documents(problems):
            if isinstance(item, UnreadableFile):
                unreadable.append(item)
            else:
                yield item

    yield from linker(documents())
    for file in unreadable:
        yield linker.failure(file.name, file.reason)


def _counted(batches: Iterable[RecordBatch], counts: Counter[str]) -> Iterator[RecordBatch]:
    """Pass batches on, and count their documents, mentions, linked mentions and failures.

    Documents with the same id in one batch count once.
    """
    for batch in batches:
        ids = Table.from_batches([batch.select(["doc_id", "start", "end", "concept_id", FAILURE])])
        mentions = ids.filter(compute.is_valid(ids["start"]))
        linked = mentions.filter(compute.not_equal(mentions["concept_id"], NIL))
        place = ["doc_id", "start", "end"]
        counts.update(
            documents=len(compute.unique(ids["doc_id"])),
            mentions=len(mentions.group_by(place).aggregate([])),
            linked=len(linked.group_by(place).aggregate([])),
            failures=len(ids) - ids[FAILURE].null_count,
        )
        yield batch
