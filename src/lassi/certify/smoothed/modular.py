"""Smoothed modular certificates: the producer certifies that similar people are mapped close together, the consumer
that nearby representations get one class. [Paper, Alg. 1]

With d_cs how far the smoothed representations of similar people can be from this person's, and d_rs how far the
smoothed classifier keeps its class around it, everybody similar gets the same class if d_cs < d_rs. That fails with
probability at most α₂ + α_rs over the draws made here, for all similar people at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.along.shells import shells_of
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.smoothed.centre import Draws, draw_noise, smoothed_centre
from lassi.certify.smoothed.classes import (
    SmoothedClass,
    linear_two_classes,
    noisy_classes,
    predicted_class,
    smoothed_class,
)
from lassi.certify.smoothed.settings import TAIL, CentreSmoothing, ClassSmoothing
from lassi.certify.smoothed.walk import PolylineWalk, ShellsWalk, Walk
from lassi.similarity.sets import SimilaritySet

METHOD = "smoothed-modular"


def certify_modular(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    centres: CentreSmoothing,
    classes: ClassSmoothing,
    *,
    seed: int,
    known: "Producers | None" = None,
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers; a person's draws depend on seed and number alone.

    Args:
        known: what the producer has certified before; others are added. It is the same for all classifiers.
    """
    refuse_own_directions(similar)
    centres.refuse_infeasible(similar.radius, model.representation.widths[-1])
    missing = [row for row, person in enumerate(people) if known is None or person not in known]
    parts = [None if known is None or row in missing else known[person] for row, person in enumerate(people)]
    if missing:
        whose = [people[row] for row in missing]
        for row, part in zip(missing, produced(model, z[missing], whose, similar, centres, seed=seed), strict=True):
            parts[row] = part
            if known is not None:
                known[people[row]] = part
    found = []
    for person, centre in zip(people, parts, strict=True):
        smoothed = None if centre is None else _class_at(model, centre.r, centres, classes, _stream(seed, person))
        found.append(_certificate(person, similar.radius, centres, classes, centre, smoothed, seed, similar.dropped))
    return found


@dataclass(frozen=True, eq=False)
class Produced:
    """What the producer certifies of a person: a smoothed representation ``(k,)``, and how far those similar are."""

    r: Tensor
    radius: float


class Producers:
    """What the producer certified of some people, by their numbers; None where the centre abstains.

    In one block of memory that is there before: a small block for each person, kept while large ones come and go beside
    it, would keep the allocator from ever using these again.

    Args:
        people: all who may be asked for.
        dim: k.
    """

    def __init__(self, people: Sequence[int], dim: int) -> None:
        self._rows = {person: row for row, person in enumerate(people)}
        self._r = torch.zeros(len(people), dim, dtype=torch.float64)
        self._radius: list[float | None] = [None] * len(people)
        self._known = [False] * len(people)

    def __contains__(self, person: int) -> bool:
        return self._known[self._rows[person]]

    def __getitem__(self, person: int) -> Produced | None:
        row = self._rows[person]
        radius = self._radius[row]
        return None if radius is None else Produced(self._r[row], radius)

    def __setitem__(self, person: int, part: Produced | None) -> None:
        row = self._rows[person]
        if part is not None:
            self._r[row] = part.r
            self._radius[row] = part.radius
        self._known[row] = True


def produced(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, centres: CentreSmoothing, *, seed: int
) -> list[Produced | None]:
    """The producer's part of the certificates of people ``(B, q)``."""
    draws = [draw_noise(centres, similar.rank, stream=_stream(seed, person)) for person in people]
    found: list[Produced | None] = []
    for walk, drawn in zip(walks(model, z, similar, draws, centres), draws, strict=True):
        centre = smoothed_centre(walk, drawn, centres, similar.radius)
        if centre is None:
            found.append(None)
            continue
        assert centre.radius is not None, "a radius was asked for"
        found.append(Produced(walk.base + centre.move.double(), centre.radius))
    return found


