"""What a report says: everything about a run in one document of plain numbers, words and pictures.

The page is drawn from it alone; see :mod:`lassi.report`.
"""

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from lassi.base.progress import SILENT, Progress
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.smoothed.statistics import share_of
from lassi.data.dataset import Integers
from lassi.data.factors import NUM_ORIENTATIONS
from lassi.data.registry import KNOWN
from lassi.recipe.cells import Cell
from lassi.report.gallery import gallery_of
from lassi.results.paper import published
from lassi.run.certificates import certificate_file
from lassi.run.run import Run
from lassi.similarity.sets import SimilaritySet

CONFIDENCE = 0.95
CURVE = "exact-joint"  # the certificate that knows at which ε a class changes
OPEN = ("smoothed-modular", "smoothed-joint")
LIBRARIES = ("lassi", "torch", "numpy", "scipy")

Figures = dict[str, Any]


def document_of(run: Run, results: Figures, *, command: str, progress: Progress = SILENT) -> Figures:
    """The document of a run whose certificates are there.

    Args:
        results: what ``results.json`` holds.
        command: that repeats the run.
    """
    questions = [Question(run, results, cells) for cells in by_question(run.cells)]
    return {
        "title": run.folder.name,
        "data": run.recipe.data.name,
        "about": about_data(run),
        "claim": questions[0].claim(),
        "questions": [question.figures() for question in questions],
        "baselines": results["baselines"],
        "flow": flow_figures(run),
        "gallery": gallery_of(run, [question.first_seed for question in questions], progress=progress),
        "made": made_figures(run, command),
    }


