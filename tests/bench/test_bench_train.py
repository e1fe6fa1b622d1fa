"""What is measured is the same work: the fast and the straightforward loss agree, step after step."""

import pytest
import torch

from lassi.base.streams import Stream
from lassi.bench.train import plain_losses
from lassi.representation.network import Representation
from lassi.representation.objective import Objective, Producer
from lassi.similarity.sets import SimilaritySet

STREAM = Stream(0, "test")


@pytest.mark.parametrize("n", [1, 3])
def test_both_ways_train_alike(n: int) -> None:
    objective = Objective(lambda2=0.3, samples=5)
    generator = torch.Generator().manual_seed(0)
    z, a = (torch.randn(*shape, generator=generator).double() for shape in ((64, 40), (40, n)))
    labels, similar = (z[:, 0] > 0).long(), SimilaritySet(a, 1.0)
    losses = []
    for way in (lambda p, s: p.losses(z, labels, objective, similar, stream=s),
                lambda p, s: plain_losses(p, z, labels, objective, similar, stream=s)):  # fmt: skip
        r = Representation(40, (32, 16, 8), stream=STREAM.child("r"))
        producer = Producer(r, 2, reconstructs=False, stream=STREAM.child("producer")).double().train()
        optimiser = torch.optim.Adam(producer.parameters(), 1e-3)
        losses.append([])
        for step in range(20):
            optimiser.zero_grad()
            loss = way(producer, STREAM.at(step))
            loss.backward()
            optimiser.step()
            losses[-1].append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-7)
    assert losses[0][-1] < losses[0][0]
