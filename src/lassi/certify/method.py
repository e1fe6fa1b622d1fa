"""What a certification method is.

Each method is one object that owns everything about it: its name, its glossary entry, the settings that its
certificates depend on (its *plan*), what it refuses beforehand, how it certifies, and by how much a certificate holds.
:mod:`lassi.certify.methods` lists all methods.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from torch import Tensor

from lassi.base.identity import array_hash
from lassi.base.outside import shown
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.proof import Proof
from lassi.similarity.sets import SimilaritySet

if TYPE_CHECKING:
    from lassi.certify.settings import Certification
    from lassi.certify.smoothed.producer import Producers

Plan = TypeVar("Plan")
Copies = Callable[[Sequence[int], str, int], Tensor]


@dataclass(frozen=True, eq=False)
class People:
    """People: latents ``(B, q)``, and the numbers that identify their draws.

    Args:
        warnings: of each of them, what makes their certificate say less than it seems to say; none where it is empty.
        copies: makes latents of edited copies of the pictures of some of them, ``(B, copies, q)``, from their numbers,
            the name of the edit and how many; a fixed edit makes one. Needed for certificates under an edit.
    """

    z: Tensor
    numbers: Sequence[int]
    copies: "Copies | None" = None
    warnings: Sequence[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        assert len(self.z) == len(self.numbers), "every latent has a number"
        assert not self.warnings or len(self.warnings) == len(self.numbers), "warnings are about each person"

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, rows: Sequence[int]) -> "People":
        """The people in these rows."""
        warnings = [self.warnings[row] for row in rows] if self.warnings else ()
        return People(self.z[list(rows)], [self.numbers[row] for row in rows], self.copies, warnings)

    def identify(self, certificates: Sequence[Certificate]) -> list[Certificate]:
        """Their certificates, with the latent and the warnings that each is about."""
        warnings = self.warnings or [()] * len(self)
        return [
            replace(certificate, latent=latent_hash(z), warnings=own)
            for certificate, z, own in zip(certificates, self.z, warnings, strict=True)
        ]

    def objection(self, row: int, certificate: Certificate) -> str | None:
        """Why this is no certificate of the person in a row, as the end of a sentence; None if it is."""
        if certificate.latent != latent_hash(self.z[row]):
            return "is for a different latent"
        if certificate.warnings != (self.warnings[row] if self.warnings else ()):
            return f"has other warnings: {shown(', '.join(certificate.warnings) or 'none')}"
        return None


def latent_hash(z: Tensor) -> str:
    """A hash of a person's latent ``(q,)``, by which a certificate names it."""
    return array_hash(z.numpy())[:32]


class Crowd(Protocol):
    """Any number of people, whose latents need not be in memory."""

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers that identify them and their draws."""

    def __len__(self) -> int: ...

    @property
    def warnings(self) -> Sequence[tuple[str, ...]]:
        """What makes the certificate of each say less than it seems to say; none where it is empty."""

    def at(self, rows: Sequence[int]) -> People:
        """The people in these rows, with their latents."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is certified: a model, and who counts as similar.

    Args:
        seed: of the draws.
        known: what the producer has already certified for these people with the same plan; new results are added.
        proofs: where exact certificates leave their proofs, by the person's number; None keeps none.
    """

    model: Model
    similar: SimilaritySet
    seed: int = 0
    known: "Producers | None" = None
    proofs: dict[int, Proof] | None = None


@dataclass(frozen=True)
class Shape:
    """What is known about a question before any model is trained.

    Args:
        radius: ε.
        directions: n.
        dim: k, the length of a representation.
        is_linear: whether the classifier has no hidden layer.
    """

    radius: float
    directions: int
    dim: int
    is_linear: bool = True


class Method(ABC, Generic[Plan]):
    """A way to certify people.

    A plan is a frozen dataclass of plain values: every choice that a certificate depends on, and nothing else.
    Certificates are fingerprinted by it, so a setting that a method does not use cannot invalidate its certificates.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1  # raise it whenever the same plan gives other certificates
    title: ClassVar[str]  # for table headings
    meaning: ClassVar[str]  # its glossary entry, in plain words
    decides: ClassVar[bool] = False  # refutes as well as proves, with counterexamples
    states_flips: ClassVar[bool] = False  # how far everybody gets the same class, also beyond ε

    @abstractmethod
    def plan(self, settings: "Certification", radius: float, sigma_rs: float) -> Plan:
        """The settings that its certificates depend on.

        Args:
            radius: ε.
            sigma_rs: the noise on representations that the classifier was trained with.
        """

    def within(self, plan: Plan) -> Plan:
        """The plan without any search beyond ε, for where only the outcome matters."""
        return plan

    def refuse_infeasible(self, plan: Plan, shape: Shape) -> None:
        """Refuse, before any work, what cannot yield a certificate."""

    def alpha(self, plan: Plan) -> float:  # noqa: ARG002
        """The most that a certificate states as P(certified and wrong)."""
        return 0.0

    @abstractmethod
    def certify(self, subject: Subject, people: People, plan: Plan) -> list[Certificate]:
        """A certificate for each person."""

    def surplus(self, certificate: Certificate) -> float:
        """By how much a certificate holds; −∞ unless it is certified. [docs/mathematics.md#surplus]"""
        return self._surplus(certificate) if certificate.is_certified else -math.inf

    @abstractmethod
    def _surplus(self, certificate: Certificate) -> float:
        """The same for a person who is certified."""

    def radii(self, certificate: Certificate) -> tuple[float, float] | None:  # noqa: ARG002
        """d_cs and d_rs, if the method has both for this person: how far similar people can be, and may be."""
        return None


class SmoothedMethod(Method[Plan]):
    """A method that certifies a smoothed model, which answers by majority vote over draws or abstains."""

    checks_end_points: ClassVar[bool] = False  # whether the model is also run at the ends of S(x), as in the paper

    def expected_abstention(self, plan: Plan) -> float:  # noqa: ARG002
        """Roughly the share of people who abstain merely because of the number of samples."""
        return 0.0

    @abstractmethod
    def stricter(self, plan: Plan, beta: float) -> Plan:
        """The same plan, but run at one similar person it contradicts a true certificate with probability at most β.

        The result can be infeasible; :meth:`refuse_infeasible` then says so.
        """

    @abstractmethod
    def predict(self, subject: Subject, people: People, plan: Plan, *, place: str = "predict") -> list[int | None]:
        """The classes predicted by the smoothed model that is certified; None where it abstains.

        Args:
            place: names the draws; it distinguishes people who are similar to those with these numbers.
        """


def figure(certificate: Certificate, name: str) -> float:
    """A figure that a certified person's certificate always has."""
    value = certificate.figures[name]
    assert value is not None, f"a certified person has a {name}"
    return float(value)


AnyMethod = Method[Any]