def by_question(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that answer the same question: who is alike, in telling what; by their methods and seeds."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        experiment = cell.experiment
        key = (experiment.target, cell.task, cell.sensitive, experiment.directions, experiment.radius)
        found.setdefault(repr(key), []).append(cell)
    return list(found.values())


class Question:
    """One question and all models that answer it."""

    def __init__(self, run: Run, results: Figures, cells: Sequence[Cell]) -> None:
        self.run, self.cells, self.results = run, cells, results
        self.first = cells[0]
        self.methods = list(run.recipe.certification(self.first.experiment).methods)
        self._certificates: dict[tuple[str, str], list[Certificate]] = {}

    @property
    def similar(self) -> SimilaritySet:
        return self.run.similar(self.first.experiment, self.first.sensitive)

    @property
    def first_seed(self) -> list[Cell]:
        """The models of the first seed, one a method and noise."""
        return [cell for cell in self.cells if cell.seed == self.first.seed]

    @property
    def fair(self) -> Cell:
        """The model that the claim is about: the last method's, of the first seed."""
        return self.first_seed[-1]

    def certificates(self, cell: Cell, method: str) -> list[Certificate]:
        key = (cell.classifier_folder, method)
        if key not in self._certificates:
            found = certificate_file(self.run, cell, method, "test").certificates
            self._certificates[key] = [found[person] for person in self.run.people("test").tolist()]
        return self._certificates[key]

    def claim(self) -> Figures:
        """The one sentence of the page, from one certificate of one model."""
        method = self.methods[0]
        figures = self._figures(self.fair)["certificates"][method]
        return self.words() | {
            "model": self.fair.method,
            "certificate": method,
            "people": figures["people"],
            "certified": figures["certified"],
            "share": figures["certified_share"],
            "population_at_least": figures["population_at_least"],
            "confidence": CONFIDENCE,
            "alpha": figures["alpha"],
            "false_expected": figures["alpha"] * figures["people"],
            "seed": self.fair.seed,
            "truth": self._truth(figures),
        }

    def _truth(self, figures: Figures) -> Figures | None:
        """What is known of truly similar people, where pairs of them are."""
        experiment = self.first.experiment
        fitting = [
            truth
            for truth in self.results["truth"]
            if (truth["directions"], truth["radius"]) == (experiment.directions, experiment.radius)
        ]
        if not fitting or "truth" not in figures:
            return None
        found = {"coverage": fitting[0]["coverage"], "step_error": fitting[0]["step_error"], **figures["truth"]}
        return found | {"orientations": NUM_ORIENTATIONS}

    def words(self) -> Figures:
        experiment = self.first.experiment
        return {
            "task": self.first.task,
            "target": experiment.target,
            "sensitive": list(self.first.sensitive),
            "directions": experiment.directions,
            "vectors": self.similar.num_directions,
            "rank": self.similar.rank,
            "radius": experiment.radius,
        }

    def figures(self) -> Figures:
        return self.words() | {
            "certificates": self.methods,
            "gave_up_after": self.gave_up_after(),
            "has_truth": self.run.has_truth,
            "models": [self.model(cells) for cells in self._by_model()],
            "curve": self.curve(),
            "radii": self.radii(),
            "looseness": self.looseness(),
            "groups": self.groups(),
        }

    def gave_up_after(self) -> int | None:
        """At how many boxes the exact certificate left somebody undecided; None where it did not."""
        if "exact-joint" not in self.methods or self.similar.rank == 1:
            return None
        found = (certificate for cell in self.cells for certificate in self.certificates(cell, "exact-joint"))
        is_left = any(certificate.outcome is Outcome.UNDECIDED for certificate in found)
        return self.run.recipe.certification(self.first.experiment).max_boxes if is_left else None

    def _by_model(self) -> list[list[Cell]]:
        found: dict[tuple[str, float], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.method, cell.sigma_rs), []).append(cell)
        return list(found.values())

    def _figures(self, cell: Cell) -> Figures:
        wanted = cell.as_json()
        (found,) = (c["figures"] for c in self.results["cells"] if all(c[key] == wanted[key] for key in wanted))
        return dict(found)

    def model(self, cells: Sequence[Cell]) -> Figures:
        """One row of the table: a method over all its seeds; intervals are the first seed's."""
        cell, found = cells[0], [self._figures(cell) for cell in cells]
        test = found[0]["test"]
        theirs = published(self.run.recipe.data.name, cell)
        return {
            "method": cell.method,
            "sigma_rs": cell.sigma_rs,
            "seeds": len(cells),
            "accuracy": _spread([f["test"]["accuracy"] for f in found])
            | asdict(share_of(round(test["accuracy"] * test["people"]), test["people"])),
            "balanced": test["balanced"],
            "majority": test["majority"],
            "distance": found[0]["distance"],
            "certificates": {method: _certified(found, method) for method in self.methods},
            "paper": None if theirs is None else asdict(theirs),
        }

    def curve(self) -> Figures | None:
        """For each model the share of people whose class holds up to ε, as a falling staircase."""
        if CURVE not in self.methods or self.similar.rank > 1:
            return None
        limit = self.run.recipe.certification(self.first.experiment).flip * self.first.experiment.radius
        return {
            "limit": limit,
            "radius": self.first.experiment.radius,
            "series": [
                {"method": cell.method, "flips": sorted(_flips(self.certificates(cell, CURVE), limit))}
                for cell in self.first_seed
            ],
        }

    def radii(self) -> list[Figures] | None:
        """d_cs and d_rs of everybody who has both."""
        if "smoothed-modular" not in self.methods:
            return None

        def pairs(cell: Cell) -> list[list[float]]:
            figures = [c.figures for c in self.certificates(cell, "smoothed-modular")]
            both = [(f["centre_radius"], f["class_radius"]) for f in figures]
            return [[_short(x), _short(y)] for x, y in both if x is not None and y is not None and y > 0]

        people = len(self.run.people("test"))
        return [{"method": cell.method, "pairs": pairs(cell), "people": people} for cell in self.first_seed]

    def looseness(self) -> list[Figures] | None:
        """Of those whom a smoothed certificate leaves open, how many the exact one proves, refutes or leaves open."""
        smoothed = [method for method in self.methods if method in OPEN]
        if CURVE not in self.methods or not smoothed:
            return None
        found = []
        for cell in self.first_seed:
            exact = self.certificates(cell, CURVE)
            for method in smoothed:
                certificates = self.certificates(cell, method)
                left = [e for s, e in zip(certificates, exact, strict=True) if not s.is_certified]
                counts = {
                    "proven": sum(e.is_certified for e in left),
                    "refuted": sum(e.outcome is Outcome.COUNTEREXAMPLE for e in left),
                }
                rest = len(left) - sum(counts.values())
                found.append({"method": cell.method, "certificate": method, "open": len(left), **counts, "rest": rest})
        return found

    def groups(self) -> list[Figures]:
        """The certified share by class and by sensitive group, of the claim's certificate and model."""
        certificates = self.certificates(self.fair, self.methods[0])
        certified = np.array([certificate.is_certified for certificate in certificates])
        return [
            {"attribute": name, "groups": _by_group(certified, self.run.labels(name, "test"), self._value_of(name))}
            for name in (self.first.task, *self.first.sensitive)
        ]

    def _value_of(self, name: str) -> Callable[[int], str]:
        values = self.run.dataset.attribute(name).values
        return lambda label: str(values[label])


