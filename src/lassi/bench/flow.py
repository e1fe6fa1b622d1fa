"""Our Glow compared with a plain unfused one and with normflows' multi-scale Glow of the same size."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from lassi.base.errors import UserError
from lassi.base.progress import Progress
from lassi.base.streams import Stream
from lassi.bench.measure import Row, measure
from lassi.bench.memory import peak_of_step
from lassi.bench.plain_glow import PlainGlow
from lassi.flow.glow import Glow, GlowSettings

SIZE, LEVELS, FLOWS, HIDDEN, BATCH = 32, 3, 8, 64, 32
NAMES = ("train_step", "normflows_train_step", "encode", "decode", "memory_32_over_4_flows")


def bench_flow(*, quick: bool, threads: int, progress: Progress) -> list[Row]:
    """The rows of ``lassi bench flow``."""
    torch.set_num_threads(threads)
    repeats = 3 if quick else 9
    with progress.task("measuring", len(NAMES), "rows") as task:
        rows = []
        for row in (_train_step, _normflows_train_step, _encode, _decode):
            rows.append(row(repeats))
            task.advance()
        rows.append(_memory(quick))
        task.advance()
    return rows


def _train_step(repeats: int) -> Row:
    ours, x = _ours(), _pictures()
    plain = _plain()
    return measure(
        "train_step",
        _training(ours, lambda: ours.bits_per_dim(x).mean(), fused=True),
        _training(plain, lambda: -plain(x)[1].mean() / x[0].numel()),
        count=BATCH,
        unit="pictures",
        repeats=repeats,
    )


def _normflows_train_step(repeats: int) -> Row:
    ours, theirs, x = _ours(), _normflows(), _pictures()
    return measure(
        "normflows_train_step",
        _training(ours, lambda: ours.bits_per_dim(x).mean(), fused=True),
        _training(theirs, lambda: theirs.forward_kld(x) / x[0].numel()),
        count=BATCH,
        unit="pictures",
        repeats=repeats,
    )


@torch.no_grad()
def _encode(repeats: int) -> Row:
    ours, plain, x = _ours().freeze(), _plain(), _pictures()
    return measure(
        "encode",
        torch.no_grad()(lambda: ours.encode(x)),
        torch.no_grad()(lambda: plain.encode(x)),
        count=BATCH,
        unit="pictures",
        repeats=2 * repeats,
    )


@torch.no_grad()
def _decode(repeats: int) -> Row:
    ours, plain = _ours().freeze(), _plain()
    z = ours.encode(_pictures())
    return measure(
        "decode",
        torch.no_grad()(lambda: ours.decode(z)),
        torch.no_grad()(lambda: plain.decode(z)),
        count=BATCH,
        unit="pictures",
        repeats=2 * repeats,
    )


def _memory(quick: bool) -> Row:
    """Peak memory with 32 flows per level over that with 4; lower is better."""
    shape: dict[str, Any] = {"size": 64, "hidden": 64, "batch": 8 if quick else 32, "memory": "reversible"}
    many, few = (peak_of_step(flows, **shape) for flows in (32, 4))
    return Row("memory_32_over_4_flows", many / 1e6, few / 1e6, many / few, shape["batch"], "MB, not seconds")


def _training(model: nn.Module, loss: Callable[[], Tensor], *, fused: bool = False) -> Callable[[], None]:
    """A training step as a user of the model would write it: Adam with a clipped gradient."""
    optimiser = torch.optim.Adam(model.parameters(), 1e-4, fused=fused)

    def step() -> None:
        optimiser.zero_grad()
        loss().backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 50.0, foreach=fused or None)
        optimiser.step()

    return step


def _pictures() -> Tensor:
    return torch.rand(BATCH, 3, SIZE, SIZE, generator=Stream(0, "bench").torch()) - 0.5


def _ours() -> Glow:
    return Glow(GlowSettings(SIZE, LEVELS, FLOWS, HIDDEN), stream=Stream(0, "bench"))


def _plain() -> PlainGlow:
    with Stream(0, "bench").global_torch():
        return PlainGlow(SIZE, LEVELS, FLOWS, HIDDEN, affine=False, lu=True)


def _normflows() -> Any:
    """normflows' multi-scale Glow as its documentation builds it, with additive couplings like ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import normflows as nf
        except ImportError:
            raise UserError("normflows is not installed.", hint="Run pip install 'lassi[dev]'.") from None

    with Stream(0, "bench").global_torch():
        bases, flows, merges = [], [], []
        for level in range(LEVELS):
            channels = 3 * 2 ** (LEVELS + 1 - level)
            blocks = [nf.flows.GlowBlock(channels, HIDDEN, split_mode="channel", scale=False) for _ in range(FLOWS)]
            flows.append([*blocks, nf.flows.Squeeze()])
            side = SIZE // 2 ** (LEVELS - level)
            if level:
                merges.append(nf.flows.Merge())
            bases.append(nf.distributions.DiagGaussian((channels // 2 if level else channels, side, side)))
        model = nf.MultiscaleFlow(bases, flows, merges)
        model.forward_kld(_pictures())  # its ActNorm initialises itself on the first batch
    return model
