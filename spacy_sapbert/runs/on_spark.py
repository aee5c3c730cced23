"""The engine of a Spark cluster, and what Spark maps over batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, MissingExtraError, SapbertError
from .corpus_run import PartitionWork, Results
from .link_batches import link_batches, links_schema
from .local import TRIES
from .partitions import Partition

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_TYPES = {"string": "string", "int64": "bigint", "double": "double", "bool": "boolean"}


def spark_linker(
    pipeline: str | Path, **settings: Any
) -> tuple[Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]], str]:
    """Return the two arguments of `DataFrame.mapInArrow`: a function that links documents, and the columns of links.

    Each Python process of Spark loads the pipeline once. Spark gives it batches of
    `spark.sql.execution.arrow.maxRecordsPerBatch` documents, by default 10,000. Set a smaller number for long texts.

    Args:
        pipeline: Folder or package of a pipeline, which each machine can read.
        settings: The other arguments of `link_batches`.
    """
    columns = ", ".join(f"`{field.name}` {_TYPES[str(field.type)]}" for field in links_schema())
    return partial(_linked, str(pipeline), settings), columns


def _linked(pipeline: str, settings: dict[str, Any], batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    return link_batches(pipeline, batches, **settings)


def run_on_spark(work: PartitionWork, partitions: Sequence[Partition], workers: int, address: str | None) -> Results:
    """Link partitions as tasks of a Spark job. Spark runs a task again if its process or its machine ends.

    Args:
        work: What a task does with a partition.
        partitions: The partitions.
        workers: The most tasks at the same time, on this machine.
        address: The master of the cluster. None for this machine.

    Yields:
        The results, when the last partition has ended.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError(what="The engine spark", package="pyspark", extra="spark") from error
    if address is None:
        # by default, Spark takes the first python3 of the PATH, which is another one if no environment is activated
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # after its last try, a partition says that it is set aside
    master = address or f"local[{workers},{TRIES + 1}]"
    builder = SparkSession.builder.appName("spacy-sapbert").config("spark.task.maxFailures", TRIES + 1)
    started = SparkSession.getActiveSession() is None
    try:
        session = builder.master(master).getOrCreate()
    except (PySparkException, OSError) as error:
        raise SapbertError(Errors.E568.format(engine="Spark", address=master, reason=error)) from error
    try:
        tasks = session.sparkContext.parallelize(partitions, max(1, len(partitions)))
        for result in tasks.map(work.or_error).collect():
            if isinstance(result, SapbertError):
                raise result
            yield result
    finally:
        if started:
            session.stop()
