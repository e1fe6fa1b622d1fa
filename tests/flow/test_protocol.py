"""Users can plug in their own generative model."""

from pathlib import Path

import numpy as np
import torch

from lassi.base.streams import Stream
from lassi.data.shapes import Shapes
from lassi.flow.latents import Encoder, LatentsStage
from lassi.flow.protocol import Flow, IdentityFlow


def test_the_identity_is_a_flow() -> None:
    flow: Flow = IdentityFlow(3, 4, 4)
    x = torch.randn(5, 3, 4, 4, generator=Stream(0, "x").torch())
    z = flow.encode(x)
    assert (flow.latent_dim, z.shape) == (48, (5, 48))
    assert torch.equal(flow.decode(z), x)
    rows = torch.randn(7, 6, generator=Stream(0, "rows").torch())
    assert torch.equal(IdentityFlow(6).encode(rows), rows)


def test_any_flow_fills_the_latent_cache(tmp_path: Path) -> None:
    class Halves:
        latent_dim = 3 * 16 * 16

        def encode(self, x: torch.Tensor) -> torch.Tensor:
            return x.flatten(1) / 2

        def decode(self, z: torch.Tensor) -> torch.Tensor:
            return 2 * z.reshape(-1, 3, 16, 16)

    flow: Flow = Halves()
    shapes = Shapes(16)
    people = shapes.people("test")[:20]
    encoder = Encoder(
        lambda images: (flow.encode(torch.from_numpy(images).float()).numpy(), np.zeros(len(images), np.float32)),
        flow="halves",
        latent_dim=flow.latent_dim,
    )
    made = LatentsStage(shapes, people, encoder, place=tmp_path / "z").make()
    back = flow.decode(torch.from_numpy(np.array(made.z)))
    assert torch.equal(back, torch.from_numpy(shapes.images(people)).float())
