"""Choose where partitions are linked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .partition_work import PartitionWork, Results
    from .partitions import Partition

    Run = Callable[[PartitionWork, Sequence[Partition]], Results]


class Engine(str, Enum):
    """Where partitions are linked: in processes of this machine, on Ray or on Spark."""

    local = "local"
    ray = "ray"
    spark = "spark"

    def runner(self, workers: int, address: str | None = None) -> Run:
        """Return the function that links partitions.

        Args:
            workers: The number of partitions that are linked at the same time.
            address: The address of the Ray cluster, or the Spark master.
        """
        if self is Engine.local:
            from .local import run_local

            return partial(run_local, workers=workers)
        if self is Engine.ray:
            from .on_ray import run_on_ray

            return partial(run_on_ray, workers=workers, address=address)
        from .on_spark import run_on_spark

        return partial(run_on_spark, workers=workers, address=address)
