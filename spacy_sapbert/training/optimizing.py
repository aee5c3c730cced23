"""Optimizers and learning rate schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.nn import Module
    from torch.optim import Optimizer
else:
    Module = Optimizer = Any  # see mining.py

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
        from torch.optim import AdamW

        weights = [weight for weight in module.parameters() if weight.requires_grad]
        groups = [
            {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": weight_decay},
            {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
        ]
        return AdamW(groups, lr=learn_rate)

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
