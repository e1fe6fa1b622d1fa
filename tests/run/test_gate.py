"""The gate: what makes certificates say less than they seem to say is named everywhere, and --strict refuses it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.certify.fair_model import FairModel
from lassi.certify.method import People
from lassi.certify.store import CertificateFile
from lassi.certify.weakness import Finding, Weakness
from lassi.consumer.scores import Scores
from lassi.flow.density import Density
from lassi.pipeline.stages import run_recipe
from lassi.recipe.recipe import load_recipe
from lassi.results.store import read_results, write_results
from lassi.results.summary import ModelSummary
from lassi.run import gate
from lassi.run.auditor import Auditor
from lassi.run.run import Run
from lassi.similarity.efficacy import Efficacy, Share

NANO = Path(__file__).parents[1] / "nano.toml"
ONE_STEP = ["flow.train.steps=1", "flow.train.warmup=0", "flow.train.validate_every=1"]
Lassi = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def one_step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose flow was trained for a single step."""
    folder = tmp_path_factory.mktemp("one-step") / "run"
    run_recipe(load_recipe(str(NANO), ONE_STEP), folder, compute=Compute(threads=1))
    return folder


def test_a_flow_of_one_step_is_named_in_certificates_summary_results_and_page(one_step: Path, lassi: Lassi) -> None:
    run = Run.open(one_step)
    auditor = Auditor.of(run, run.cells[-1])
    assert Weakness.WEAK_FLOW in {finding.weakness for finding in auditor.findings}
    for certificate in auditor.certificates("exact-joint"):
        assert {"weak-flow", "unjudged"} <= set(certificate.warnings)
    code, out, _ = lassi("certify", str(one_step), "--method", "exact-joint")
    assert code == 0
    assert "Warning: The generative model is hardly better than independent pixels" in out
    code, out, _ = lassi("certify", str(one_step), "--method", "exact-joint", "--json")
    assert {"weak-flow", "unjudged"} <= {warning["name"] for warning in json.loads(out)["findings"]}
    found = read_results(one_step)
    assert all(Weakness.WEAK_FLOW in {own.weakness for own in cell.warnings} for cell in found.cells)
    page = (one_step / "report.html").read_text()
    assert '<p class="claim weak">' in page
    assert page.count("hardly better than independent pixels") > len(found.cells)


def test_strict_refuses_before_any_certificate_is_made(one_step: Path, tmp_path: Path, lassi: Lassi) -> None:
    out = tmp_path / "c.jsonl"
    code, _, err = lassi("certify", str(one_step), "--strict", "--out", str(out))
    assert code == 1
    assert "independent pixels" in err
    assert "without --strict" in err or "Leave out --strict" in err
    assert not out.exists()
    Image.fromarray(Run.open(one_step).dataset.images([3])[0].transpose(1, 2, 0)).save(tmp_path / "a.png")
    code, _, err = lassi("certify", str(one_step), "--strict", "--image", str(tmp_path / "a.png"))
    assert (code, "independent pixels" in err) == (1, True)
    assert not list(tmp_path.glob("*similar*"))


def test_a_certificate_whose_warnings_were_removed_is_refused(one_step: Path) -> None:
    run = Run.open(one_step)
    auditor = Auditor.of(run, run.cells[-1])
    people = auditor.judged()
    certifier = auditor.certifier("exact-joint", people)
    kept = auditor.file(certifier)
    silent = [replace(certificate, warnings=()) for certificate in kept.of(people.numbers)]
    forged = CertificateFile(kept.path.with_name("forged.jsonl"), kept.terms)
    with forged.writing():
        forged.append(silent, 1.0)
    with pytest.raises(UserError, match="has other warnings: none"):
        auditor.certify("exact-joint", people, forged.path)
    forged.path.unlink()


