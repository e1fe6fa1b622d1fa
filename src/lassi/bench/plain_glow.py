"""A plain Glow, layer by layer as in the paper: ours is measured and checked against it.

Nothing is fused or cached. Its parameters are named as in the widely used PyTorch layout, so that its state dict is a
checkpoint in that layout. (Kingma and Dhariwal, "Glow", NeurIPS 2018.)
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.flow.glow import ModuleList


class PlainActNorm(nn.Module):
    """y = scale · (x + loc)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.scale = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.register_buffer("initialized", torch.tensor(1, dtype=torch.uint8))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        log_det = x.shape[2] * x.shape[3] * self.scale.abs().log().sum()
        return self.scale * (x + self.loc), log_det

    def inverse(self, y: Tensor) -> Tensor:
        return y / self.scale - self.loc


class PlainConvLU(nn.Module):
    """A 1×1 convolution with W = P (L∘l_mask + I) (U∘u_mask + diag(s_sign · exp(w_s)))."""

    w_p: Tensor
    u_mask: Tensor
    l_mask: Tensor
    s_sign: Tensor
    l_eye: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        rotation = torch.linalg.qr(torch.randn(channels, channels))[0]
        p, lower, upper = torch.linalg.lu(rotation)
        s = upper.diagonal()
        self.w_l, self.w_u = nn.Parameter(lower), nn.Parameter(upper.triu(1))
        self.w_s = nn.Parameter(s.abs().log())
        eye = torch.eye(channels)
        upper_mask = torch.ones(channels, channels).triu(1)
        for name, value in (("w_p", p), ("u_mask", upper_mask), ("l_mask", upper_mask.T.clone())):
            self.register_buffer(name, value)
        self.register_buffer("s_sign", s.sign())
        self.register_buffer("l_eye", eye)

    def weight(self) -> Tensor:
        lower = self.w_l * self.l_mask + self.l_eye
        upper = self.w_u * self.u_mask + torch.diag(self.s_sign * self.w_s.exp())
        return self.w_p @ lower @ upper

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return F.conv2d(x, self.weight()[:, :, None, None]), x.shape[2] * x.shape[3] * self.w_s.sum()

    def inverse(self, y: Tensor) -> Tensor:
        return F.conv2d(y, self.weight().inverse()[:, :, None, None])


