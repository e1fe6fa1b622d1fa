"""Certificates under an edit: they include the copies of a person's picture that no eye can distinguish.

Let Q be a random edit. Of m independent copies Q_i(x), k have a certificate for S(E(Q_i(x))) with the class of x. Then,
with confidence 1 − γ, P(a copy, and everybody similar to it, gets the class of x) ≥ L, the Clopper–Pearson bound from k
of m. x itself must be certified, too, and L at least 1 − β. A fixed edit has one copy, so nothing is left to chance.
[docs/mathematics.md#edits]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from lassi.base.errors import UserError
from lassi.base.ranges import Number, Several, Text, Whole, refuse_twice, refuse_unfit
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.intervals import Budget, Family
from lassi.certify.method import AnyMethod, People, SmoothedMethod, Subject
from lassi.certify.smoothed.statistics import lower_bound
from lassi.data.edits import edit_named

Share = Annotated[float, Number(1e-6, 0.5)]
MOST_VARIANTS = 100_000


@dataclass(frozen=True)
class Under:
    """The edits that exact certificates include: the table ``[certify.under]`` of a recipe.

    Args:
        edits: names; each gives certificates of its own.
        beta: the share of copies that may be treated differently.
        gamma: how often a certificate may be wrong about that.
        variants: copies per person; by default the fewest that can show it.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # for reading it from a recipe

    edits: Annotated[tuple[str, ...], Several(Text(1, 100), 1, 100)] = ("noise",)
    beta: Share = 0.05
    gamma: Share = 0.05
    variants: Annotated[int, Whole(1, MOST_VARIANTS)] | None = None

    def __post_init__(self) -> None:
        refuse_unfit(self, "certify.under")
        refuse_twice("certify.under.edits", self.edits)
        for edit in self.edits:
            self.plan(edit)

    def plan(self, edit: str, family: Family = "each", people: int = 1) -> "UnderPlan":
        """What certificates under one edit depend on.

        Args:
            family, people: whether γ applies to each certificate, or to those of so many people together.
        """
        asked = edit_named(edit)
        if not asked.is_random:
            return UnderPlan(edit, asked.version, 0.0, 0.0, 1)
        gamma = Budget(self.gamma, family, people).of_one
        least = fewest_variants(self.beta, gamma)
        variants = least if self.variants is None else self.variants
        if variants < least:
            raise UserError(
                f"'certify.under.variants' is {variants:,}, but beta = {self.beta:g} and gamma = {gamma:g} need at "
                f"least {least:,}.",
                hint="Draw more variants, or choose a larger beta or gamma.",
            )
        return UnderPlan(edit, asked.version, self.beta, gamma, variants)


@dataclass(frozen=True)
class UnderPlan:
    """One edit, with what must be shown about its copies; β = γ = 0 for a fixed edit."""

    edit: str
    version: int
    beta: float
    gamma: float
    variants: int

    @property
    def draws(self) -> bool:
        """Whether copies are drawn at random."""
        return self.gamma > 0

    def at_least(self, held: int) -> float:
        """The least share of all possible copies that hold, with confidence 1 − γ, if so many of the variants do."""
        return lower_bound(held, self.variants, self.gamma) if self.draws else float(held == self.variants)

    def figures(self, held: int) -> dict[str, float]:
        """What a certificate states about copies, of which so many hold."""
        asked = {"beta": self.beta, "gamma": self.gamma, "variants": self.variants}
        return {**asked, "held": held, "at_least": self.at_least(held)}

    def is_shown_by(self, held: int) -> bool:
        """Whether so many variants are enough."""
        return self.at_least(held) >= 1 - self.beta


def fewest_variants(beta: float, gamma: float) -> int:
    """The fewest copies that can show it, if all of them hold: the least m with (1 − β)^m ≤ γ.

    >>> fewest_variants(0.05, 0.05), fewest_variants(0.01, 0.05)
    (59, 299)
    """
    low, high = 1, 2
    while lower_bound(high, high, gamma) < 1 - beta:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if lower_bound(middle, middle, gamma) >= 1 - beta else (middle + 1, high)
    if high > MOST_VARIANTS:
        raise UserError(
            f"beta = {beta:g} and gamma = {gamma:g} need {high:,} variants of each person, but at most "
            f"{MOST_VARIANTS:,} are drawn.",
            hint="Choose a larger beta or gamma.",
        )
    return high


def in_words(certificate: Certificate) -> str:
    """The outcome of a certificate under an edit, for the reader."""
    assert certificate.under is not None, "it is under an edit"
    title, figures = edit_named(certificate.under).title, certificate.figures
    held, variants = figures.get("held"), figures.get("variants")
    if held is None or variants is None:
        return f"{certificate.outcome.value} (The picture itself is not certified, so copies were not tried.)"
    if not certificate.is_certified:
        return f"The picture itself is certified, but only {held} of {variants} copies ({title}) are, with its class."
    beta, gamma = figures["beta"], figures["gamma"]
    assert beta is not None
    assert gamma is not None
    if not gamma:
        return f"The picture, its copy ({title}) and everyone similar to either provably get the same class."
    return (
        f"Everyone similar to the picture provably gets the same class and, with confidence {1 - gamma:.4g}, so does "
        f"everyone similar to at least {1 - beta:.4g} of its copies ({title})."
    )


def refuse_smoothed(method: AnyMethod) -> None:
    """Refuse a method whose model is smoothed."""
    if isinstance(method, SmoothedMethod):
        raise UserError(
            f"{method.name} averages over its own noise, so it has no certificate under an edit.",
            hint="Choose exact-joint or exact-modular.",
        )


def include_copies(
    method: AnyMethod, subject: Subject, people: People, plan: Any, under: UnderPlan, found: Sequence[Certificate]
) -> list[Certificate]:
    """Certificates of people, from those of their own pictures and those of copies.

    Args:
        found: the certificates of the people's own pictures.
    """
    if people.copies is None:
        raise UserError(
            "Only the latents of these people are given, so their pictures cannot be copied.",
            hint="Certify people of a run, or a picture, or leave out the edit.",
        )
    certified = [row for row, certificate in enumerate(found) if certificate.is_certified]
    held = dict[int, int]()
    for row in certified:
        (z,) = people.copies([people.numbers[row]], under.edit, under.variants)
        own = replace(subject, similar=subject.similar.of(row, len(z)), proofs=None)
        copies = method.certify(own, People(z, [people.numbers[row]] * len(z)), method.within(plan))
        held[row] = sum(copy.is_certified and copy.predicted == found[row].predicted for copy in copies)
    seed = subject.seed if under.draws else None
    return [_with_copies(replace(own, seed=seed), under, held.get(row)) for row, own in enumerate(found)]


def _with_copies(own: Certificate, under: UnderPlan, held: int | None) -> Certificate:
    if held is None:  # the person's own picture is not certified
        return replace(own, under=under.edit)
    figures = dict(own.figures) | under.figures(held)
    outcome = Outcome.CERTIFIED if under.is_shown_by(held) else Outcome.NOT_CERTIFIED
    return replace(own, under=under.edit, outcome=outcome, alpha=own.alpha + under.gamma, figures=figures)