def test_a_picture_unlike_all_others_is_named_and_an_ordinary_one_is_not(one_step: Path) -> None:
    run = Run.open(one_step)
    auditor = Auditor.of(run, run.cells[-1])
    noise = np.random.default_rng(0).integers(0, 256, (2, 3, 16, 16)).astype(np.uint8)
    flat = np.zeros((1, 3, 16, 16), np.uint8)
    usual = run.dataset.images(run.people("valid"))
    for images, expected in ((noise, False), (flat, False), (usual, True)):
        log_prob = run.encode_with_density(images)[1]
        named = ["atypical" not in own for own in auditor.warnings(log_prob)]
        assert np.mean(named) > 0.9 if expected else not any(named)


def efficacy(**changes: object) -> Efficacy:
    found = Efficacy("Young", "mean-difference", None, 1.0, 100, Share(3, 60), Share(2, 40), 0.04, {"Smiling": 0.5})
    return replace(found, **changes)


@pytest.mark.parametrize(
    ("found", "strength"),
    [
        (efficacy(), 0.04),
        (efficacy(change=-0.3), 0.3),
        (efficacy(appears=Share(30, 60)), 0.240),  # 32 of 100, from a table of Clopper–Pearson bounds
        (efficacy(appears=Share(1, 1), disappears=Share(0, 0)), 0.05),
        (efficacy(appears=Share(0, 0), disappears=Share(0, 0)), 0.04),
        (efficacy(appears=None, disappears=None, change=None), 0.5),
        (efficacy(appears=None, disappears=None, change=None, others={"Blond_Hair": 0.9}), 0.0),
    ],
)
def test_the_strength_of_directions_is_the_most_that_they_change(found: Efficacy, strength: float) -> None:
    """Two people are no evidence, nor is a judge who does not see."""
    assert gate.strength_of(found, ["Smiling"]) == pytest.approx(strength, abs=5e-3)


class Known:
    """A run of which everything that the gate asks is given."""

    def __init__(self, found: Efficacy, saved: float = 1.0, balanced: float = 0.9) -> None:
        self._found, self._balanced = found, balanced
        self.density = Density(2.0, 2.0 + saved, 100, -1.0, 1.0)
        self.attributes = self.judged_attributes = ["Young"]

    def load_efficacy(self, *_: object) -> Efficacy:
        return self._found

    def judge_scores(self, _: str) -> Scores:
        return Scores(0.9, self._balanced, 0.75, 500)

    def num_classes(self, _: str) -> int:
        return 2

    def too_few(self, attribute: str) -> str:
        return f"Only 3 pictures have {attribute} = yes."


class Asked:
    sensitive, experiment = ("Young",), None


@pytest.mark.parametrize(
    ("run", "weaknesses"),
    [
        (Known(efficacy(change=0.4)), []),
        (Known(efficacy(change=0.4), saved=0.09), [Weakness.WEAK_FLOW]),
        (Known(efficacy()), [Weakness.IDLE_DIRECTION]),
        (Known(efficacy(change=0.4), balanced=0.64), [Weakness.UNJUDGED]),
        (Known(efficacy(change=None, appears=None, disappears=None)), [Weakness.UNJUDGED]),
    ],
)
def test_each_weakness_is_found_where_it_is(run: Known, weaknesses: list[Weakness]) -> None:
    found: list[Finding] = [*gate.about_flow(run), *gate.about_directions(run, Asked)]
    assert [finding.weakness for finding in found] == weaknesses
    nearer = [finding.weakness for finding in gate.about_directions(run, Asked, 0.5)]
    assert nearer == [Weakness.UNJUDGED], "what half the step changes was not measured"
    assert [*gate.about_directions(run, Asked, 2.0)] == [*gate.about_directions(run, Asked)]
    for finding in found:
        assert "\n" not in str(finding)
        assert str(finding).endswith(".")


def test_a_model_in_python_states_the_same_warnings_also_after_it_was_saved(one_step: Path, tmp_path: Path) -> None:
    run = Run.open(one_step)
    model = run.model()
    usual = run.images("test")[:3]
    flat = np.zeros((1, 3, 16, 16), np.uint8)
    model.save(tmp_path / "model")
    for own in (model, FairModel.load(tmp_path / "model")):
        expected = [*Auditor.of(run, run.cells[-1]).judged().warnings[:3]]
        found = [certificate.warnings for certificate in own.certify(np.concatenate([usual, flat]))]
        assert found[:3] == expected
        assert found[3] == (*expected[0], "atypical")
    bare = FairModel(model.flow, model.similarity, model.representation, model.classifier)
    assert [certificate.warnings for certificate in bare.certify(flat)] == [()]


