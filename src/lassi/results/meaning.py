"""Whether similarity sets mean what they should: what is measured of a run, and how tables show it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lassi.recipe.tables import ExperimentTable
from lassi.results.records import JudgeResult, Meaning
from lassi.results.stability import moves
from lassi.run.run import Run
from lassi.similarity.efficacy import side_effects


def meaning_of(run: Run, experiments: Sequence[ExperimentTable], *, edits: bool) -> Meaning:
    """What is known about the similarity sets of experiments.

    Args:
        edits: whether to measure how far invisible edits move latents.
    """
    efficacy = [
        run.load_efficacy(experiment, attribute)
        for experiment in experiments
        for attribute in dict.fromkeys(name for sensitive in experiment.sensitive for name in sensitive)
    ]
    judges = {name: JudgeResult(run.judge_scores(name), 1 / run.num_classes(name)) for name in run.judged_attributes}
    moved = [own for group in run.judged_groups for own in moves(run, group)] if edits else []
    return Meaning(run.density, judges, [own for row, own in enumerate(efficacy) if own not in efficacy[:row]], moved)


@dataclass(frozen=True)
class EfficacyRow:
    """What the directions of an attribute change.

    Args:
        judge: of the attribute; None if it has none.
        others: attributes that change, too, the most first, and by how many points.
    """

    attribute: str
    kind: str
    radius: float
    people: int
    judge: JudgeResult | None
    appears: float | None
    disappears: float | None
    change: float | None
    others: list[str]


def efficacy_rows(meaning: Meaning) -> list[EfficacyRow]:
    """One row for the directions of each sensitive attribute."""
    return [
        EfficacyRow(
            found.attribute,
            found.kind,
            found.radius,
            found.people,
            meaning.judges.get(found.attribute),
            None if found.appears is None else found.appears.value,
            None if found.disappears is None else found.disappears.value,
            found.change,
            [_in_words(name, change, meaning) for name, change in side_effects(found).items()],
        )
        for found in meaning.efficacy
    ]


def _in_words(name: str, change: float, meaning: Meaning) -> str:
    """By how many points an attribute changes; with a sign if it has two values."""
    judge = meaning.judges.get(name)
    is_binary = judge is not None and judge.chance == 0.5
    return f"{name} {100 * change:+.1f}" if is_binary else f"{name} {100 * change:.1f}"
