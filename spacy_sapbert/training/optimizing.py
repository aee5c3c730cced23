"""Optimizers, learning rate schedules, and one training run in several processes.

Several processes are started by `accelerate launch` or `torchrun`. Each encodes its share of a batch, and the vectors
are gathered. Each process then mines and computes the loss over the whole batch. So mining sees as much as in one
process. The sum of the gradients is that of the whole batch.
"""

from __future__ import annotations

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
    """This process among the processes of a run. accelerate connects them, and gives each a GPU of its own.

    Args:
        device: The device of the vectors. It decides how processes communicate.

    Attributes:
        rank: The number of this process, from 0.
        size: The number of processes.
        is_first: Whether this process writes, evaluates and logs.
    """

    def __init__(self, device: str) -> None:
        from accelerate import PartialState

        state = PartialState(cpu=device == "cpu")
        self.rank, self.size, self.is_first = state.process_index, state.num_processes, state.is_main_process

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
        from accelerate.utils import reduce

        own = torch.as_tensor(self.share(order), dtype=torch.int64, device=vectors.device)
        empty = vectors.new_zeros((len(order), vectors.shape[1]))
        return reduce(empty.index_copy(0, own, vectors.detach()), "sum").index_copy(0, own, vectors)

    def sum_gradients(self, module: Module) -> None:
        """Add up the gradients of all processes, in one message."""
        if self.size == 1:
            return  # sparse gradients stay sparse
        import torch
        from accelerate.utils import reduce

        weights = [weight for weight in module.parameters() if weight.requires_grad]
        gradients = (torch.zeros_like(weight) if weight.grad is None else weight.grad.to_dense() for weight in weights)
        totals = reduce(torch.cat(list(map(torch.flatten, gradients))), "sum")
        for weight, total in zip(weights, totals.split([weight.numel() for weight in weights]), strict=True):
            weight.grad = total.view_as(weight)

    def agree(self, flag: bool) -> bool:
        """Return the value of the first process. The others wait for it."""
        from accelerate.utils import broadcast_object_list

        return bool(broadcast_object_list([flag])[0])
