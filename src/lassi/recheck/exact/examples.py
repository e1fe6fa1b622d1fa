"""Counterexamples: the point must be within the radius, and its class another one."""

import numpy as np

from lassi.recheck.exact.arithmetic import arb, arb_mat, least, norm
from lassi.recheck.exact.case import RELATIVE, Case
from lassi.recheck.exact.network import Along
from lassi.recheck.exact.verdict import Enclosure, Verdict, contradicted, short

CLASS_ROUNDING = 1e-12  # by how much a counterexample's class may trail a third one, as computed in float64


def check_example(case: Case, plain: Along, start: arb_mat, own: arb) -> Verdict:
    """Whether the counterexample gets another class, the one stated, by the margin stated.

    Args:
        plain: the margins as functions of t.
        own: the least margin at the person.
    """
    example = case.certificate.counterexample
    assert example is not None
    others = [label for label in range(case.model.num_classes) if label != case.predicted]
    if example.predicted not in others or len(example.t) != plain.dim:
        return contradicted("The counterexample has no other class, or not one number per direction.")
    if not norm([arb(number) for number in example.t]) <= case.radius * (1 + RELATIVE):
        return contradicted("The counterexample is outside the radius.")
    leads = [row[0] for row in plain.at(start, np.array(example.t)[:, None])]
    found = Enclosure(least([lead.lower() for lead in leads]), least([lead.upper() for lead in leads]))
    if found.low > 0:
        return found.contradicted(f"The counterexample has class {case.predicted} too.")
    if not found.high < 0:
        return found.unproven("The margin at the counterexample is within rounding.")
    if any(leads[others.index(example.predicted)] - lead > CLASS_ROUNDING for lead in leads):
        return found.contradicted(f"The counterexample's class is not {example.predicted}.")
    claimed = case.figure("margin")
    if abs(found.high - claimed) > 2 * case.figure("slack") + RELATIVE * (abs(own) + abs(found.high)):
        why = f"The margin at the counterexample is {short(found.high)}, not {short(claimed)} as claimed."
        return found.contradicted(why)
    return found.confirmed(f"The counterexample has class {example.predicted}, by a margin of {short(-found.high)}.")
