"""Certificates to check a second time: of random networks of several shapes, and of some that were trained briefly."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.method import People, Subject
from lassi.certify.people import Certifier
from lassi.certify.proof import Proof
from lassi.certify.settings import Certification
from lassi.consumer.classifier import Classifier
from lassi.recheck.exact.checker import Checker
from lassi.recheck.exact.verdict import Verdict
from lassi.recheck.stored import ball_model
from lassi.representation.network import Representation
from lassi.similarity.sets import SimilaritySet
from networks import random_model, random_people

DIRECTIONS = (1, 2, 3, 13)
METHODS = ("exact-joint", "exact-modular")
SHAPES = [((32, 24, 12), 20), ((24, 24, 24, 12), 20), ((64, 32, 16), 192), ((128, 64, 32), 768), ((16,), 20)]
PEOPLE = 8  # per model


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A person, a certificate and its proof, and the checker for their model."""

    checker: Checker
    z: Tensor
    certificate: Certificate
    proof: Proof | None
    model: Model
    similar: SimilaritySet

    def verdict(self) -> Verdict:
        return self.checker(self.z.numpy(), self.certificate, self.proof)

    def but(self, **changes: Any) -> "Exhibit":
        """The same with changes to the certificate; ``figures`` are merged."""
        figures = dict(self.certificate.figures) | changes.pop("figures", {})
        return replace(self, certificate=replace(self.certificate, figures=figures, **changes))

    def figure(self, name: str) -> float:
        return float(self.certificate.figures[name] or 0.0)

    @property
    def is_certified(self) -> bool:
        return self.certificate.is_certified

    def margin_at(self, *v: float) -> float:
        """The least margin at coefficients along the basis, in float64."""
        predicted = self.certificate.predicted
        along = self.similar.along_directions(torch.tensor(v, dtype=torch.float64))
        logits = self.model.networks(self.z.double() + self.similar.directions.double() @ along)
        others = [label for label in range(len(logits)) if label != predicted]
        return float((logits[predicted] - logits[others]).min())

    @property
    def is_joint(self) -> bool:
        return self.certificate.method == "exact-joint"


def exhibits(seed: int, *, flip: float = 1.0) -> list[Exhibit]:
    """The certificates of one model for a few people that claim something; everything depends on the seed."""
    rng = np.random.default_rng(seed)
    n, method = DIRECTIONS[seed % 4], METHODS[seed // 4 % 2]
    widths, q = SHAPES[rng.integers(len(SHAPES))]
    classes = int(rng.integers(2, 6))
    hidden = (16,) if method == "exact-joint" and rng.random() < 0.3 else ()
    model = trained_model(seed, q, classes, hidden) if seed % 5 == 4 else random_model(seed, widths, classes, hidden, q)
    reach = float(rng.choice([0.5, 1.5, 4.0])) * (0.2 if method == "exact-modular" or n == 13 else 1.0)
    similar = some_directions(seed, n, q, reach, is_deficient=rng.random() < 0.25)
    proofs: dict[int, Proof] = {}
    subject = Subject(model, similar, proofs=proofs)
    certifier = Certifier.of(method, subject, Certification(flip=flip, max_boxes=1024), sigma_rs=0.5)
    z = random_people(seed, PEOPLE, q)
    checker = Checker(ball_model(model.representation, model.classifier), similar.directions.numpy())
    found = certifier(People(z, range(PEOPLE)))
    return [
        Exhibit(checker, z[own.person], own, proofs.get(own.person), model, similar)
        for own in found
        if own.outcome in (Outcome.CERTIFIED, Outcome.COUNTEREXAMPLE)
    ]


def some_directions(seed: int, n: int, q: int, length: float, *, is_deficient: bool) -> SimilaritySet:
    """Random directions, in float32 or float64; one in four sets has twice as many as its rank."""
    generator = Stream(seed, "test/directions").torch()
    directions = torch.randn(q, n, generator=generator, dtype=torch.float64)
    directions *= length / directions.norm(dim=0)
    if is_deficient:
        directions = directions @ torch.randn(n, 2 * n, generator=generator, dtype=torch.float64) / (2 * n) ** 0.5
    radius = float(torch.rand((), generator=generator, dtype=torch.float64)) + 0.5
    return SimilaritySet(directions.float() if seed % 2 else directions, radius)


def trained_model(seed: int, q: int, classes: int, hidden: tuple[int, ...]) -> Model:
    """R and C after a few steps of Adam, on people whose class depends on a random linear map."""
    stream = Stream(seed, "test/trained")
    r = Representation(q, (64, 32, 16), stream=stream.child("r"))
    c = Classifier(16, classes, hidden, stream=stream.child("c"))
    generator = stream.child("people").torch()
    truth = torch.randn(q, classes, generator=generator)
    adam = torch.optim.Adam([*r.parameters(), *c.parameters()], lr=1e-2)
    for _ in range(40):
        z = torch.randn(128, q, generator=generator)
        adam.zero_grad()
        torch.nn.functional.cross_entropy(c(r(z)), (z @ truth).argmax(1)).backward()
        adam.step()
    return Model(r.eval().requires_grad_(False), c.eval().requires_grad_(False))
