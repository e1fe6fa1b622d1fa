"""The results of a run as typed records; ``results.json`` is their serialisation."""

from dataclasses import dataclass, field

from lassi.certify.intervals import CertifiedShare, Interval
from lassi.certify.weakness import Finding
from lassi.consumer.scores import Scores
from lassi.flow.density import Density
from lassi.recipe.cells import ModelSpec, Question
from lassi.similarity.efficacy import Efficacy
from lassi.similarity.judging import DirectionFigures
from lassi.similarity.truth import Coverage, Estimate

FORMAT = 4  # of results.json; raise it whenever a record changes


@dataclass(frozen=True)
class Outcomes:
    """How many people have each outcome; the counts add up to everybody."""

    certified: int
    not_certified: int
    counterexample: int
    abstained: int
    undecided: int


@dataclass(frozen=True)
class EndPoints:
    """Whether the smoothed model gives the same answer at the ends of S(x).

    Args:
        equal: the share of units for which it does; an abstention is a different answer.
        certified_but_different: people who are certified although it does not: the paper's own check.
        certified_but_another_class: those of them who get a different class there, not just an abstention.
    """

    equal: Interval
    certified_but_different: int
    certified_but_another_class: int


@dataclass(frozen=True)
class SceneCounts:
    """Scenes for which all truly similar people are known.

    Args:
        unfair: scenes whose people do not all get the same answer; an abstention counts as an answer.
        certified_but_unfair: unfair scenes in which anybody is certified.
    """

    scenes: int
    unfair: int
    unfair_share: Interval
    certified_but_unfair: int
    certified_but_unfair_share: Interval


@dataclass(frozen=True)
class MethodResult:
    """The certificates of one model by one method.

    Args:
        people: the number of pictures.
        outcomes: of all of them.
        share: the certified share, one picture per unit, with its interval and the bound for the population.
        alpha: P(certified and wrong) is at most this for each.
        accuracy: of the model that is certified; an abstention is wrong, as in the paper.
        certified_and_correct: the number of people who are certified and get the right class.
        mean_centre_radius: the mean d_cs, if the method has one.
    """

    people: int
    outcomes: Outcomes
    share: CertifiedShare
    alpha: float
    accuracy: float
    certified_and_correct: int
    mean_centre_radius: float | None = None
    seconds_per_person: float | None = None
    end_points: EndPoints | None = None
    truth: SceneCounts | None = None


@dataclass(frozen=True)
class UnderResult:
    """The certificates of one model by an exact method that include copies of people's pictures under an edit.

    Args:
        beta: the share of copies that may be treated differently; 0 for a fixed edit.
        gamma: how often a certificate may be wrong about that.
        variants: copies per person.
    """

    method: str
    edit: str
    beta: float
    gamma: float
    variants: int
    result: MethodResult


@dataclass(frozen=True)
class EditChanges:
    """How often an edit changes a model's class.

    Args:
        copies: per person; one for a fixed edit.
        per_copy: the share of all copies that get another class than the picture itself.
        any: the share of people for whom at least one copy does, with its interval.
    """

    edit: str
    copies: int
    per_copy: float
    any: Interval


@dataclass(frozen=True)
class PlainTruth:
    """The plain model on scenes for which all truly similar people are known."""

    scenes: int
    unfair_scenes: int
    accuracy: float


@dataclass(frozen=True)
class CellResult:
    """Everything known about one model, for one question, trained with one seed.

    Args:
        valid, test: scores of the plain model; None for test people if validation people are judged.
        units: how many units the people who are judged form.
        accuracy: of the plain model on these people, one picture per unit.
        distance: mean ‖R(z) − R(z′)‖ over them and random similar people.
        made_of: the content of flow, directions, representation and classifier, and hashes of each method's settings
            and certificates.
        end_points_equal: the share of them who get the same answer from the plain model at all ends of S(x).
        under: certificates that include copies of people's pictures.
        warnings: what makes the certificates say less than they seem to say.
        edits: how often invisible edits change the plain model's class.
    """

    question: Question
    model: ModelSpec
    seed: int
    valid: Scores
    test: Scores | None
    units: int
    accuracy: Interval
    distance: float
    end_points_equal: float
    truth: PlainTruth | None = None
    certificates: dict[str, MethodResult] = field(default_factory=dict)
    made_of: dict[str, str] = field(default_factory=dict)
    under: list[UnderResult] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    edits: list[EditChanges] = field(default_factory=list)

    @property
    def scores(self) -> Scores:
        """Of the plain model, on the split whose people are judged."""
        return self.valid if self.test is None else self.test


@dataclass(frozen=True)
class DirectionsResult:
    """The directions of an attribute.

    Args:
        people: how many of each split have each value; empty for vectors without a name.
    """

    attribute: str
    kind: str
    vectors: int
    figures: DirectionFigures
    people: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class TruthResult:
    """How much of the difference between truly similar people the similarity sets reach.

    Args:
        step_error: of a step along the right direction, relative to not moving.
        step_error_pixels: the same for a step in pixel space, for comparison.
    """

    kind: str
    radius: float
    coverage: Coverage
    step_error: Estimate
    step_error_pixels: Estimate


@dataclass(frozen=True)
class BaselineScores:
    """Scores of a baseline, and the share of people it treats alike on a grid of similar people, by sensitive set."""

    scores: Scores
    fair_on_points: dict[str, float]


@dataclass(frozen=True)
class BaselineResult:
    """A baseline, which is not certified."""

    baseline: str
    target: str
    seed: int
    valid: BaselineScores
    test: BaselineScores
    edits: list[EditChanges] = field(default_factory=list)


@dataclass(frozen=True)
class EditMoves:
    """How far an edit moves latents.

    Args:
        edit: its name.
        group: whose pictures.
        people: how many, one picture per unit.
        moved: the mean ‖E(Q(x)) − E(x)‖.
        length: the mean ‖E(x)‖.
    """

    edit: str
    group: str
    people: int
    moved: float
    length: float


@dataclass(frozen=True)
class JudgeResult:
    """An independent judge of an attribute.

    Args:
        scores: on validation people.
        chance: the balanced accuracy of guessing.
    """

    scores: Scores
    chance: float


@dataclass(frozen=True)
class Meaning:
    """What is known about the similarity sets, whatever model is certified on them.

    Args:
        density: what the flow has learned.
        judges: the independent judge of each attribute that has one.
        efficacy: what the directions of each sensitive attribute change.
        edits: how far invisible edits move the latents of the people who are judged.
    """

    density: Density
    judges: dict[str, JudgeResult]
    efficacy: list[Efficacy]
    edits: list[EditMoves] = field(default_factory=list)


@dataclass(frozen=True)
class Results:
    """Everything that a run measured."""

    directions: list[DirectionsResult]
    truth: list[TruthResult]
    cells: list[CellResult]
    baselines: list[BaselineResult]
    meaning: Meaning | None = None
    format: int = FORMAT
