"""No certificate or figure is taken for that of another picture, model or setting."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.stage import Missing
from lassi.base.streams import Stream
from lassi.certify.method import Crowd, People
from lassi.certify.store import KeptCertificates
from lassi.data.dataset import Images
from lassi.data.edits import edit_named
from lassi.flow.copies import Copier, KnownCopies
from lassi.pipeline.stages import run_recipe
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.report.write import write_report
from lassi.results.paper.shown import Pictures
from lassi.results.store import read_results
from lassi.results.tables import tables
from lassi.run.auditor import Auditor
from lassi.run.end_points import load_end_points, make_end_points
from lassi.run.picture import certify_picture
from lassi.run.population import SCENES
from lassi.run.run import Run

NANO = Path(__file__).parents[1] / "nano.toml"
ONE = Compute(threads=1)
REPLACING = Compute(threads=1, replace=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nano") / "run"
    run_recipe(str(NANO), folder, compute=ONE)
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def test_two_pictures_certified_by_one_auditor_have_certificates_of_their_own(finished: Path, tmp_path: Path) -> None:
    run = Run.open(finished)
    for number in range(3):
        picture = run.dataset.images([7 * number])[0].transpose(1, 2, 0)
        Image.fromarray(picture).save(tmp_path / f"{number}.png")
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    together = Auditor.of(run, run.cells[-1])
    radii = [certify_picture(together, path, "smoothed-modular").certificate.figures["centre_radius"] for path in paths]
    alone = []
    for path in paths:
        opened = Run.open(finished)
        audit = certify_picture(Auditor.of(opened, opened.cells[-1]), path, "smoothed-modular")
        alone.append(audit.certificate.figures["centre_radius"])
    assert radii == alone
    assert len(set(radii)) == 3


def test_people_of_the_same_numbers_but_other_latents_are_other_people(finished: Path) -> None:
    run = Run.open(finished)
    auditor = Auditor.of(run, run.cells[-1])
    kept = auditor.people("test")
    people = kept.at(range(len(kept)))
    moved = People(people.z.flip(0), people.numbers)
    first, second = (auditor.certifier("smoothed-modular", some)(some) for some in (people, moved))
    assert [c.figures["centre_radius"] for c in first] != [c.figures["centre_radius"] for c in second]


def test_a_run_that_is_open_while_a_model_is_replaced_does_not_certify_the_new_one(copied: Path) -> None:
    held = Run.open(copied)
    cell = held.cells[-1]
    held.load_network(cell)
    changed = load_recipe(str(NANO), ["representation.learning_rate=0.003"])
    run_recipe(changed, copied, compute=REPLACING)
    with pytest.raises(Missing, match="was replaced while this run was open"):
        held.load_network(cell)


def test_a_report_refuses_results_about_other_models(copied: Path) -> None:
    kept = (copied / "results.json").read_bytes()
    assert write_report(copied, copied / "page.html").is_file()
    changes = ["representation.learning_rate=0.003"]
    run_recipe(load_recipe(str(NANO), changes), copied, compute=REPLACING)
    (copied / "results.json").write_bytes(kept)
    with pytest.raises(UserError, match="are about other models or settings than the run has now"):
        write_report(copied, copied / "other.html")
    run_recipe(load_recipe(str(NANO), [*changes, "certify.n=1100"]), copied, compute=REPLACING)
    newer = read_results(copied)
    (copied / "results.json").write_bytes(kept)
    with pytest.raises(UserError, match="are about other models or settings"):
        write_report(copied, copied / "other.html")
    assert newer.cells[0].made_of["smoothed-modular"] != newer.cells[0].made_of["smoothed-joint"]


def test_stopping_early_on_a_finished_run_keeps_its_certificates_in_the_results(copied: Path) -> None:
    before = (copied / "results.json").read_bytes()
    run_recipe(str(NANO), copied, until="classifier", compute=ONE)
    assert (copied / "results.json").read_bytes() == before


def test_a_scene_is_judged_once_however_often_it_is_tested(tiny_recipe: Path, tmp_path: Path) -> None:
    run = Run(load_recipe(str(tiny_recipe), ["data.every=3", "data.scenes=30"]), tmp_path)
    people = run.people(SCENES)
    assert len(people) == len(set(people.tolist())) == 450
    assert len(np.unique(run.dataset.units(people))) == 30


def test_models_of_one_question_are_certified_alike() -> None:
    recipe = load_recipe("celeba-32").model_dump(mode="json", exclude_none=True)
    naive, lassi = ({**recipe["experiment"][0]} for _ in range(2))
    naive["methods"], lassi["methods"] = ({name: naive["methods"][name]} for name in ("naive", "lassi"))
    lassi["certify"] = ["exact-joint"]
    recipe["experiment"] = [naive, lassi]
    with pytest.raises(UserError, match="models of one question are certified by different methods"):
        Recipe.model_validate_json(json.dumps(recipe))


def test_the_draws_at_end_points_are_a_setting_of_their_own(copied: Path) -> None:
    """With two draws the smoothed model nearly always abstains; certificates do not depend on it."""
    run = Run.open(copied)
    cell = next(cell for cell in run.cells if cell.method.name == "lassi")
    many = Auditor.of(run, cell)
    few = replace(many, settings=replace(many.settings, n_ends=2))
    assert list(few.certificates("smoothed-modular")) == list(many.certificates("smoothed-modular"))
    with pytest.raises(UserError, match="has not been made yet"):
        load_end_points(few, "smoothed-modular")
    make_end_points(few, "smoothed-modular")
    assert not any(load_end_points(few, "smoothed-modular").equal)
    assert load_end_points(many, "smoothed-modular") is not None, "both are kept"


def test_end_points_are_left_out_where_an_experiment_says_so(copied: Path) -> None:
    content = load_recipe(str(NANO)).model_dump(mode="json", exclude_none=True)
    content["experiment"][0]["end_points"] = False
    run = run_recipe(Recipe.model_validate(content, strict=False), copied, compute=REPLACING)
    assert all(cell.certificates["smoothed-modular"].end_points is None for cell in read_results(run.folder).cells)
    assert "–" in (run.folder / "report.html").read_text()


def test_certificates_under_an_edit_are_those_of_the_edited_pictures_themselves(finished: Path) -> None:
    """By hand: the picture is edited, encoded and certified as a picture of its own, with the class of the original."""
    run = Run.open(finished)
    auditor = replace(Auditor.of(run, run.cells[-1]), under="jpeg-90")
    plain, people = Auditor.of(run, run.cells[-1]), auditor.judged()
    _, found = auditor.certify("exact-joint", people)
    _, alone = plain.certify("exact-joint", people)
    edited = np.stack(
        [edit_named("jpeg-90").copies(image, 1, stream=Stream(0, ""))[0] for image in _images(run, people)]
    )
    copies = People(torch.from_numpy(run.encode(edited)), people.numbers)
    by_hand = [
        own.is_certified and copy.is_certified and copy.predicted == own.predicted
        for own, copy in zip(alone, plain.certifier("exact-joint", copies)(copies), strict=True)
    ]
    assert [certificate.is_certified for certificate in found] == by_hand
    assert sum(by_hand) > 0


def _images(run: Run, people: Crowd) -> Images:
    return run.dataset.images(np.asarray(people.numbers))


def test_a_certificate_under_noise_does_not_depend_on_who_else_is_certified(finished: Path, tmp_path: Path) -> None:
    run = Run.open(finished)
    auditor = replace(Auditor.of(run, run.cells[-1]), under="noise")
    people = auditor.judged()
    file, _ = auditor.certify("exact-joint", people, tmp_path / "all.jsonl")
    some = people.at([5, 2])
    alone, _ = auditor.certify("exact-joint", some, tmp_path / "some.jsonl")
    assert [alone[person].line() for person in some.numbers] == [file[person].line() for person in some.numbers]
    assert any(certificate.figures.get("held") == 59 for certificate in KeptCertificates(file, people.numbers))
    with pytest.raises(UserError, match="different settings"):
        Auditor.of(run, run.cells[-1]).certify("exact-joint", some, tmp_path / "some.jsonl")


def test_copies_are_encoded_once_for_all_models(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second model's certificates are those of a run that has encoded nothing yet."""
    run, encoded = Run.open(finished), list[int]()
    run.known_copies = KnownCopies(most=2**22)
    plain = Copier.__call__

    def counted(self: Copier, images: Images, numbers: Sequence[int]) -> torch.Tensor:
        encoded.extend(numbers)
        return plain(self, images, numbers)

    monkeypatch.setattr(Copier, "__call__", counted)
    of_two = [cell for cell in run.cells if cell.sensitive == run.cells[-1].sensitive][-2:]
    for place, cell in enumerate(of_two):
        auditor = replace(Auditor.of(run, cell), under="noise")
        _, found = auditor.certify("exact-joint", auditor.judged(), tmp_path / f"{place}.jsonl")
    assert len(encoded) == len(set(encoded)) > 0
    again = replace(Auditor.of(Run.open(finished), of_two[-1]), under="noise")
    _, alone = again.certify("exact-joint", again.judged(), tmp_path / "again.jsonl")
    assert [own.line() for own in alone] == [own.line() for own in found]
    assert len(encoded) > len(set(encoded))


