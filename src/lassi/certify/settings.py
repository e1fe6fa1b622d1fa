"""How people are certified: the table ``[certify]`` of a recipe."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from lassi.base.errors import UserError
from lassi.base.ranges import MULTIPLE, Either, OneOf, Several, Text, Whole, refuse_twice, refuse_unfit
from lassi.certify.exact.balls import MAX_BOXES
from lassi.certify.intervals import Budget, Family
from lassi.certify.method import SmoothedMethod
from lassi.certify.methods import method_named, refuse_unknown
from lassi.certify.smoothed.settings import (
    Alpha,
    Centre,
    CentreSmoothing,
    ClassSmoothing,
    CountedSamples,
    Delta,
    KeptSamples,
    Quantile,
)
from lassi.certify.under import Under

SOME_METHODS = Several(Text(1, 100), 1, 100)


@dataclass(frozen=True)
class Certification:
    """How people are certified; the defaults are the paper's, except for candidates, quantile and check.

    Args:
        methods: the certificates to make; the first is also compared with the ground truth, if there is one.
        sigma_cs: the noise on coefficients, in multiples of the radius; for both smoothed methods.
        n, n0: samples for the quantile, and for the centre and its check.
        n_rs, n_rs0: draws that bound a class's probability, and draws that choose the class.
        n_ends: draws that choose the class at the ends of S(x), which the paper compares with certificates.
        candidates: for centres; ``"all"`` as in the paper.
        fresh_check: whether the check of a centre has samples of its own, as in the paper; otherwise it shares the
            quantile's, and the bound fails more often among people whose centre does not abstain.
        flip: how far to search for a change of class, in multiples of the radius: exactly along one direction, by
            bisection along two or three.
        family: whether alpha applies to ``each`` certificate, or to ``all`` together.
        max_boxes: the budget of the search along several directions.
        under: the edits that certificates by exact methods include, besides those about the picture itself.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # for reading it from a recipe

    methods: Annotated[tuple[str, ...], SOME_METHODS] = ("smoothed-modular", "exact-joint")
    sigma_cs: Annotated[float, MULTIPLE] = 0.65
    n: KeptSamples = 10_000
    n0: KeptSamples = 10_000
    n_rs: CountedSamples = 100_000
    n_rs0: CountedSamples = 2_000
    n_ends: CountedSamples = 100_000
    alpha_cs: Alpha = 0.01
    alpha_rs: Alpha = 0.001
    delta: Delta = 0.05
    candidates: Annotated[int | str, Either(Whole(1, 10_000_000), OneOf("all"))] = 64
    quantile: Quantile = "binomial"
    centre: Centre = "ball"
    quadrature: bool = False
    fresh_check: bool = False
    flip: Annotated[float, MULTIPLE] = 1.0
    family: Family = "each"
    max_boxes: Annotated[int, Whole(1, 10_000_000)] = MAX_BOXES
    under: Under | None = None

    def __post_init__(self) -> None:
        refuse_unfit(self, "certify")
        refuse_unknown(self.methods)
        refuse_twice("certify.methods", self.methods)
        if isinstance(self.candidates, int) and self.candidates > self.n0:
            raise UserError(
                f"'certify.candidates' is {self.candidates:,}, but 'certify.n0' is only {self.n0:,}.",
                hint=f"Choose at most {self.n0:,} candidates, or more samples n0.",
            )
        self.centres(1.0)

    @property
    def exact_methods(self) -> list[str]:
        """The methods whose model is not smoothed."""
        return [name for name in self.methods if not isinstance(method_named(name), SmoothedMethod)]

    def centres(self, radius: float) -> CentreSmoothing:
        """How R is smoothed along S(x) of radius ε."""
        return CentreSmoothing(
            self.sigma_cs * radius,
            self.n,
            self.n0,
            None if isinstance(self.candidates, str) else self.candidates,
            self.delta,
            self.alpha_cs,
            self.quantile,
            self.centre,
            self.quadrature,
            self.fresh_check,
        )

    def classes(self, sigma: float) -> ClassSmoothing:
        """How classes are smoothed by noise σ."""
        return ClassSmoothing(sigma, self.n_rs0, self.n_rs, self.alpha_rs)

    def shared_by(self, people: int) -> "Certification":
        """The same settings, with the failure probabilities split equally if they apply to all people together."""

        def of_one(alpha: float) -> float:
            return Budget(alpha, self.family, people).of_one

        return replace(self, alpha_cs=of_one(self.alpha_cs), alpha_rs=of_one(self.alpha_rs))
