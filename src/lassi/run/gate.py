"""The gate: what makes the certificates of a run say less than they seem to say.

Thresholds are such that the recipes of this project pass, and a flow trained for a single step does not
(``tests/run/test_gate.py``).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

from lassi.base.errors import UserError
from lassi.certify.method import Crowd
from lassi.certify.smoothed.statistics import lower_bound
from lassi.certify.weakness import Finding, Reservations, Weakness
from lassi.consumer.classifier import Represented, evaluate
from lassi.recipe.cells import Cell
from lassi.similarity.efficacy import Efficacy

if TYPE_CHECKING:
    from lassi.run.run import Run

LEAST_SAVED = 0.1  # bits per dimension that a flow must save, compared with independent pixels
LEAST_CHANGE = 0.1  # of the judge's probability, or of the share of people for whom the attribute appears or disappears
LEAST_SIGHT = 0.3  # of the way from chance to perfection that a judge's balanced accuracy must reach
ALPHA = 0.05  # of a share's lower bound
MOST_NAMED = 5  # people
ATYPICAL = Weakness.ATYPICAL.label


def findings(run: "Run", cell: Cell, radius: float | None = None) -> list[Finding]:
    """The weaknesses of a model of a run: of its flow, its directions, and the model itself.

    Args:
        radius: ε, if different from the recipe's.
    """
    return [*about_flow(run), *about_directions(run, cell, radius), *_about_model(run, cell)]


def about_flow(run: "Run") -> Iterator[Finding]:
    """Whether the flow has learned anything."""
    density = run.density
    if density.saved < LEAST_SAVED:
        yield Finding(
            Weakness.WEAK_FLOW,
            f"It needs {density.bits_per_dim:.2f} bits/dim, independent pixels {density.independent:.2f}.",
        )


def about_directions(run: "Run", cell: Cell, radius: float | None = None) -> Iterator[Finding]:
    """Whether the directions of each sensitive attribute change it, as far as a judge can see."""
    for attribute in cell.sensitive:
        found = run.load_efficacy(cell.experiment, attribute)
        if reason := _unknown_at(radius, found) or _blindness(run, attribute, found):
            yield Finding(Weakness.UNJUDGED, reason)
        elif strength_of(found, [name for name in run.judged_attributes if _sees(run, name)]) < LEAST_CHANGE:
            yield Finding(Weakness.IDLE_DIRECTION, _in_words(found))


def _unknown_at(radius: float | None, found: Efficacy) -> str | None:
    """Why nothing is known at a radius; what changes up to ε also changes up to a larger one."""
    if radius is None or radius >= found.radius:
        return None
    return f"What {found.attribute} changes was measured up to ε = {found.radius:g}, not {radius:g}."


def _sees(run: "Run", attribute: str) -> bool:
    """Whether the judge of an attribute is clearly better than chance."""
    chance = 1 / run.num_classes(attribute)
    return run.judge_scores(attribute).balanced - chance >= LEAST_SIGHT * (1 - chance)


def _blindness(run: "Run", attribute: str, found: Efficacy) -> str | None:
    """Why nobody can see the attribute; None if a judge can. Vectors without a name are judged by what they change."""
    if found.change is None:
        if attribute in run.attributes:
            return run.too_few(attribute)
        seen = any(_sees(run, name) for name in run.judged_attributes)
        return None if seen else f"No attribute has a reliable judge who could see what {attribute} changes."
    if _sees(run, attribute):
        return None
    balanced, chance = run.judge_scores(attribute).balanced, 1 / run.num_classes(attribute)
    return f"The balanced accuracy of the judge of {attribute} is {balanced:.0%}, by chance {chance:.0%}."


def strength_of(found: Efficacy, seen: Sequence[str]) -> float:
    """How much directions change, as a share or a probability; for vectors without a name, of any attribute.

    Shares count with the lower end of their interval, so that two people are no evidence.

    Args:
        seen: the attributes that have a reliable judge.
    """
    if found.change is None:
        return max((abs(found.others[name]) for name in seen if name in found.others), default=0.0)
    turned = [share for share in (found.appears, found.disappears) if share is not None]
    happened, of = sum(share.happened for share in turned), sum(share.of for share in turned)
    return max(abs(found.change), lower_bound(happened, of, ALPHA) if of else 0.0)


def _in_words(found: Efficacy) -> str:
    if found.change is None:
        return (
            f"From one end to the other of {found.attribute}, no attribute changes by {100 * LEAST_CHANGE:.0f} points."
        )
    points = 100 * found.change
    return f"From one end to the other, the probability of {found.attribute} changes by {points:.1f} points."


def _about_model(run: "Run", cell: Cell) -> Iterator[Finding]:
    """Whether the model has learned anything, on validation people."""
    labels = torch.from_numpy(run.labels(cell.task, "valid"))
    scores = evaluate(run.load_classifier(cell), Represented(run.represented(cell.representation, "valid"), labels))
    if scores.accuracy <= scores.majority:
        yield Finding(
            Weakness.BELOW_MAJORITY,
            f"It is right for {scores.accuracy:.1%} of validation people; always guessing the most common class, for "
            f"{scores.majority:.1%}.",
        )


def refuse_weak(found: Sequence[Finding]) -> None:
    """Refuse, for whoever wants certificates without reservations."""
    if found:
        raise UserError(" ".join(str(finding) for finding in found), hint="Leave out --strict to certify all the same.")


def as_records(found: Sequence[Finding]) -> list[dict[str, str]]:
    """Weaknesses as JSON shows them."""
    return [{"name": finding.weakness.label, "sentence": str(finding)} for finding in found]


def about_pictures(people: Crowd) -> list[Finding]:
    """Whether all pictures are like those from which the flow has learned."""
    unlike = [number for number, own in zip(people.numbers, people.warnings, strict=False) if ATYPICAL in own]
    if not unlike:
        return []
    if len(people) == 1:
        return [Finding(Weakness.ATYPICAL, "Its log p(x) is far outside that of validation people.")]
    which = ", ".join(map(str, unlike[:MOST_NAMED])) + (", …" if len(unlike) > MOST_NAMED else "")
    return [Finding(Weakness.ATYPICAL, f"This is so for {len(unlike):,} of {len(people):,} (person {which}).")]


def reservations(run: "Run", found: Sequence[Finding]) -> Reservations:
    """What the certificates of a model with these weaknesses state as warnings."""
    labels = dict.fromkeys(finding.weakness.label for finding in found)
    return Reservations(tuple(labels), (run.density.least, run.density.most))
