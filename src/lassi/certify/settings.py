"""How people are certified: the table ``[certify]`` of a recipe."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from lassi.base.errors import UserError
from lassi.certify.exact.balls import MAX_BOXES
from lassi.certify.intervals import Budget
from lassi.certify.methods import refuse_unknown
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing


@dataclass(frozen=True)
class Certification:
    """How people are certified; the defaults are the paper's, except for the bound on the quantile.

    Args:
        methods: the certificates to make; the first is also compared with the ground truth, if there is one.
        sigma_cs: the noise on coefficients, in multiples of the radius; for both smoothed methods.
        n, n0: samples for the quantile, and for the centre and its check.
        n_rs, n_rs0: draws that bound a class's probability, and draws that choose the class.
        candidates: for centres; ``"all"`` as in the paper.
        flip: how far to search for a change of class, in multiples of the radius: exactly along one direction, by
            bisection along two or three.
        family: whether alpha applies to ``each`` certificate, or to ``all`` together.
        max_boxes: the budget of the search along several directions.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # for reading it from a recipe

    methods: tuple[str, ...] = ("smoothed-modular", "exact-joint")
    sigma_cs: float = 0.65
    n: int = 10_000
    n0: int = 10_000
    n_rs: int = 100_000
    n_rs0: int = 2_000
    alpha_cs: float = 0.01
    alpha_rs: float = 0.001
    delta: float = 0.05
    candidates: int | str = 64
    quantile: str = "binomial"
    centre: str = "ball"
    quadrature: bool = False
    flip: float = 1.0
    family: str = "each"
    max_boxes: int = MAX_BOXES

    def __post_init__(self) -> None:
        refuse_unknown(self.methods)
        if isinstance(self.candidates, str) and self.candidates != "all":
            raise UserError(f"certify.candidates is '{self.candidates}'.", hint='Choose a number, or "all".')
        if not (math.isfinite(self.flip) and self.flip > 0):
            raise UserError(f"certify.flip is {self.flip}.", hint="Choose a number above 0.")
        if self.max_boxes < 1:
            raise UserError(f"certify.max_boxes is {self.max_boxes}.", hint="Choose at least 1.")
        self.centres(1.0)
        self.classes(1.0)
        Budget(self.alpha_cs, self.family)

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
        )

    def classes(self, sigma: float) -> ClassSmoothing:
        """How classes are smoothed by noise σ."""
        return ClassSmoothing(sigma, self.n_rs0, self.n_rs, self.alpha_rs)

    def shared_by(self, people: int) -> "Certification":
        """The same settings, with the failure probabilities split equally if they apply to all people together."""
        each = [Budget(alpha, self.family, people).of_one for alpha in (self.alpha_cs, self.alpha_rs)]
        return replace(self, alpha_cs=each[0], alpha_rs=each[1])
