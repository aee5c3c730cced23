"""Optimizers, learning rate schedules, and one training run in several processes.

Several processes are started by `accelerate launch` or `torchrun`. Each encodes its share of a batch, and the vectors
are gathered. Each process then mines and computes the loss over the whole batch. So mining sees as much as in one
process. The sum of the gradients is that of the whole batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer
else:
    Tensor = Module = Optimizer = Any  # see mining.py

# from a module to the optimizer of its trainable weights
MakeOptimizer = Callable[[Module], Optimizer]
# from the step and the number of all steps to the factor of the learning rate
Schedule = Callable[[int, int], float]


def adamw(learn_rate: float = 2e-5, weight_decay: float = 0.01) -> MakeOptimizer:
    """AdamW (Loshchilov and Hutter 2019). Biases and the weights of layer norms do not decay.

    Args:
        learn_rate: The highest learning rate, before the factor of the schedule.
        weight_decay: The weight decay of all other weights.
    """

    def make(module: Module) -> Optimizer:
        from torch.nn import Embedding
        from torch.optim import AdamW

        for part in module.modules():
            if isinstance(part, Embedding):
                part.sparse = False  # AdamW does not know sparse gradients
        weights = [weight for weight in module.parameters() if weight.requires_grad]
        groups = [
            {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": weight_decay},
            {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
        ]
        return AdamW(groups, lr=learn_rate)

    return make


def adagrad(learn_rate: float = 0.05) -> MakeOptimizer:
    """Adagrad (Duchi et al. 2011), for a table of which each batch reads few rows.

    Args:
        learn_rate: The learning rate, before the factor of the schedule.
    """

    def make(module: Module) -> Optimizer:
        from torch.optim import Adagrad

        return Adagrad([weight for weight in module.parameters() if weight.requires_grad], lr=learn_rate)

    return make


def warmup_linear(warmup_steps: int = 0, final: float = 0.0) -> Schedule:
    """Raise the learning rate from 0 over the first steps, then lower it linearly.

    Args:
        warmup_steps: Number of first steps.
        final: The factor at the last step; 1 for no decrease.
    """

    def factor(step: int, total: int) -> float:
        if step < warmup_steps:
            return (step + 1) / (warmup_steps + 1)
        done = (step - warmup_steps) / max(1, total - warmup_steps)
        return 1 + (final - 1) * min(1.0, done)

    return factor


def clip_gradients(gradients: Sequence[Tensor], most: float) -> float:
    """Scale gradients down so that their norm is at most a number, and return the norm before.

    It equals `torch.nn.utils.clip_grad_norm_`, which does not know sparse gradients.
    """
    import torch

    values = [gradient.coalesce().values() if gradient.is_sparse else gradient for gradient in gradients]
    norm = float(torch.stack([torch.linalg.vector_norm(part).float() for part in values]).norm()) if values else 0.0
    if norm > most:
        for gradient in gradients:
            gradient.mul_(most / (norm + 1e-6))
    return norm


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
        positions = [position for rank in range(self.size) for position in order[rank :: self.size]]
        return torch.cat(parts)[torch.as_tensor(positions, device=vectors.device).argsort()]

    def sum_gradients(self, module: Module) -> None:
        """Add up the gradients of all processes, in one message."""
        if self.size == 1:
            return
        import torch
        import torch.distributed as dist

        weights = [weight for weight in module.parameters() if weight.requires_grad]
        gradients = (torch.zeros_like(weight) if weight.grad is None else weight.grad.to_dense() for weight in weights)
        joined = torch.cat(list(map(torch.flatten, gradients)))
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