def test_copies_that_do_not_fit_into_memory_are_encoded_again(finished: Path) -> None:
    run = Run.open(finished)
    copier, image = Copier.under(run.glow, "noise", 3, seed=1), run.images("test")[0]
    small, large = KnownCopies(most=4 * run.glow.latent_dim), KnownCopies(most=2**20)
    first = [known.of(copier, lambda: image, number) for known in (small, large) for number in (7, 8)]
    again = [known.of(copier, lambda: image, number) for known in (small, large) for number in (7, 8)]
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
    assert torch.equal(first[1], first[3])
    assert [one is other for one, other in zip(first, again, strict=True)] == [True, False, True, True]


def test_a_picture_is_certified_under_an_edit_of_itself(finished: Path, tmp_path: Path) -> None:
    run = Run.open(finished)
    auditor = replace(Auditor.of(run, run.cells[-1]), under="noise")
    numbers = auditor.judged().numbers
    found = []
    for number in numbers[:6]:
        Image.fromarray(run.dataset.images([number])[0].transpose(1, 2, 0)).save(tmp_path / f"{number}.png")
        found.append(certify_picture(auditor, tmp_path / f"{number}.png", "exact-joint").certificate)
    kept = auditor.certify("exact-joint", auditor.judged())[1]
    assert [c.outcome for c in found] == [c.outcome for c in kept][:6]
    assert {c.under for c in found} == {"noise"}


