"""Latents are read from their memory map batch by batch: memory does not grow with the number of people."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PEOPLE, LATENT_DIM = 200_000, 12_288  # 9.8 GB

TRAIN = """
import sys
import numpy as np
import torch
from lassi.base.streams import Stream
from lassi.base.compute import Compute
from lassi.base.train import TrainSettings, train
from lassi.flow.latents import Labelled
from lassi.representation.network import WIDTHS, Representation
from lassi.representation.objective import Objective, Producer
from lassi.representation.train import Lessons, ProducerTrainee, RepresentationTraining
from lassi.similarity.sets import SimilaritySet

z = np.load(sys.argv[1], mmap_mode="r")
labels = np.random.default_rng(0).integers(0, 2, len(z))
people, held_out = Labelled(z, labels), Labelled(z[:1000], labels[:1000])
r = Representation(z.shape[1], WIDTHS, stream=Stream(0, "r"))
model = Producer(r, 2, reconstructs=False, stream=Stream(0, "p"))
similar = SimilaritySet(torch.randn(z.shape[1], 1, generator=Stream(0, "a").torch()), 1.0)
settings = RepresentationTraining(Objective(lambda2=0.05))
trainee = ProducerTrainee(model, Lessons(people, held_out, 2, similar), settings, Stream(0, "t"))
most = 0
whole_loss = trainee.loss

def loss(step):
    global most
    found = whole_loss(step)
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    most = max(most, int(status["RssAnon"].split()[0]))
    return found

trainee.loss = loss
train(trainee, TrainSettings(4, decay="constant", validate_every=4), compute=Compute(threads=1))
print(len({row for step in range(4) for row in trainee.batches(step)}), most)
"""


@pytest.mark.slow
def test_ten_gigabytes_of_latents_train_within_four_of_memory(tmp_path: Path) -> None:
    """A file of the full shape, mostly holes; batches come from all over it."""
    path = tmp_path / "z.npy"
    np.lib.format.open_memmap(path, "w+", np.float32, (PEOPLE, LATENT_DIM))[::50_000] = 1.0
    assert path.stat().st_size > 9.8e9
    done = subprocess.run([sys.executable, "-c", TRAIN, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    people, kilobytes = map(int, done.stdout.split())
    assert people == 2000, "four batches of 500, nobody twice"
    assert 0.2e6 < kilobytes < 4e6 / 1.024
