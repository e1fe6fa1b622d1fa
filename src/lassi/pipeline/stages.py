"""A recipe from beginning to end: which stages, in which order; whatever exists is not made again."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

from lassi.base.compute import Compute, ThreadChoices
from lassi.base.devices import usable
from lassi.base.errors import unknown
from lassi.base.files import os_errors_reported, refuse_others
from lassi.base.lock import only_writer
from lassi.flow.copies import KnownCopies
from lassi.pipeline.feasible import refuse_impossible
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.report.write import PAGES, is_reported, report_of
from lassi.results.measure import Asked, has_certificates, measure_run
from lassi.results.records import Results
from lassi.results.store import OURS as RESULTS_OURS
from lassi.results.store import write_results
from lassi.run import folder as places
from lassi.run import makers
from lassi.run.kept_recipe import keep_recipe, refuse_other_recipe
from lassi.run.run import Run
from lassi.similarity.registry import kind_named

STAGES = {
    "flow": "The generative model: a flow learns to draw the pictures, so that changing a person is a step z + t·a.",
    "directions": "The regulator: which steps change only the sensitive attribute? Anyone within ε counts as similar.",
    "representation": "The producer: networks trained to map similar people to nearly the same point.",
    "classifier": "The consumer: classifiers on these representations, trained with noise.",
    "certificates": "The auditor: for each person, a proof that everybody similar gets the same answer, or none.",
    "report": "The page: what was proven, for whom, and what was not.",
}
LAST = "report"
MOST_KNOWN = 2**28  # numbers in the latents of copies that are kept in memory: 1 GiB

Say = Callable[[str], None]


class Pipeline:
    """The stages of a run.

    Args:
        say: receives a sentence about each stage as it begins.
        asked: only this is made, and only this is measured; None for the whole recipe.
    """

    def __init__(self, run: Run, compute: Compute, say: Say, asked: Asked | None = None) -> None:
        self.run, self._say, self._is_whole = run, say, asked is None
        run.known_copies = KnownCopies(most=MOST_KNOWN)
        self._asked = asked or Asked.everything(run)
        self._compute = replace(compute, choices=ThreadChoices(run.folder / places.THREADS))
        self.results: Results | None = None
        self.written: list[Path] = []  # or found to exist

    def __call__(self, until: str) -> None:
        """Make everything up to a stage."""
        keep_recipe(self.run.recipe, self.run.folder)
        steps = {
            "flow": self._flow,
            "directions": self._directions,
            "representation": self._representations,
            "classifier": self._classifiers,
            "certificates": self._certificates,
            "report": self._report,
        }
        for stage in list(STAGES)[: list(STAGES).index(until) + 1]:
            if self._has(stage):
                self._say(STAGES[stage])
                steps[stage]()
        if until == "classifier" and self.run.cells:
            self._measure(certified=has_certificates(self.run))

    def _has(self, stage: str) -> bool:
        """Whether there is anything to do."""
        match stage:
            case "flow":
                return True
            case "representation":
                return bool(self._asked.cells)
            case "report":
                return bool(self.run.cells) and is_reported(self.run)
            case _:
                return bool(self.run.cells)

    def _wrote(self, *names: str) -> None:
        self.written.extend(path for name in names if (path := self.run.folder / name).exists())

    def _flow(self) -> None:
        self.run.dataset.identify(self._compute.progress)
        makers.make_flow(self.run, self._compute)
        makers.check_flow(self.run, self._compute)
        self._wrote(places.FLOW, places.FLOW_CHECK)

    def _directions(self) -> None:
        run = self.run
        for group in run.groups:
            makers.make_latents(run, group, self._compute)
        makers.make_density(run, self._compute)
        for experiment in self._asked.experiments:
            if kind_named(experiment.directions).needs_classifier:
                makers.make_baseline(run, "resnet", experiment.target, run.seed, self._compute)
            makers.make_all_directions(run, experiment, self._compute)
        self._wrote(places.LATENTS, places.DENSITY, places.DIRECTIONS)
        if self._asked.cells:
            makers.make_judges(run, self._compute)
            for experiment in self._asked.experiments:
                makers.make_efficacy(run, experiment, self._compute)
            self._wrote(places.JUDGES, places.EFFICACY)
            makers.make_training_copies(run, self._compute)
        if self._asked.edits:
            makers.make_copies(self.run, self._compute)
            self._wrote(places.COPIES)

    def _representations(self) -> None:
        for cell in self._asked.cells:
            makers.make_representation(self.run, cell.representation, self._compute)
        self._wrote(places.REPRESENTATIONS)

    def _classifiers(self) -> None:
        run = self.run
        for cell in self._asked.cells:
            makers.make_classifier(run, cell, self._compute)
        for experiment in self._asked.baselines:
            for kind, task in product(experiment.baselines, experiment.baseline_tasks):
                for seed in run.recipe.run.seeds:
                    makers.make_baseline(run, kind, task, seed, self._compute)
        self._wrote(places.CLASSIFIERS)

    def _certificates(self) -> None:
        for cell in self._asked.cells:
            makers.make_certificates(self.run, cell, self._compute)
        self._wrote(places.CERTIFICATES)
        self._measure(certified=True)

    def _measure(self, *, certified: bool) -> None:
        self.results = measure_run(self.run, self._asked, certified=certified, progress=self._compute.progress)
        if self._is_whole:
            self.written.append(write_results(self.results, self.run.folder))

    def _report(self) -> None:
        assert self.results is not None, "certificates come first"
        self.written.append(report_of(self.run, self.results, progress=self._compute.progress))


def run_recipe(
    recipe: Recipe | str,
    out: Path | str | None = None,
    *,
    until: str = LAST,
    compute: Compute | None = None,
    say: Say = lambda _: None,
) -> Run:
    """Run a recipe in a folder, resuming unfinished work; returns the run.

    Args:
        recipe: a recipe, the name of a shipped one, or the path of a file.
        out: the folder; by default ``runs/NAME``.
        until: the last stage.
        say: receives a sentence about each stage as it begins.
    """
    return run_stages(recipe, out, until=until, compute=compute, say=say).run


def run_stages(
    recipe: Recipe | str,
    out: Path | str | None = None,
    *,
    until: str = LAST,
    compute: Compute | None = None,
    say: Say = lambda _: None,
    asked: Asked | None = None,
    knows: Run | None = None,
) -> Pipeline:
    """The same; returns the pipeline, which knows what it wrote.

    Args:
        knows: another run, whose certified centres are used again where they are the same.
        asked: only this is made, and only this is measured; None for the whole recipe.
    """
    if until not in STAGES:
        raise unknown("stage", until, STAGES)
    folder = default_folder(recipe) if out is None else Path(out)
    compute = compute or Compute()
    read = load_recipe(recipe) if isinstance(recipe, str) else recipe
    usable(compute.device)
    run = Run(read, folder, progress=compute.progress, device=compute.device)
    if knows is not None:
        run.producers = knows.producers
    if not compute.replace:
        refuse_other_recipe(run.recipe, folder)
    refuse_impossible(run)
    refuse_others(folder / places.RESULTS, RESULTS_OURS)
    refuse_others(folder / places.PAGE, PAGES.ours)
    with os_errors_reported(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder):
        pipeline = Pipeline(run, compute, say, asked)
        pipeline(until)
    return pipeline


def default_folder(recipe: Recipe | str) -> Path:
    """The default folder of a run, named after the recipe."""
    return Path("runs") / (Path(recipe).stem if isinstance(recipe, str) else recipe.data.name)
