"""lassi run, flow and import: train a flow from a recipe, check it, sample from it, import another."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lassi.base.streams import Stream
from lassi.bench.plain_glow import PlainGlow
from terminal import Terminal

TINY = """
[data]
name = "shapes"
size = 16

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
"""


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    (tmp_path / "tiny.toml").write_text(TINY)
    return "tiny.toml"


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "tiny.toml").write_text(TINY)
    command = [sys.executable, "-m", "lassi.cli.main", "run", "tiny.toml", "--threads", "1"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "runs/tiny"


def test_a_recipe_is_run_stage_by_stage(lassi, recipe: str, tmp_path: Path) -> None:
    code, out, err = lassi("run", recipe, "--until", "flow", "--threads", "1", "--out", "here")
    assert code == 0
    assert "wrote here/flow\nwrote here/flow-check\n" in out
    assert "training the flow: 480 images" in err
    assert "bits/dim" in err
    weights = (tmp_path / "here/flow/weights.safetensors").read_bytes()
    assert "training" not in lassi("run", recipe, "--threads", "1", "--out", "here")[2], "the flow exists already"
    changed = ["--set", "flow.train.steps=20", "--set", "run.seeds=[7]"]
    code, _, err = lassi("run", recipe, *changed, "--threads", "1", "--out", "here")
    assert code == 1
    assert "'here' holds a run of a different recipe (flow.train.steps is 30, not 20" in err
    assert "this would replace flow." in err
    assert "add --replace to change this run" in err
    assert (tmp_path / "here/flow/weights.safetensors").read_bytes() == weights
    assert lassi("run", recipe, *changed, "--threads", "1", "--out", "here", "--replace")[0] == 0
    assert (tmp_path / "here/flow/weights.safetensors").read_bytes() != weights


def test_sample_writes_pictures(lassi, run_folder: Path, tmp_path: Path) -> None:
    for seed in ("0", "1"):
        arguments = ["--count", "5", "--seed", seed, "--out", f"{seed}.png", "--json", "--threads", "1"]
        _, out, _ = lassi("flow", "sample", str(run_folder), *arguments)
        assert json.loads(out)["samples"] == f"{seed}.png"
    assert (tmp_path / "0.png").read_bytes() != (tmp_path / "1.png").read_bytes()
    with Image.open(tmp_path / "0.png") as sheet:
        assert sheet.width > 5 * 72


def test_check_saves_its_report(lassi, run_folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(2, 768)) * 0.1)
    code, out, _ = lassi("flow", "check", str(run_folder), "--along", "a.npy", "--count", "8", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["is_good"]
    assert [trip["length"] for trip in found["round_trips"]] == [0, 1, 2, 5]
    assert json.loads((run_folder / "flow-check/meta.json").read_text())["figures"] == found
    assert "Invertible up to rounding error." in lassi("flow", "check", str(run_folder), "--count", "8")[1]


def test_import_reads_a_published_checkpoint_and_checks_it(lassi, tmp_path: Path) -> None:
    with Stream(0, "published").global_torch():
        plain = PlainGlow(16, 2, 2, 6, affine=False, lu=True)
    torch.save(plain.state_dict(), tmp_path / "glow.pt")
    code, out, _ = lassi("import", "glow", "glow.pt", "--size", "16", "--out", "imported", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["settings"]["hidden"] == 6
    assert found["check"]["is_good"]
    assert lassi("flow", "sample", "imported", "--count", "2")[0] == 0


def test_a_bad_checkpoint_writes_nothing(lassi, tmp_path: Path) -> None:
    torch.save({"blocks.0.flows.0.actnorm.loc": torch.zeros(1, 12, 1, 1)}, tmp_path / "glow.pt")
    code, _, err = lassi("import", "glow", "glow.pt", "--size", "16", "--out", "imported")
    assert code == 1
    assert "glow.pt: 'blocks.0.flows.0.coupling.net.4.conv.bias' is missing" in err
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("flow.train.stps=5", "tiny.toml: the key 'flow.train.stps' is unknown.\n       Did you mean 'steps'?"),
        ("flow.levls=5", "the key 'flow.levls' is unknown.\n       Did you mean 'levels'?"),
        ("flow.train.steps=many", "'flow.train.steps' is 'many'. It must be a whole number from 1"),
        ("flow.levels=6", "16×16 cannot be squeezed 6 times"),
        ("data.name=celebA", "There is no dataset 'celebA'"),
        ("steps", "The change 'steps' is not of the form key=value"),
        ("flow.train.memory=tight", "'flow.train.memory' is 'tight'. It must be full or reversible"),
        ("flow.levels=20000", "'flow.levels' is 20000. It must be a whole number from 1 to 10"),
        ("flow.train.clip=-1.0", "'flow.train.clip' is -1.0. It must be a number above 0"),
        ("data.name.x=1", "refers to 'name', which is not a table"),
    ],
)
def test_a_wrong_recipe_is_reported_with_its_key(
    lassi, recipe: str, tmp_path: Path, change: str, sentence: str
) -> None:
    code, _, err = lassi("run", recipe, "--set", change, "--out", "here")
    assert code == 1
    assert sentence in err
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "shaps"], "Did you mean 'shapes'?"),
        (["run", "shapes", "--device", "nonsense"], "The device 'nonsense' is not available on this machine"),
        (["run", "nowhere.toml"], "There is no recipe 'nowhere.toml'"),
        (["run", "shapes", "--until", "flw"], "Did you mean 'flow'?"),
        (["flow", "sample", "nowhere"], "There is no artefact in 'nowhere'"),
        (["flow", "check", "nowhere"], "There is no artefact in 'nowhere'"),
        (["import", "glow", "nowhere.pt", "--size", "16"], "There is no file 'nowhere.pt'"),
    ],
)
def test_what_does_not_exist_is_reported(lassi, arguments: list[str], sentence: str) -> None:
    code, _, err = lassi(*arguments)
    assert code == 1
    assert sentence in err


@pytest.mark.slow
def test_a_person_at_a_terminal_sees_progress_and_can_interrupt_and_resume(tmp_path: Path, recipe: str, until) -> None:
    """Ctrl-C half-way shows how to resume, and the result is the same as without the interruption."""
    arguments = ["run", recipe, "--threads", "1", "--set", "flow.train.steps=300"]
    terminal = Terminal(arguments, tmp_path)
    until(terminal.shows("bits/dim"))
    assert "training the flow" in terminal.seen
    assert "images/s" in terminal.seen
    assert terminal.interrupt() == 130
    assert "To resume, run the same command again: lassi run tiny.toml" in terminal.seen
    assert (tmp_path / "runs/tiny/flow.unfinished").is_dir()
    for more in ([], ["--out", "uninterrupted"]):
        subprocess.run([sys.executable, "-m", "lassi.cli.main", *arguments, *more], cwd=tmp_path, check=True)
    written = sorted(path.name for path in (tmp_path / "runs/tiny").iterdir())
    assert written == ["flow", "flow-check", "recipe.json", "threads.json"]
    for file in ("flow/weights.safetensors", "flow/meta.json", "flow-check/meta.json"):
        assert (tmp_path / "runs/tiny" / file).read_bytes() == (tmp_path / "uninterrupted" / file).read_bytes()


def test_import_takes_vectors_representations_and_classifiers(lassi, run_folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.ones((6, 8, 8)), np.ones((24, 4, 4)))
    arguments = ["--flow", str(run_folder), "--attribute", "Young", "--out", "young", "--json"]
    code, out, err = lassi("import", "vectors", "a.npz", *arguments)
    assert (code, err) == (0, "")
    assert json.loads(out)["norms"] == pytest.approx([np.sqrt(768)])
    torch.save({"proj.weight": torch.ones(2, 5), "proj.bias": torch.zeros(2)}, tmp_path / "c.pth")
    assert "wrote c" in lassi("import", "classifier", "c.pth", "--out", "c")[1]
    r = {"encoder.mlp.0.weight": torch.ones(5, 768), "encoder.mlp.0.bias": torch.zeros(5)}
    r |= {"output_layer.running_mean": torch.zeros(5), "output_layer.running_var": torch.ones(5)}
    torch.save(r, tmp_path / "r.pth")
    assert "widths [5]" in lassi("import", "representation", "r.pth", "--out", "r")[1]
    code, _, err = lassi("import", "classifier", "r.pth", "--out", "d")
    assert code == 1
    assert "r.pth has the keys encoder.mlp.0.bias" in err
    assert not (tmp_path / "d").exists()