def _by_group(certified: Any, labels: Integers, told: Callable[[int], str]) -> list[Figures]:
    return [
        {"value": told(int(label)), "people": int((labels == label).sum())}
        | asdict(share_of(int(certified[labels == label].sum()), int((labels == label).sum())))
        for label in np.unique(labels)
    ]


def _flips(certificates: Sequence[Certificate], limit: float) -> list[float]:
    """At which ε everybody's class is no longer proven; beyond the limit nothing was looked at."""
    return [_short(limit if c.flip is None else c.flip) for c in certificates]


def _certified(found: Sequence[Figures], method: str) -> Figures:
    """A certificate's figures over seeds; counts and the interval are the first seed's."""
    of = [figures["certificates"][method] for figures in found]
    names = (
        "people",
        "certified",
        "not_certified",
        "counterexample",
        "abstained",
        "undecided",
        "certified_and_correct",
    )
    return {
        **{name: of[0][name] for name in names},
        "share": _spread([f["certified_share"]["share"] for f in of]) | of[0]["certified_share"],
        "accuracy": _spread([f["accuracy"] for f in of]),
        "alpha": of[0]["alpha"],
        "population_at_least": of[0]["population_at_least"],
        "mean_centre_radius": of[0]["mean_centre_radius"],
        "seconds_a_person": of[0]["seconds_a_person"],
        "end_points_equal": of[0].get("end_points_equal"),
        "certified_though_end_points_differ": sum(f.get("certified_though_end_points_differ", 0) for f in of),
        "truth": of[0].get("truth"),
    }


def _spread(values: Sequence[float]) -> Figures:
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None}


def _short(value: float | int) -> float:
    """Five digits are enough for a chart."""
    return float(f"{value:.5g}")


def flow_figures(run: Run) -> Figures:
    """How good the generative model is: bits per dimension, and round trips."""
    check = run.check_flow()
    return {
        "bits_per_dim": run.flow.figures.get("bits_per_dim"),
        "curve": run.flow.figures.get("curve", []),
        "check": check.figures,
    }


def about_data(run: Run) -> str:
    """What the pictures are, in words."""
    data = run.recipe.data
    told = f"{data.name}, {KNOWN[data.name].shows.split(';')[0]}; {data.size}×{data.size} pixels"
    return told + (f"; the models learn from its split “{data.learn_from}”" if data.learn_from != "train" else "")


def _full_name(cell: Cell) -> str:
    return f"{cell.name}, {cell.experiment.directions}, ε {cell.experiment.radius:g}"


def _directions_of(run: Run) -> dict[str, str]:
    return {
        f"{found.attribute}, {found.method}": found.content
        for cell in run.cells
        for found in run.directions_of(cell.experiment, cell.sensitive)
    }


def made_figures(run: Run, command: str) -> Figures:
    """How the run was made, for whoever repeats it."""
    return {
        "command": command,
        "recipe": json.loads(run.recipe.model_dump_json(exclude_none=True)),
        "seeds": run.recipe.run.seeds,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "fingerprints": {"flow": run.flow.content}
        | {f"directions: {name}": content for name, content in _directions_of(run).items()}
        | {f"representation: {_full_name(cell)}": run.representation(cell.production).content for cell in run.cells}
        | {f"classifier: {_full_name(cell)}": run.classifier(cell).content for cell in run.cells},
    }