def predict_modular(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    centres: CentreSmoothing,
    classes: ClassSmoothing,
    *,
    seed: int,
    place: str = "predict",
) -> list[int | None]:
    """The classes of the smoothed model, the one that is certified; None where it abstains.

    Args:
        place: a name for where the people are, if they are similar to those of these numbers; it names their draws.
    """
    refuse_own_directions(similar)
    streams = [_stream(seed, person).child(place) for person in people]
    draws = [draw_noise(centres, similar.rank, stream=stream) for stream in streams]
    found: list[int | None] = []
    for stream, walk, drawn in zip(streams, walks(model, z, similar, draws, centres), draws, strict=True):
        centre = smoothed_centre(walk, drawn, centres, None)
        if centre is None:
            found.append(None)
            continue
        r = walk.base + centre.move.double()
        if centres.quadrature and (exact := linear_two_classes(model.classifier, r)) is not None:
            found.append(None if exact.abstains else exact.label)
            continue
        sample = noisy_classes(model.classifier, r, classes.sigma)
        found.append(predicted_class(sample, classes.samples0, classes.alpha, stream=stream.child("class")))
    return found


def walks(
    model: Model, z: Tensor, similar: SimilaritySet, draws: Sequence[Draws], centres: CentreSmoothing
) -> list[Walk]:
    """Each person's way through representation space, as far as their draws go."""
    dropped = model.reducer.errors.carried(similar.dropped).norm().item() if similar.dropped else 0.0
    if similar.rank == 1:
        reach = [TAIL * centres.sigma if centres.quadrature else drawn.reach * (1 + 1e-9) for drawn in draws]
        return [
            PolylineWalk(line, dropped)
            for line in model.tracer(z, similar.basis64, torch.tensor(reach, dtype=torch.float64))
        ]
    if centres.quadrature:
        raise UserError(
            f"Quadrature is along one direction, and there are {similar.rank}.", hint="Leave out quadrature."
        )
    return [ShellsWalk(shells, dropped) for shells in shells_of(model.reducer, z, similar.basis64, centres.sigma)]


def refuse_own_directions(similar: SimilaritySet) -> None:
    """A smoothed certificate compares the noise at z with that at z′, which must have the same law."""
    if not similar.is_shared:
        raise UserError(
            "Everybody has directions of their own, with which smoothed certificates mean nothing.",
            hint="Choose exact-joint or exact-modular.",
        )


def _class_at(
    model: Model, r: Tensor, centres: CentreSmoothing, classes: ClassSmoothing, stream: Stream
) -> SmoothedClass:
    if centres.quadrature and (exact := linear_two_classes(model.classifier, r)) is not None:
        return exact
    return smoothed_class(noisy_classes(model.classifier, r, classes.sigma), classes, stream=stream.child("class"))


def _certificate(
    person: int,
    radius: float,
    centres: CentreSmoothing,
    classes: ClassSmoothing,
    centre: Produced | None,
    smoothed: SmoothedClass | None,
    seed: int,
    dropped: float,
) -> Certificate:
    alpha = centres.alpha_at_x + (classes.alpha if smoothed is None else smoothed.alpha)
    figures: dict[str, float | int | None] = {
        "sigma_cs": centres.sigma,
        "sigma_rs": classes.sigma,
        "centre_radius": None if centre is None else finite(centre.radius),
        "class_radius": None if smoothed is None else smoothed.radius,
        "alpha_elsewhere": centres.alpha_elsewhere,
        "dropped": dropped,
    }
    predicted = None if smoothed is None or smoothed.abstains else smoothed.label
    if centre is None or smoothed is None or smoothed.abstains:
        outcome = Outcome.ABSTAINED
    else:
        outcome = Outcome.CERTIFIED if centre.radius < smoothed.radius else Outcome.NOT_CERTIFIED
    return Certificate(person, METHOD, outcome, predicted, radius, alpha, figures, seed=seed)


def finite(value: float | None) -> float | None:
    """The number itself; None for one that JSON cannot say."""
    return None if value is None or value == float("inf") else value


def _stream(seed: int, person: int) -> Stream:
    return Stream(seed, "certify/modular").at(person)
