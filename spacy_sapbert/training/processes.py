"""One training run in several processes, as `accelerate launch` or `torchrun` start them.

Every process encodes its share of a batch; the vectors are gathered, and every process mines and computes the loss over
the whole batch. So mining sees as much as one process would, and the gradients, summed, are those of the joint batch.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Processes:
    """This process among those of a run.

    Args:
        device: where the vectors lie; decides how processes talk to each other.
    """

    def __init__(self, device: str) -> None:
        self.rank = int(os.environ.get("RANK", 0))
        self.size = int(os.environ.get("WORLD_SIZE", 1))
        if self.size > 1:
            import torch
            import torch.distributed as dist

            if device == "cuda":  # else all processes of a machine would take its first GPU
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
            if not dist.is_initialized():
                dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes, evaluates and tells."""
        return self.rank == 0

    def share(self, order: list[int]) -> list[int]:
        """Return `list[int]`: this process's part of the names of a batch, about as long as all others'."""
        return order[self.rank :: self.size]

    def gather(self, vectors: Tensor, order: list[int]) -> Tensor:
        """Bring together what all processes encoded; gradients flow to this process's own part only.

        Args:
            vectors (float32, shape (len(self.share(order)), dim)): of this process's names.

        Returns:
            float32, shape (len(order), dim): in the order of the batch.
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
        """Return what the first process says; the others wait for it."""
        if self.size == 1:
            return flag
        import torch.distributed as dist

        said = [flag]
        dist.broadcast_object_list(said, src=0)
        return said[0]
