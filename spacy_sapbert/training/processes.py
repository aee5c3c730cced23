"""One training run in several processes, started by `accelerate launch` or `torchrun`.

Each process encodes its share of a batch, and the vectors are gathered. Each process then mines and computes the loss
over the whole batch. So mining sees as much as in one process. The sum of the gradients is that of the whole batch.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Processes:
    """This process among the processes of a run.

    Args:
        device: The device of the vectors. It decides how processes communicate.
    """

    def __init__(self, device: str) -> None:
        self.rank = int(os.environ.get("RANK", 0))
        self.size = int(os.environ.get("WORLD_SIZE", 1))
        if self.size > 1:
            import torch
            import torch.distributed as dist

            if device == "cuda":  # otherwise all processes of a machine would use its first GPU
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
            if not dist.is_initialized():
                dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")

    @property
    def is_first(self) -> bool:
        """Whether this process writes, evaluates and logs."""
        return self.rank == 0

    def share(self, order: list[int]) -> list[int]:
        """Return this process's part of the names of a batch. All parts have about the same length."""
        return order[self.rank :: self.size]

    def gather(self, vectors: Tensor, order: list[int]) -> Tensor:
        """Collect what all processes encoded. Gradients flow to this process's own part only.

        Args:
            vectors: The vectors of this process's names, float32, shape (len(self.share(order)), dim).
            order: The names of the whole batch.

        Returns:
            float32, shape (len(order), dim): The vectors in the order of the batch.
        """
        import torch

        parts = [vectors]
        if self.size > 1:
            import torch.distributed as dist

            longest = -(-len(order) // self.size)
            padded = vectors.new_zeros((longest, vectors.shape[1]))
            padded[: len(vectors)] = vectors.detach()
            parts = [torch.empty_like(padded) for _ in range(self.size)]
            dist.all_gather(parts, padded)
            parts = [part[: len(order[rank :: self.size])] for rank, part in enumerate(parts)]
            parts[self.rank] = vectors
        places = [place for rank in range(self.size) for place in order[rank :: self.size]]
        return torch.cat(parts)[torch.as_tensor(places, device=vectors.device).argsort()]

    def sum_gradients(self, module: torch.nn.Module) -> None:
        """Add up the gradients of all processes, in one message."""
        if self.size == 1:
            return
        import torch
        import torch.distributed as dist

        weights = [weight for weight in module.parameters() if weight.requires_grad]
        for weight in weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        joined = torch.cat([weight.grad.flatten() for weight in weights if weight.grad is not None])
        dist.all_reduce(joined)
        for weight, total in zip(weights, joined.split([weight.numel() for weight in weights]), strict=True):
            weight.grad = total.view_as(weight)

    def agree(self, flag: bool) -> bool:
        """Return the value of the first process. The others wait for it."""
        if self.size == 1:
            return flag
        import torch.distributed as dist

        answer = [flag]
        dist.broadcast_object_list(answer, src=0)
        return answer[0]
