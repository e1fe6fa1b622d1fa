"""What a run found out: every figure counted once more, another way."""

import statistics

import numpy as np
import pytest
import torch

from lassi.certify.certificate import Outcome
from lassi.results.records import CellResult, Results
from lassi.results.store import read_results
from lassi.results.summary import Spread, summarise, summarise_baselines
from lassi.results.truth import mean_pictures
from lassi.run.auditor import Auditor
from lassi.run.population import SCENES
from lassi.run.run import Run
from lassi.similarity.truth import step_errors


@pytest.fixture
def results(tiny_run: Run) -> Results:
    return read_results(tiny_run.folder)


def of_each(tiny_run: Run, results: Results) -> list[tuple]:
    """Cells with their results, which are in the same order."""
    pairs = list(zip(tiny_run.cells, results.cells, strict=True))
    for cell, found in pairs:
        assert (cell.question, cell.model, cell.seed) == (found.question, found.model, found.seed)
    return pairs


def test_results_hold_every_cell_and_the_means_over_seeds(tiny_run: Run, results: Results) -> None:
    for cell in results.cells:
        assert cell.test.people == len(tiny_run.people("test")) == cell.units == 20
        assert cell.valid.people == 100
        assert 0 <= cell.end_points_equal <= 1
        assert cell.distance > 0
        assert all(of.seconds_per_person > 0 for of in cell.certificates.values())
        knows = cell.question.sensitive == ("orientation",)
        assert (cell.truth is not None) == knows, "the 15 sides of a scene are not people who differ in their walls"
        assert (cell.certificates["smoothed-modular"].truth is not None) == knows
        if knows:
            assert cell.truth.scenes == 10
    models = summarise(results.cells)
    assert len(models) == len(results.cells) / 2
    values = [cell.test.accuracy for cell in results.cells[:2]]
    assert models[0].accuracy.mean == pytest.approx(statistics.mean(values))
    assert models[0].accuracy.sd == pytest.approx(statistics.stdev(values))
    assert [(b.baseline, b.target, b.seed) for b in results.baselines] == [
        (kind, task, seed)
        for kind in ("resnet", "mlp")
        for task in ("shape=cube", "scale", "shape")
        for seed in (42, 0)
    ]
    for baseline in results.baselines:
        for split in (baseline.valid, baseline.test):
            assert split.scores.majority >= 1 / tiny_run.num_classes(baseline.target)
            assert set(split.fair_on_points) == {"wall_hue=0.1", "wall_hue=0.1 + floor_hue=0.2"}
    baselines = summarise_baselines([*results.baselines, *results.baselines])
    assert [(own.baseline, own.target) for own in baselines] == [
        (kind, task) for kind in ("resnet", "mlp") for task in ("shape=cube", "scale", "shape")
    ]
    first = [own for own in results.baselines if (own.baseline, own.target) == ("resnet", "shape=cube")]
    assert baselines[0].valid == Spread.of(own.valid.scores.accuracy for own in first)
    assert baselines[0].test == Spread.of(own.test.scores.accuracy for own in first)
    grid = "wall_hue=0.1 + floor_hue=0.2"
    assert baselines[0].fair_on_points[grid] == Spread.of(own.test.fair_on_points[grid] for own in first)


def test_ground_truth_counts_scenes_whose_orientations_differ(tiny_run: Run, results: Results) -> None:
    """Counted once more, person by person, through the plain networks."""
    cell = tiny_run.cells[0]
    r, c = tiny_run.load_representation(cell.representation), tiny_run.load_classifier(cell)
    people = tiny_run.people(SCENES)
    with torch.no_grad():
        classes = [
            int(c(r(torch.from_numpy(tiny_run.encode(tiny_run.dataset.images([person]))))).argmax())
            for person in people
        ]
    scenes: dict[int, set[int]] = {}
    for person, predicted in zip(people, classes, strict=True):
        scenes.setdefault(int(tiny_run.dataset.units([person])[0]), set()).add(predicted)
    assert len(scenes) == 10
    truth = results.cells[0].truth
    assert truth.unfair_scenes == sum(len(found) > 1 for found in scenes.values())
    assert truth.accuracy == np.mean(classes == tiny_run.labels("object_hue", SCENES))


def test_certificates_are_counted_with_everybody_in_the_denominator(tiny_run: Run, results: Results) -> None:
    """Counted once more from the certificates; an abstention is wrong in the accuracy of the smoothed model."""
    for cell, figures in of_each(tiny_run, results):
        labels = tiny_run.labels(cell.task, "test")
        for method, result in figures.certificates.items():
            found = Auditor.of(tiny_run, cell).certificates(method, "test")
            outcomes = vars(result.outcomes)
            assert result.people == len(found) == 20 == sum(outcomes.values())
            assert result.outcomes.certified == sum(c.outcome is Outcome.CERTIFIED for c in found)
            assert result.accuracy == np.mean([c.predicted == label for c, label in zip(found, labels, strict=True)])
            interval = result.share.interval
            assert interval.low <= result.outcomes.certified / 20 == interval.share <= interval.high
            assert result.share.units == 20
            assert set(found[0].of) == {
                "flow",
                "directions",
                "representation",
                "classifier",
                "settings",
                "warnings",
            }


def test_the_smoothed_models_accuracy_counts_abstentions_as_wrong_and_the_plain_ones_is_apart(
    tiny_run: Run, results: Results
) -> None:
    abstained = 0
    for cell, figures in of_each(tiny_run, results):
        smoothed = figures.certificates["smoothed-modular"]
        assert smoothed.accuracy <= 1 - smoothed.outcomes.abstained / smoothed.people
        abstained += smoothed.outcomes.abstained
        plain = tiny_run.load_network(cell).predict(tiny_run.z("test")).numpy()
        assert figures.test.accuracy == np.mean(plain == tiny_run.labels(cell.task, "test"))
    assert abstained > 0


def test_a_question_of_one_direction_has_all_methods_and_they_agree(results: Results) -> None:
    def is_single(cell: CellResult) -> bool:
        return (cell.question.task, cell.question.sensitive, cell.seed) == ("scale", ("wall_hue=0.1",), 42)

    (single,) = (cell.certificates for cell in results.cells if is_single(cell))
    assert list(single) == ["smoothed-modular", "smoothed-joint", "exact-joint", "exact-modular"]
    assert single["smoothed-modular"].end_points.certified_but_different == 0
    assert single["smoothed-joint"].end_points is None
    assert single["exact-joint"].outcomes.certified >= single["exact-modular"].outcomes.certified


def test_truth_is_judged_by_pairs_of_held_out_scenes(results: Results) -> None:
    (truth,) = results.truth
    assert (truth.kind, truth.coverage.pairs) == ("pairs", 40)
    assert 0 <= truth.coverage.of_set.mean <= truth.coverage.of_span.mean + 1e-12 <= 1
    assert truth.step_error.mean > 0
    assert truth.step_error_pixels.mean > 0


def test_a_step_by_the_true_displacement_has_no_error_and_pixels_are_averaged_right(tiny_run: Run) -> None:
    dataset, people = tiny_run.dataset, tiny_run.people(SCENES)
    z = tiny_run.z(SCENES)
    x = tiny_run.seen(dataset.images(people))
    with torch.no_grad():
        assert step_errors(tiny_run.glow.decode, z[:14], z[1:15] - z[:14], x[:14], x[1:15]).max() < 1e-6
    means = mean_pictures(tiny_run, people)
    by_hand = torch.stack([x[dataset.labels("orientation", people) == label].mean(0) for label in range(15)])
    torch.testing.assert_close(means, by_hand)
