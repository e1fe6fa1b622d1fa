"""A run of every stage on a tiny world, made once."""

from pathlib import Path

import pytest

from lassi.study.recipe import load_recipe
from lassi.study.run import Run
from lassi.study.stages import run_recipe

TINY = """
[data]
name = "shapes"
size = 16
learn_from = "train-biased"
every = 4800
scenes = 10

[data.at_most]
train = 600
train-biased = 500
valid = 100

[flow]
levels = 2
flows = 2
channels = 8

[flow.train]
steps = 30
batch = 16
warmup = 5
validate_every = 10
validate_on = 32

[representation]
widths = [32, 16]
epochs = 3
batch = 100

[classifier]
epochs = 2

[baselines]
epochs = 1
batch = 100

[[experiment]]
target = "object_hue"
sensitive = [["orientation"]]
directions = "pairs"

[experiment.methods]
naive = { sigma_rs = 1.0 }
dataaug = { samples = 2, sigma_rs = 1.0 }
lassi = { lambda2 = 0.1, samples = 2, sigma_rs = 0.5 }

[[experiment]]
target = "shape=cube"
tasks = ["scale", "shape"]
sensitive = [["wall_hue=0.1"], ["wall_hue=0.1", "floor_hue=0.2"]]
baselines = ["resnet", "mlp"]

[experiment.methods]
lassi = { lambda1 = 0.0, lambda2 = 0.1, lambda3 = 0.1, sigma_rs = 0.1 }

[run]
seeds = [42, 0]
"""


@pytest.fixture(scope="session")
def tiny_recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipes") / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def tiny_run(tiny_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    run_recipe(load_recipe(str(tiny_recipe)), folder, threads=1)
    return Run.open(folder, threads=1)
