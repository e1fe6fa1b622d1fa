"""The losses against their straightforward forms: every z + A t built and pushed through the whole of R."""

import math

import pytest
import torch
from torch.nn import functional as F

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.representation.network import Representation
from lassi.representation.objective import Objective, Producer, draw, farthest
from lassi.similarity.sets import SimilaritySet

Q, B, STREAM = 40, 32, Stream(3, "attack")


def setting(n: int = 2, seed: int = 0) -> tuple[Producer, torch.Tensor, torch.Tensor, SimilaritySet]:
    generator = torch.Generator().manual_seed(seed)
    r = Representation(Q, (24, 16, 8), stream=Stream(seed, "r"))
    producer = Producer(r, 3, reconstructs=True, stream=Stream(seed, "producer")).double()
    with torch.no_grad():
        for _ in range(5):
            r(torch.randn(B, Q, generator=generator, dtype=torch.float64) * 2)
    z = torch.randn(B, Q, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (B,), generator=generator)
    a = torch.randn(Q, n, generator=generator, dtype=torch.float64)
    return producer.train(), z, labels, SimilaritySet(a, 1.5)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_adversarial_loss_is_the_straightforward_one_with_its_gradients(n: int, seed: int) -> None:
    objective = Objective(lambda1=1.0, lambda2=0.7, samples=6)
    losses, gradients = [], []
    for fast in (True, False):
        producer, z, labels, similar = setting(n, seed)
        r = producer.representation
        if fast:
            loss = producer.losses(z, labels, objective, similar, stream=STREAM)
        else:
            t = draw(similar, B, objective, STREAM)
            points = similar.move(z, t)  # (B, s, q)
            r.eval()
            with torch.no_grad():
                distances = (r(points.flatten(0, 1)).view(B, 6, -1) - r(z)[:, None]).norm(dim=2)
            r.train()
            worst = points[torch.arange(B), distances.argmax(1)]
            out = r(z)
            loss = F.cross_entropy(producer.aux(out), labels) + 0.7 * (out - r(worst)).norm(dim=1).mean()
        loss.backward()
        losses.append(loss.item())
        gradients.append([p.grad.clone() for p in producer.parameters() if p.grad is not None])
        buffers = [buffer.clone() for buffer in r.buffers()]
        gradients[-1] += [buffer.double() for buffer in buffers]  # running statistics must agree, too
    assert losses[0] == pytest.approx(losses[1], rel=1e-10)
    for ours, plain in zip(*gradients, strict=True):
        assert torch.allclose(ours, plain, rtol=1e-7, atol=1e-10)


def test_data_augmentation_is_the_straightforward_one() -> None:
    objective = Objective(samples=4, augments=True)
    producer, z, labels, similar = setting()
    loss = producer.losses(z, labels, objective, similar, stream=STREAM)
    producer, z, labels, similar = setting()
    points = similar.move(z, draw(similar, B, objective, STREAM)).flatten(0, 1)
    logits = torch.cat([producer.aux(producer.representation(z)), producer.aux(producer.representation(points))])
    expected = F.cross_entropy(logits, torch.cat([labels, labels.repeat_interleave(4)]))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-10)


def test_the_reconstruction_loss_is_the_mean_length_of_what_is_lost() -> None:
    producer, z, labels, similar = setting()
    loss = producer.losses(z, labels, Objective(0.0, 0.0, 0.5), similar, stream=STREAM)
    producer, z, labels, _ = setting()
    assert producer.decoder is not None
    expected = 0.5 * (z - producer.decoder(producer.representation(z))).norm(dim=1).mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)


def test_the_attack_takes_the_farthest() -> None:
    producer, z, _, similar = setting()
    r = producer.representation
    t = similar.uniform(B, 50, stream=STREAM)
    u, b = r.linears[0](z), r.linears[0].weight @ similar.basis
    worst = farthest(r, u.detach(), b.detach(), t)
    r.eval()
    with torch.no_grad():
        distances = (r(similar.move(z, t).flatten(0, 1)).view(B, 50, -1) - r(z)[:, None]).norm(dim=2)
    assert torch.equal(worst, t[torch.arange(B), distances.argmax(1)])


def test_similar_people_are_drawn_around_another_picture_of_the_person_if_there_is_one() -> None:
    """Straightforwardly: every drawn z″ + A t is mapped whole, and the farthest from R(z) is taken."""
    objective = Objective(lambda2=0.7, samples=6)
    producer, z, labels, similar = setting()
    other = z + 0.3 * torch.randn(z.shape, generator=STREAM.child("other").torch(), dtype=z.dtype)
    loss = producer.losses(z, labels, objective, similar, stream=STREAM, other=other)
    producer, z, labels, similar = setting()
    r, points = producer.representation, similar.move(other, draw(similar, B, objective, STREAM))
    r.eval()
    with torch.no_grad():
        distances = (r(points.flatten(0, 1)).view(B, 6, -1) - r(z)[:, None]).norm(dim=2)
    r.train()
    own, there = r(z), r(points[torch.arange(B), distances.argmax(1)])
    expected = F.cross_entropy(producer.aux(own), labels) + 0.7 * (own - there).norm(dim=1).mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-9)


def test_the_cube_of_the_published_program_is_far_larger_than_the_ball() -> None:
    """49 coefficients, each uniform in [−ε, ε], have a mean length of 4ε; at the rank they move people as far."""
    means = torch.randn(Q, 14, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    a = torch.stack([means[:, j] - means[:, i] for i in range(7) for j in range(7, 14)], 1)
    similar = SimilaritySet(a, 1.0)
    ball, cube = (draw(similar, 200, Objective(samples=10, region=region), STREAM) for region in ("ball", "cube"))
    assert ball.shape == cube.shape == (200, 10, 13)
    assert ball.norm(dim=2).max() <= 1 + 1e-9
    whole = torch.rand(200, 10, 49, generator=STREAM.torch()).double() * 2 - 1
    assert torch.allclose(cube @ similar.basis.T, whole @ a.T, atol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lambda1": 0.0}, r"The weights of the losses \(lambda1, lambda2, lambda3\) are all 0"),
        ({"lambda2": -0.1}, "'lambda2' is -0.1, but must be a number from 0 to 1,000,000"),
        ({"lambda3": math.nan}, "'lambda3' is nan"),
        ({"samples": 0}, "'samples' is 0, but must be a whole number from 1 to 10,000"),
        ({"region": "sphere"}, "There is no region 'sphere'"),
        ({"augments": True, "lambda2": 0.1}, "Data augmentation has no adversarial loss"),
    ],
)
def test_impossible_objectives_are_refused(wrong: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Objective(**wrong)
