"""The optimizer, and how its learning rate goes up and down."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.nn import Module
    from torch.optim import Optimizer
else:
    Module = Optimizer = Any  # see mining.py

# a module in, the optimizer of its trainable weights out
MakeOptimizer = Callable[[Module], Optimizer]
# the step and the number of steps in all in, the factor on the learning rate out
Schedule = Callable[[int, int], float]


def adamw(learn_rate: float = 2e-5, weight_decay: float = 0.01) -> MakeOptimizer:
    """AdamW (Loshchilov and Hutter 2019); biases and the weights of layer norms do not decay.

    Args:
        learn_rate: at its highest, before the schedule's factor.
        weight_decay: of all other weights.
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
    """Up from 0 over the first steps, then down in a line.

    Args:
        warmup_steps: so many of them.
        final: the factor at the last step; 1 for none of the way down.
    """

    def factor(step: int, total: int) -> float:
        if step < warmup_steps:
            return (step + 1) / (warmup_steps + 1)
        done = (step - warmup_steps) / max(1, total - warmup_steps)
        return 1 + (final - 1) * min(1.0, done)

    return factor
