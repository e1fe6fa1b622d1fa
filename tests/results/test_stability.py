"""How far invisible edits move latents, and how often they change a class: counted once more, copy by copy."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from lassi.data.edits import MEASURED, edit_named
from lassi.results.stability import changes, changes_of, moves, picture_changes
from lassi.results.store import read_results
from lassi.results.tables import edits_table
from lassi.run.encoded import COPIES
from lassi.run.run import Run


@pytest.fixture(scope="module")
def run(nano_run: Path) -> Run:
    return Run.open(nano_run)


def copies_of(run: Run, edit: str, person: int) -> np.ndarray:
    """The copies of a person's picture, made again."""
    return run.copier(edit).pictures(run.dataset.images([person])[0], person)


def test_the_kept_copies_are_those_of_the_edited_pictures_of_one_person_per_unit(run: Run) -> None:
    people = run.copied_people("test")
    units = run.dataset.units(people)
    assert len(np.unique(units)) == len(units) == len(np.unique(run.units("test")))
    for edit in MEASURED:
        kept = run.load_copies("test", edit)
        count = COPIES if edit_named(edit).is_random else 1
        assert kept.shape == (len(people), count, run.glow.latent_dim)
        for row in (0, len(people) - 1):
            alone = run.encode(copies_of(run, edit, int(people[row])))
            assert np.allclose(kept[row], alone, atol=1e-4)


def test_moves_are_mean_distances_from_the_picture_itself(run: Run) -> None:
    for found in moves(run, "test"):
        away, people = [], run.copied_people("test")
        for person in people:
            own = run.encode(run.dataset.images([person]))
            there = run.encode(copies_of(run, found.edit, int(person)))
            away += np.linalg.norm(there - own, axis=1).tolist()
        assert found.moved == pytest.approx(np.mean(away), rel=1e-3)
        assert found.people == len(people)


def test_changes_are_counted_per_copy_and_per_person(run: Run) -> None:
    """The class is whether the picture's first grey level is odd, which noise changes for two copies of three."""

    def is_odd(x: Tensor) -> Tensor:
        return (((x[:, 0, 0, 0] + 0.5) * 32).round().long()) % 2

    found = picture_changes(run, "test", is_odd)
    for own in found:
        classes = []
        for person in run.copied_people("test"):
            pictures = np.concatenate([run.dataset.images([person]), copies_of(run, own.edit, int(person))])
            first, *copies = (pictures[:, 0, 0, 0] // 8 % 2).tolist()
            classes.append([copy != first for copy in copies])
        differs = np.array(classes)
        assert own.copies == differs.shape[1]
        assert own.per_copy == pytest.approx(differs.mean())
        assert own.any.share == pytest.approx(differs.any(1).mean())


def test_a_model_of_latents_is_asked_about_every_copy(run: Run) -> None:
    cell = run.cells[0]
    network = run.load_network(cell)
    for own, again in zip(changes_of(run, cell), changes(run, "test", network.predict), strict=True):
        assert own == again
        z = torch.from_numpy(np.array(run.load_copies("test", own.edit)))
        first = network.predict(run.z("test")[run.copied_rows("test")])
        differs = torch.stack([network.predict(z[:, copy]) != first for copy in range(z.shape[1])], 1)
        assert own.per_copy == pytest.approx(differs.double().mean().item())
        assert own.any.share == pytest.approx(differs.any(1).double().mean().item())


def test_results_and_table_show_what_was_measured(run: Run) -> None:
    results = read_results(run.folder)
    assert [cell.edits for cell in results.cells] == [changes_of(run, cell) for cell in run.cells]
    assert results.meaning.edits == moves(run, "test")
    table = edits_table(results)
    assert table.columns == ["predicting", "model", "±1 grey level", "±2 grey levels", "JPEG 95", "JPEG 90", "resized"]
    noise = results.cells[-1].edits[0]
    assert table.rows[-1][1:3] == ["lassi", f"{noise.per_copy:.1%} / {noise.any.share:.1%}"]
    assert "Do invisible changes of the picture change the answer?" in (run.folder / "report.html").read_text()