def test_certificates_under_edits_that_a_recipe_asks_for_are_counted_in_results_page_and_table(
    copied: Path, lassi: Callable[..., tuple[int, str, str]]
) -> None:
    plain = read_results(copied)
    changes = ['certify.under.edits=["noise", "jpeg-95"]', "certify.under.variants=60"]
    changed = load_recipe(str(NANO), changes)
    run = run_recipe(changed, copied, compute=REPLACING)
    for cell, before, found in zip(run.cells, plain.cells, read_results(copied).cells, strict=True):
        assert [(own.method, own.edit) for own in found.under] == [
            (method, edit) for method in ("exact-joint", "exact-modular") for edit in ("noise", "jpeg-95")
        ]
        for own in found.under:
            auditor = replace(Auditor.of(run, cell), under=own.edit)
            certificates = auditor.certificates(own.method)
            certified = sum(certificate.is_certified for certificate in certificates)
            assert {c.figures.get("variants") for c in certificates} <= {None, 60 if own.edit == "noise" else 1}
            assert own.result.outcomes.certified == certified <= found.certificates[own.method].outcomes.certified
            assert own.result.alpha == (0.05 if own.edit == "noise" and certified else 0.0)
        assert before.under == []
        assert found.certificates["exact-joint"].share == before.certificates["exact-joint"].share
    assert "with copies: ±1 grey level" in (copied / "report.html").read_text()
    share = read_results(copied).cells[-1].under[0].result.share.interval.share
    code, out, _ = lassi("recheck", str(copied), "--sample", "2")
    assert code == 0, out
    table = tables(read_results(copied), Pictures("shapes", 16))[0]
    assert dict(zip(table.columns, table.rows[-1], strict=True))["exact-joint, noise"] == f"{share:.1%}"


def test_edits_without_an_exact_method_are_refused_before_any_work(tmp_path: Path) -> None:
    changes = ['certify.under.edits=["noise"]', 'certify.methods=["smoothed-modular"]']
    with pytest.raises(UserError, match="no experiment is certified by an exact method"):
        run_recipe(load_recipe(str(NANO), changes), tmp_path / "run", compute=ONE)
