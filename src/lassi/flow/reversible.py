"""Backpropagation that recomputes activations from outputs, so that memory does not grow with depth.

(Gomez et al., "The Reversible Residual Network", NeurIPS 2017.)
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn


class Invertible(Protocol):
    """A module that maps x to (y, log|det|) and has an inverse."""

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]: ...

    def inverse(self, y: Tensor) -> Tensor: ...


def run_reversibly(steps: Sequence[Any], x: Tensor) -> tuple[Tensor, Tensor]:
    """Run invertible modules one after another, keeping only the last output for the backward pass.

    Returns:
        The output, and the sum of log|det| ``(B,)``.
    """
    parameters = [parameter for step in steps for parameter in step.parameters()]
    y, log_det = _Reversible.apply(steps, x, *parameters)  # type: ignore[no-untyped-call]
    return y, log_det


class _Reversible(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, steps: Sequence[Any], x: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG004
        log_det = x.new_zeros(len(x))
        for step in steps:
            x, more = step(x)
            log_det = log_det + more
        ctx.steps = steps
        ctx.save_for_backward(x)
        return x, log_det

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        dy, dlog_det = gradients
        (y,) = ctx.saved_tensors
        found: list[Tensor] = []
        for step in reversed(ctx.steps):
            y, dy, mine = _undo(step, y, dy, dlog_det)
            found = [*mine, *found]
        return None, dy, *found


def _undo(step: Invertible, y: Tensor, dy: Tensor, dlog_det: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """From a step's output and its gradient: the input, its gradient, and the gradients of the parameters."""
    assert isinstance(step, nn.Module)
    with torch.no_grad():
        x = step.inverse(y)
    with torch.enable_grad():
        x.requires_grad_()
        outputs = step(x)
        dx, *mine = torch.autograd.grad(outputs, (x, *step.parameters()), (dy, dlog_det))
    return x.detach(), dx, tuple(mine)