@pytest.fixture
def copied(one_step: Path, tmp_path: Path) -> Path:
    shutil.copytree(one_step, tmp_path / "run")
    return tmp_path / "run"


def test_models_with_the_same_weights_have_the_weaknesses_of_their_own_directions(
    one_step: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A naive model is the same for every sensitive set; what its certificates mean is not."""
    run = Run.open(one_step)
    cell = run.cells[0]
    other = replace(cell, experiment=cell.experiment.model_copy(update={"radius": 2.0}))
    assert cell.classifier_folder == other.classifier_folder
    monkeypatch.setattr("lassi.run.run.findings", lambda _, own, radius: [own.experiment.radius, radius])
    assert run.findings_about(cell) == [1.0, None]
    assert run.findings_about(other) == [2.0, None]
    assert run.findings_about(cell, 0.1) == [1.0, 0.1]


def test_warnings_that_were_removed_from_results_are_refused_by_report_and_recheck(copied: Path, lassi: Lassi) -> None:
    results = read_results(copied)
    silent = replace(results, cells=[replace(cell, warnings=[]) for cell in results.cells])
    better = replace(results, meaning=replace(results.meaning, density=Density(1.0, 3.0, 60, -1e6, 1e6)))
    for forged in (silent, better):
        write_results(forged, copied)
        for command in (["report", str(copied)], ["recheck", str(copied), "--sample", "1"]):
            code, out, err = lassi(*command)
            assert (code, "do not match" in out + err) == (1, True), (command, out, err)


def test_recheck_finds_certificates_whose_warnings_were_removed(copied: Path, lassi: Lassi) -> None:
    run = Run.open(copied)
    auditor = Auditor.of(run, run.cells[-1])
    kept = auditor.file(auditor.certifier("exact-joint", auditor.judged()))
    silent = [replace(own, warnings=()) for own in kept.of(auditor.judged().numbers)]
    kept.path.unlink()
    with (again := CertificateFile(kept.path, kept.terms)).writing():
        again.append(silent, 1.0)
    code, out, err = lassi("recheck", str(kept.path))
    assert (code, "Its warnings are not those that it was made with" in out + err) == (1, True)


def test_what_was_measured_differently_makes_certificates_of_its_own(copied: Path) -> None:
    """Other thresholds or another judge change what certificates state; the old file is kept, not in the way."""
    before = sorted((copied / "certificates").glob("*.jsonl"))
    run = Run.open(copied)
    run.density = replace(run.density, least=-1e9, most=1e9)
    auditor = Auditor.of(run, run.cells[-1])
    file, _ = auditor.certify("exact-joint", auditor.judged())
    assert file.path not in before
    assert set(before) < set((copied / "certificates").glob("*.jsonl"))


def test_people_whose_pictures_nobody_has_seen_have_the_warnings_of_the_model(one_step: Path, tmp_path: Path) -> None:
    run = Run.open(one_step)
    auditor = Auditor.of(run, run.cells[-1])
    _, found = auditor.certify("exact-joint", People(run.z("test")[:2], [0, 1]), tmp_path / "c.jsonl")
    assert {own.warnings for own in found} == {tuple(auditor.reservations.model)}


def test_the_page_names_the_warnings_of_every_seed() -> None:
    cells = [SimpleNamespace(seed=seed, warnings=[]) for seed in (42, 0, 10)]
    everywhere, once = (Finding(weakness, "So it is.") for weakness in (Weakness.WEAK_FLOW, Weakness.BELOW_MAJORITY))
    cells[1].warnings = [once]
    for cell in cells:
        cell.warnings = [everywhere, *cell.warnings]
    found = ModelSummary.warnings.fget(SimpleNamespace(cells=cells))
    assert found == [str(everywhere), f"{once} (seed 0)"]