class PlainConv(nn.Module):
    """A 1×1 convolution with any invertible W."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(channels, channels))[0][:, :, None, None])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        log_det = x.shape[2] * x.shape[3] * torch.slogdet(self.weight[:, :, 0, 0])[1]
        return F.conv2d(x, self.weight), log_det

    def inverse(self, y: Tensor) -> Tensor:
        return F.conv2d(y, self.weight[:, :, 0, 0].inverse()[:, :, None, None])


class PlainZeroConv(nn.Module):
    """A 3×3 convolution initialised to zero, padded with ones, scaled by exp(3 · scale)."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3)
        for parameter in self.conv.parameters():
            nn.init.zeros_(parameter)
        self.scale = nn.Parameter(torch.zeros(1, channels_out, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.pad(x, (1, 1, 1, 1), value=1.0)) * torch.exp(3 * self.scale)


class PlainCoupling(nn.Module):
    """Changes the second half of the channels by a network's output on the first."""

    def __init__(self, channels: int, hidden: int, affine: bool) -> None:
        super().__init__()
        self.affine = affine
        self.net = nn.Sequential(
            nn.Conv2d(channels // 2, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, hidden, 1),
            nn.ReLU(),
            PlainZeroConv(hidden, channels if affine else channels // 2),
        )
        for name, parameter in self.net.named_parameters():
            if name in ("0.weight", "2.weight"):
                nn.init.normal_(parameter, 0.0, 0.05)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.chunk(2, 1)
        if not self.affine:
            return torch.cat([a, b + self.net(a)], 1), x.new_zeros(len(x))
        log_s, t = self.net(a).chunk(2, 1)
        s = torch.sigmoid(log_s + 2)
        return torch.cat([a, (b + t) * s], 1), s.log().sum((1, 2, 3))

    def inverse(self, y: Tensor) -> Tensor:
        a, b = y.chunk(2, 1)
        if not self.affine:
            return torch.cat([a, b - self.net(a)], 1)
        log_s, t = self.net(a).chunk(2, 1)
        return torch.cat([a, b / torch.sigmoid(log_s + 2) - t], 1)


class PlainFlow(nn.Module):
    """ActNorm, 1×1 convolution, coupling."""

    def __init__(self, channels: int, hidden: int, affine: bool, lu: bool) -> None:
        super().__init__()
        self.actnorm = PlainActNorm(channels)
        self.invconv = PlainConvLU(channels) if lu else PlainConv(channels)
        self.coupling = PlainCoupling(channels, hidden, affine)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        log_det = x.new_zeros(len(x))
        for layer in (self.actnorm, self.invconv, self.coupling):
            x, more = layer(x)
            log_det = log_det + more
        return x, log_det

    def inverse(self, y: Tensor) -> Tensor:
        for layer in (self.coupling, self.invconv, self.actnorm):
            y = layer.inverse(y)
        return y


class PlainBlock(nn.Module):
    """Squeeze, flows, and (except in the last block) a split."""

    def __init__(self, channels: int, flows: int, hidden: int, affine: bool, lu: bool, splits: bool) -> None:
        super().__init__()
        self.flows: Sequence[PlainFlow] = ModuleList(PlainFlow(4 * channels, hidden, affine, lu) for _ in range(flows))
        self.splits = splits
        self.prior = PlainZeroConv(2 * channels, 4 * channels) if splits else PlainZeroConv(4 * channels, 8 * channels)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The input of the next block, this block's latent, and log p + log|det|."""
        x = F.pixel_unshuffle(x, 2)
        log_prob = x.new_zeros(len(x))
        for flow in self.flows:
            x, log_det = flow(x)
            log_prob = log_prob + log_det
        if self.splits:
            x, z = x.chunk(2, 1)
            mean, log_sd = self.prior(x).chunk(2, 1)
        else:
            z = x
            mean, log_sd = self.prior(torch.zeros_like(x)).chunk(2, 1)
        log_p = -0.5 * math.log(2 * math.pi) - log_sd - 0.5 * (z - mean) ** 2 / torch.exp(2 * log_sd)
        return x, z, log_prob + log_p.sum((1, 2, 3))

    def inverse(self, x: Tensor, z: Tensor) -> Tensor:
        y = torch.cat([x, z], 1) if self.splits else z
        for flow in reversed(self.flows):
            y = flow.inverse(y)
        return F.pixel_shuffle(y, 2)


class PlainGlow(nn.Module):
    """The whole flow."""

    def __init__(
        self, size: int, levels: int, flows: int, hidden: int, *, channels: int = 3, affine: bool, lu: bool
    ) -> None:
        super().__init__()
        self.size, self.channels = size, channels
        self.blocks: Sequence[PlainBlock] = ModuleList(
            PlainBlock(channels * 2**level, flows, hidden, affine, lu, splits=level < levels - 1)
            for level in range(levels)
        )

    def forward(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        """The latents of the blocks and log p(x)."""
        latents, log_prob = [], x.new_zeros(len(x))
        for block in self.blocks:
            x, z, more = block(x)
            latents.append(z)
            log_prob = log_prob + more
        return latents, log_prob

    def encode(self, x: Tensor) -> Tensor:
        return torch.cat([z.flatten(1) for z in self(x)[0]], 1)

    def decode(self, z: Tensor) -> Tensor:
        latents, start = [], 0
        for level in range(len(self.blocks)):
            side = self.size // 2 ** (level + 1)
            last = level == len(self.blocks) - 1
            channels = self.channels * 2**level * (4 if last else 2)
            count = channels * side * side
            latents.append(z[:, start : start + count].reshape(-1, channels, side, side))
            start += count
        x = latents[-1]
        for block, latent in zip(reversed(self.blocks), reversed(latents), strict=True):
            x = block.inverse(x, latent)
        return x
