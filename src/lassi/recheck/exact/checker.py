"""The second check of exact certificates: a verdict per certificate.

It shares no code with the search that made them. What it concludes rests on ball arithmetic alone; proofs and floats
only suggest where to look.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lassi.base.errors import UserError
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.proof import Proof
from lassi.recheck.exact.arithmetic import least, precisely
from lassi.recheck.exact.balls import check_ball, check_flip
from lassi.recheck.exact.case import JOINT, MODULAR, Case, Similar
from lassi.recheck.exact.examples import check_example
from lassi.recheck.exact.modular import check_modular
from lassi.recheck.exact.network import BallModel
from lassi.recheck.exact.segments import check_segment
from lassi.recheck.exact.verdict import Status, Verdict, contradicted, short, unproven

BUDGET = 4096  # boxes, where the checker has to search


class Checker:
    """Checks the exact certificates of one model, for one set of directions.

    Args:
        model: C∘R, as balls.
        directions: A, ``(q, n)``.
        budget: the most boxes to bound in a search of the checker's own.
    """

    def __init__(self, model: BallModel, directions: NDArray[Any], *, budget: int = BUDGET) -> None:
        self._model, self._budget = model, budget
        self._similar = Similar(_finite(directions, "A direction"))

    def __call__(self, z: NDArray[Any], certificate: Certificate, proof: Proof | None = None) -> Verdict:
        """The verdict about the certificate of a person with latent ``(q,)``."""
        if proof == Proof() and certificate.outcome is Outcome.COUNTEREXAMPLE:
            proof = None  # it says nothing, not even that the whole ball sufficed
        case = Case(self._model, self._similar, _finite(z, "The latent"), certificate, proof, self._budget)
        if certificate.outcome not in (Outcome.CERTIFIED, Outcome.COUNTEREXAMPLE):
            return Verdict(Status.NOTHING, f"The person is {certificate.outcome.label}: nothing is claimed.")
        checks = {JOINT: check_joint, MODULAR: check_modular}
        if certificate.method not in checks:
            return Verdict(Status.NOTHING, f"A {certificate.method} certificate claims nothing that is exact.")
        objection = case.objection()
        if objection is not None:
            return contradicted(objection)
        with precisely():
            return checks[certificate.method](case)


def check_joint(case: Case) -> Verdict:
    """Whether C∘R gives everyone similar the class claimed, or the counterexample another."""
    maps = case.model.margins(case.predicted)
    plain = case.similar.along(maps, None)
    start = plain.start(case.z)
    leads = [row[0] for row in plain.at(start, np.zeros((plain.dim, 1)))]
    own, most = least([lead.lower() for lead in leads]), least([lead.upper() for lead in leads])
    if most < 0:
        return contradicted(f"The person's own class is not {case.predicted}, which trails by {short(-most)}.")
    if not own > 0:
        return unproven("The person's own class is within rounding of another.")
    along = case.similar.along(maps, case.span)
    verdict = None if case.is_certified else check_example(case, plain, start, own)
    if verdict is not None and not verdict.is_confirmed:
        return verdict
    if along.dim == 1:
        return check_segment(case, along, start)
    verdict = verdict or check_ball(case, along, start)
    if not verdict.is_confirmed:
        return verdict
    return check_flip(case, case.similar.along(maps, case.span_to_search), start, verdict)


def _finite(values: NDArray[Any], what: str) -> NDArray[Any]:
    if not np.isfinite(values).all():
        raise UserError(f"{what} to check holds values that are not finite.", hint="Compute it again.")
    return values
