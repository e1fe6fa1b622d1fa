"""Smoothed certificates, checked with fresh draws and by running the certified model at similar people.

A certificate says that the smoothed model gives its class to everyone similar. Each run at one of them gives another
class with probability at most β = α₁ + (½ − Δ)^k + α_pred although the certificate is true. So if β is brought below
0.001 / N for all runs of N certificates together, one other answer refutes the certificate at that level.
[docs/mathematics.md#centre-smoothing]
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.attack import attack_people
from lassi.certify.method import People, Shape, SmoothedMethod, Subject
from lassi.recheck.exact.verdict import Status, Verdict
from lassi.similarity.sets import SimilaritySet

LEVEL = 0.001  # of all refutations together
RANDOM = 4  # similar people drawn at random, besides the end points and the nearest counterexample of the plain model


@dataclass(frozen=True, eq=False)
class FreshDraws:
    """Checks the smoothed certificates of one model.

    Args:
        subject: the model and the similarity set, with a seed that no certificate used.
        plan: the plan that the certificates were made with.
        level: of one certificate's refutation.
    """

    method: SmoothedMethod[Any]
    subject: Subject
    plan: Any
    level: float

    def __call__(self, z: Tensor, certificate: Certificate) -> Verdict:
        """The verdict about the certificate of a person with latent ``(q,)``."""
        if certificate.outcome is not Outcome.CERTIFIED:
            return Verdict(Status.NOTHING, f"The person is {certificate.outcome.label}: nothing is claimed.")
        if other := self._refuted(z, certificate):
            return Verdict(Status.CONTRADICTED, other)
        (again,) = self.method.certify(self.subject, People(z[None], [certificate.person]), self.plan)
        if again.outcome is Outcome.CERTIFIED and again.predicted == certificate.predicted:
            return Verdict(Status.CONFIRMED, "Fresh draws prove it again.")
        return Verdict(Status.UNPROVEN, f"Fresh draws do not prove it again: {again.outcome.label}.")

    def _refuted(self, z: Tensor, certificate: Certificate) -> str | None:
        """A sentence about a similar person who gets another class, if there is one."""
        t = similar_people(self.subject, z, certificate.person)
        plan = self._strict(len(t))
        if plan is None:
            return None
        moved = self.subject.similar.move_along(z[None], t.to(z))[0]
        for number, (place, own) in enumerate(zip(t.tolist(), moved, strict=True)):
            people = People(own[None], [certificate.person])
            (label,) = self.method.predict(self.subject, people, plan, place=f"recheck {number}")
            if label is not None and label != certificate.predicted:
                return f"At t = {_shown(place)} the smoothed model predicts {label}, not {certificate.predicted}."
        return None

    def _strict(self, runs: int) -> Any | None:
        """The same plan with failure probabilities so small that one other answer refutes; None if that cannot be."""
        plan = self.method.stricter(self.plan, self.level / runs)
        similar, model = self.subject.similar, self.subject.model
        try:
            shape = Shape(similar.radius, similar.rank, model.representation.widths[-1])
            self.method.refuse_infeasible(plan, shape)
        except UserError:
            return None
        return plan


def similar_people(subject: Subject, z: Tensor, person: int) -> Tensor:
    """Coefficients of similar people to run the model at, ``(N, n)``: where an attack would look first."""
    similar = subject.similar
    points = [torch.zeros(1, similar.num_directions, dtype=torch.float64)]
    if similar.num_directions <= 3:
        points.append(similar.end_points().double())
    attack = attack_people(subject.model, z[None], [person], similar, samples=500, seed=subject.seed)[0]
    if attack.nearest is not None:
        points.append(torch.tensor([attack.nearest.t], dtype=torch.float64))
    points.append(_random(similar, person, subject.seed))
    return torch.cat(points)


def _random(similar: SimilaritySet, person: int, seed: int) -> Tensor:
    drawn = similar.uniform(RANDOM, stream=Stream(seed, "recheck/similar").at(person))
    return similar.along_directions(drawn.double())


def _shown(t: list[float]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in t) + ")"
