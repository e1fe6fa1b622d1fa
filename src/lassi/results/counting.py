"""Counting certificates: abstentions and failures stay in every denominator, and intervals count units."""

from collections.abc import Sequence

import numpy as np

from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.intervals import certified_share, share_by_unit, share_of
from lassi.data.dataset import Integers
from lassi.data.factors import NUM_ORIENTATIONS
from lassi.results.records import EndPoints, MethodResult, Outcomes, SceneCounts
from lassi.run.end_points import EndPointAnswers


def counted(certificates: Sequence[Certificate], labels: Integers, units: Integers, *, seed: int) -> MethodResult:
    """The counts from several people's certificates.

    Args:
        labels: the right classes, ``(people,)``.
        units: the unit of each picture, ``(people,)``.
        seed: for drawing one picture per unit.
    """
    predicted = np.array([-1 if c.predicted is None else c.predicted for c in certificates])
    certified = np.array([c.is_certified for c in certificates])
    radii = [c.figures.get("centre_radius") for c in certificates]
    finite = [radius for radius in radii if radius is not None]
    return MethodResult(
        len(certificates),
        outcomes_of(certificates),
        certified_share(certificates, units, seed=seed),
        max(c.alpha for c in certificates),
        float((predicted == labels).mean()),
        int((certified & (predicted == labels)).sum()),
        float(np.mean(finite)) if finite else None,
    )


def outcomes_of(certificates: Sequence[Certificate]) -> Outcomes:
    """How many certificates have each outcome."""
    return Outcomes(**{outcome.name.lower(): sum(c.outcome is outcome for c in certificates) for outcome in Outcome})


def scene_counts(certificates: Sequence[Certificate]) -> SceneCounts:
    """Counts of scenes whose 15 orientations, which are truly similar people, do not all get the same answer.

    *Certified but unfair* is counted strictly: anybody is certified although the 15 answers are not all equal.
    """
    scenes = [certificates[start : start + NUM_ORIENTATIONS] for start in range(0, len(certificates), NUM_ORIENTATIONS)]
    unfair = [len({c.predicted for c in scene}) > 1 for scene in scenes]
    certified = [any(c.is_certified for c in scene) for scene in scenes]
    both = sum(u and c for u, c in zip(unfair, certified, strict=True))
    count = len(scenes)
    return SceneCounts(count, sum(unfair), share_of(sum(unfair), count), both, share_of(both, count))


def end_point_counts(
    certificates: Sequence[Certificate], answers: EndPointAnswers, units: Integers, *, seed: int
) -> EndPoints:
    """How the answers at end points compare with the certificates."""
    equal, another = np.array(answers.equal), np.array(answers.another)
    certified = np.array([c.is_certified for c in certificates])
    return EndPoints(
        share_by_unit(equal, units, seed=seed), int((certified & ~equal).sum()), int((certified & another).sum())
    )
