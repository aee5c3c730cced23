"""The engine of a Ray cluster, and the class that Ray Data maps over batches."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import Errors, MissingExtraError, SapbertError
from .corpus_run import PartitionResult, PartitionWork, Results
from .link_batches import link_batches
from .local import TRIES
from .partitions import Partition

if TYPE_CHECKING:
    from pyarrow import Table


class RayLinker:
    """Links the batches of a Ray dataset of documents.

    Give the class to `Dataset.map_batches` with `batch_format="pyarrow"` and `concurrency`. Each actor loads the
    pipeline once, by its path. So no pipeline is in the object store, whose buffers are read-only.

    Args:
        pipeline: Folder or package of a pipeline, which each machine can read.
        settings: The other arguments of `link_batches`.
    """

    def __init__(self, pipeline: str | Path, **settings: Any) -> None:
        self._pipeline = pipeline
        self._settings = settings

    def __call__(self, documents: Table) -> Iterator[Table]:
        """Link a batch of documents; see `link_batches`."""
        import pyarrow

        for batch in link_batches(self._pipeline, documents.to_batches(), **self._settings):
            yield pyarrow.Table.from_batches([batch])


def run_on_ray(work: PartitionWork, partitions: Sequence[Partition], workers: int, address: str | None) -> Results:
    """Link partitions as tasks of a Ray cluster. Ray runs a task again if its process or its machine ends.

    Args:
        work: What a task does with a partition.
        partitions: The partitions.
        workers: The most tasks at the same time.
        address: The address of the cluster. None for a cluster on this machine, or for that of RAY_ADDRESS.

    Yields:
        The results, in the order in which the partitions end.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError(what="The engine ray", package="ray", extra="ray") from error
    started = not ray.is_initialized()
    if started:
        _start(ray, workers, address)
    try:
        # after its last try, a partition says that it is set aside
        task = ray.remote(num_cpus=1, max_retries=TRIES)(PartitionWork.or_error)
        shared = ray.put(work)
        waiting = iter(partitions)
        running = {task.remote(shared, partition): partition for partition in islice(waiting, workers)}
        while running:
            done, _ = ray.wait(list(running))
            for result in done:
                yield _result(ray, result, running.pop(result))
                running |= {task.remote(shared, partition): partition for partition in islice(waiting, 1)}
    finally:
        if started:
            ray.shutdown()


def _result(ray: Any, reference: Any, partition: Partition) -> PartitionResult:
    try:
        result = ray.get(reference)
    except ray.exceptions.RayError as error:
        return PartitionResult(partition.name, Counter(), problem=f"Ray lost it: {error}")
    if isinstance(result, SapbertError):
        raise result
    return cast(PartitionResult, result)


def _start(ray: Any, workers: int, address: str | None) -> None:
    quiet = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
    try:
        if address or os.environ.get("RAY_ADDRESS"):
            ray.init(address, log_to_driver=False)
        else:
            ray.init("local", num_cpus=workers, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise SapbertError(Errors.E568.format(engine="Ray", address=address or "here", reason=error)) from error
