"""Link a corpus with an engine: only what is missing, and what was made with something else."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ..documents.input_documents import Problems, ReadOptions
from .corpus_linker import LinkSettings
from .journal import Identity, identity_of
from .output_folder import OutputFolder
from .partition_work import PartitionResult, PartitionWork, Results
from .partitions import find_partitions
from .pipelines import LinkingPipeline

if TYPE_CHECKING:
    from .engine import Run

Sources = Sequence[tuple[Path, ReadOptions]]
MANIFEST_VERSION = 1


class CorpusRun:
    """Links a corpus: each partition of the input becomes one file of the output, exactly once.

    Use it in a `with` block, which keeps other runs out of the folder.

    Args:
        settings: How to link.
        sources: The inputs, with their options.
        output: The folder of the links.
        problems: Reports what is left out.
        shown: Other settings that change the links, by name.
        workers: The number of processes that search files of PubMed for newer records.

    Attributes:
        partitions: The partitions of the input.
        removed: The number of files whose input is gone.
        results: How the partitions ended, by name.

    Raises:
        SapbertError: E501, E502, E503 the pipeline cannot be loaded. E507, E562, E567 the folder cannot be used. E566
            two inputs have the same name.
    """

    def __init__(
        self,
        settings: LinkSettings,
        sources: Sources,
        output: Path,
        problems: Problems,
        shown: Mapping[str, Any] | None = None,
        workers: int = 1,
    ) -> None:
        self.partitions = find_partitions(sources, problems, workers)
        self.results: dict[str, PartitionResult] = {}
        self.removed = 0
        self._output = OutputFolder(output)
        self._identity = _identity(settings, shown or {})
        self._work = PartitionWork(settings, _digest(self._identity), self._output, problems.strict)
        self._lock = self._output.locked()
        self._running: Results | None = None
        self._started = time.monotonic()

    def __enter__(self) -> CorpusRun:
        self._lock.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            if self._running:
                self._running.close()  # first, since it ends the processes that write into the folder
        finally:
            self._lock.__exit__(*error)

    def __call__(self, run: Run) -> Iterator[PartitionResult]:
        """Link the partitions that are not done.

        Args:
            run: The engine, see `Engine.runner`.

        Yields:
            The results: first those that were done before, then the others as they end.

        Raises:
            SapbertError: E120, E506, E507, E568, and those of `link_batches`. What is done stays.
        """
        self.removed = self._output.remove_others(partition.name for partition in self.partitions)
        self._write_manifest(complete=False)
        missing = []
        for partition in self.partitions:
            result = self._work.done(partition)
            if result:
                yield self._keep(result)
            else:
                missing.append(partition)
        self._running = run(self._work, missing)
        for result in self._running:
            if result.problem:
                self._output.remove(result.name)  # an older file is of another pipeline or another input
            yield self._keep(result)
        self._write_manifest(complete=not self.set_aside())

    def counts(self) -> Counter[str]:
        """Return the documents, mentions, linked mentions, failures and broken records of all partitions."""
        return sum((result.counts for result in self.results.values()), Counter())

    def set_aside(self) -> list[PartitionResult]:
        """Return the partitions without a file."""
        return [result for result in self.results.values() if result.problem]

    def _keep(self, result: PartitionResult) -> PartitionResult:
        self.results[result.name] = result
        return result

    def _write_manifest(self, *, complete: bool) -> None:
        self._output.write_manifest(
            {
                "version": MANIFEST_VERSION,
                "complete": complete,
                "run": self._work.run,
                "made with": self._identity._asdict(),
                "counts": self.counts(),
                "seconds": round(time.monotonic() - self._started, 1),
                "partitions": {name: one.counts for name, one in sorted(self.results.items()) if not one.problem},
                "set aside": {one.name: one.problem for one in self.set_aside()},
            }
        )


def _identity(settings: LinkSettings, shown: Mapping[str, Any]) -> Identity:
    """Load the pipeline, which shows errors before any process starts, and return what links depend on."""
    linking = LinkingPipeline(settings.pipeline, Problems(Console(quiet=True)), given=settings.given)
    limits = {"max characters": settings.max_characters, "seconds": settings.seconds}
    return identity_of(linking, (), (), None, {**limits, **shown})


def _digest(identity: Identity) -> str:
    return blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=16).hexdigest()
