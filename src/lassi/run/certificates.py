"""The certificates of a run: made, kept, and counted."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from lassi.base.artefact import digest
from lassi.base.engine import cores, map_chunks
from lassi.base.files import write_whole
from lassi.base.progress import SILENT, Progress
from lassi.base.threads import one_thread_each
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.people import CHUNK, CertificateFile, Certification, certify_people
from lassi.certify.smoothed.modular import predict_modular
from lassi.certify.smoothed.statistics import population_bound, share_of
from lassi.data.dataset import Integers
from lassi.data.factors import NUM_ORIENTATIONS
from lassi.recipe.cells import Cell, named
from lassi.run.run import SCENES, Run
from lassi.similarity.sets import SimilaritySet

END_POINTS_UP_TO = 3  # directions

Figures = dict[str, Any]


def model_of(run: Run, cell: Cell) -> Model:
    """The networks of a cell."""
    return Model(run.load_representation(cell.production), run.load_classifier(cell))


def fingerprints(run: Run, cell: Cell, similar: SimilaritySet, settings: object) -> dict[str, str]:
    """Everything that a certificate of a cell depends on."""
    directions = run.directions_of(cell.experiment, cell.sensitive)
    return {
        "flow": run.flow.content,
        "directions": digest([[found.content for found in directions], similar.radius]),
        "representation": run.representation(cell.production).content,
        "classifier": run.classifier(cell).content,
        "settings": digest(settings),
    }


def about(method: str, settings: Certification, sigma_rs: float, seed: int, people: int) -> list[Any]:
    """Everything chosen that a certificate depends on; how many people share a budget, if they share one."""
    sharing = people if settings.family == "all" else None
    return [method, settings.that_matter_to(method), sigma_rs, seed, sharing]


def certificates_of(run: Run, cell: Cell, method: str, group: str, *, progress: Progress = SILENT) -> list[Certificate]:
    """The certificates of a group of people by one method; made if they are not there yet."""
    return certify_people(
        model_of(run, cell),
        run.z(group),
        run.people(group).tolist(),
        run.similar(cell.experiment, cell.sensitive),
        method,
        run.recipe.certification(cell.experiment),
        certificate_file(run, cell, method, group),
        sigma_rs=cell.sigma_rs,
        seed=cell.seed,
        known=run.producers(cell, group),
        progress=progress,
    )


def certificate_file(run: Run, cell: Cell, method: str, group: str) -> CertificateFile:
    """Where the certificates of a group by one method are kept."""
    settings = run.recipe.certification(cell.experiment)
    similar = run.similar(cell.experiment, cell.sensitive)
    of = fingerprints(run, cell, similar, about(method, settings, cell.sigma_rs, cell.seed, len(run.people(group))))
    words = cell.method, cell.task, *cell.sensitive, f"seed{cell.seed}", method, group
    return CertificateFile(run.folder / "certificates" / f"{named(*words, settings=of)}.jsonl", of)


def certificate_figures(run: Run, cell: Cell, *, progress: Progress = SILENT) -> Figures:
    """What the certificates of a cell say, by method."""
    settings = run.recipe.certification(cell.experiment)
    labels = run.labels(cell.task, "test")
    figures: Figures = {}
    for method in settings.methods:
        found = certificates_of(run, cell, method, "test", progress=progress)
        seconds = certificate_file(run, cell, method, "test").seconds_a_person
        figures[method] = counted(found, labels) | {"seconds_a_person": seconds}
        if method == "smoothed-modular":
            figures[method] |= _kept_end_points(run, cell, found, settings, progress=progress)
    if run.has_truth and settings.methods:
        found = certificates_of(run, cell, settings.methods[0], SCENES, progress=progress)
        figures[settings.methods[0]]["truth"] = truth_counts(found)
    return figures


def counted(certificates: Sequence[Certificate], labels: Integers) -> Figures:
    """Counts of outcomes; abstentions stay in every denominator and count as wrong."""
    people = len(certificates)
    predicted = np.array([-1 if c.predicted is None else c.predicted for c in certificates])
    certified = np.array([c.is_certified for c in certificates])
    counts = {outcome.name.lower(): sum(c.outcome is outcome for c in certificates) for outcome in Outcome}
    radii = [c.figures.get("centre_radius") for c in certificates]
    finite = [radius for radius in radii if radius is not None]
    alpha = max(c.alpha for c in certificates)
    return {
        "people": people,
        **counts,
        "certified_share": asdict(share_of(int(certified.sum()), people)),
        "population_at_least": population_bound(int(certified.sum()), people, alpha),
        "alpha": alpha,
        "accuracy": float((predicted == labels).mean()),
        "certified_and_correct": int((certified & (predicted == labels)).sum()),
        "mean_centre_radius": float(np.mean(finite)) if finite else None,
    }


def truth_counts(certificates: Sequence[Certificate]) -> Figures:
    """Scenes whose 15 orientations, which are truly similar people, are not all told alike; an abstention is its own.

    *Certified but unfair* is counted strictly: somebody is certified although the 15 outcomes are not all equal.
    """
    scenes = [certificates[start : start + NUM_ORIENTATIONS] for start in range(0, len(certificates), NUM_ORIENTATIONS)]
    unfair = [len({c.predicted for c in scene}) > 1 for scene in scenes]
    certified = [any(c.is_certified for c in scene) for scene in scenes]
    return {
        "scenes": len(scenes),
        "unfair": sum(unfair),
        "unfair_share": asdict(share_of(sum(unfair), len(scenes))),
        "certified_but_unfair": sum(u and c for u, c in zip(unfair, certified, strict=True)),
    }


def _kept_end_points(
    run: Run, cell: Cell, certificates: Sequence[Certificate], settings: Certification, *, progress: Progress
) -> Figures:
    """The figures of end points, kept beside the certificates that they are about, by a hash of these."""
    of = digest([certificate.line() for certificate in certificates])[:8]
    path = certificate_file(run, cell, "smoothed-modular", "test").path.with_suffix(f".{of}.ends")
    if not path.is_file():
        figures = end_point_figures(run, cell, certificates, settings, progress=progress)
        write_whole(path, json.dumps(figures).encode())
    found: Figures = json.loads(path.read_bytes())
    return found


def end_point_figures(
    run: Run, cell: Cell, certificates: Sequence[Certificate], settings: Certification, *, progress: Progress = SILENT
) -> Figures:
    """Whether the smoothed model tells the end points of everybody's set as it tells them; an abstention does not.

    And the paper's own check of its certificates: how many are certified although an end point differs.
    """
    similar = run.similar(cell.experiment, cell.sensitive)
    if similar.num_directions > END_POINTS_UP_TO:
        return {}
    people, z = run.people("test").tolist(), run.z("test")
    settings = settings.shared_by(len(people))
    model, centres = model_of(run, cell), settings.centres(similar.radius)
    classes = settings.classes(cell.sigma_rs)
    ends = similar.end_points()

    def told_at_ends(rows: range) -> list[set[int | None]]:
        """What everybody of a chunk is told, at the centre and at all end points."""
        some = slice(rows.start, rows.stop)
        told = [{c.predicted} for c in certificates[some]]
        for number, moved in enumerate(similar.move_along(z[some], ends).unbind(1)):
            place = f"end {number}"
            there = predict_modular(model, moved, people[some], similar, centres, classes, seed=cell.seed, place=place)
            told = [seen | {label} for seen, label in zip(told, there, strict=True)]
        return told

    what = "telling end points"
    with one_thread_each():
        parts = map_chunks(
            told_at_ends, len(people), chunk=CHUNK, workers=cores(), what=what, unit="people", progress=progress
        )
        told = [seen for part in parts for seen in part]
    equal = np.array([len(seen) == 1 and None not in seen for seen in told])
    another = np.array([len(seen - {None}) > 1 for seen in told])
    certified = np.array([c.is_certified for c in certificates])
    return {
        "end_points_equal": asdict(share_of(int(equal.sum()), len(equal))),
        "certified_though_end_points_differ": int((certified & ~equal).sum()),
        "certified_though_another_class_at_an_end": int((certified & another).sum()),
    }
