"""The content of a report, as typed records: the page is drawn from a :class:`Document` and nothing else."""

from dataclasses import dataclass

from lassi.certify.intervals import Interval
from lassi.flow.check import FlowCheck
from lassi.recipe.cells import Question
from lassi.report.meaning import EditsView, MeaningView
from lassi.results.paper.shown import PaperFigures
from lassi.results.records import MethodResult, SceneCounts, TruthResult
from lassi.results.summary import BaselineSummary, ModelSummary

CONFIDENCE = 0.95


@dataclass(frozen=True)
class SimilarityView:
    """Who counts as similar in a question."""

    vectors: int
    rank: int
    radius: float


@dataclass(frozen=True)
class ClaimTruth:
    """What is known about truly similar people.

    Args:
        orientations: truly similar people per scene.
    """

    measured: TruthResult
    scenes: SceneCounts
    orientations: int


@dataclass(frozen=True)
class Claim:
    """The main claim of the page: one certificate, for one model and one question.

    Args:
        certificate: the method's name.
        title: what the page calls it.
        is_smoothed: whether it certifies a smoothed model.
        warnings: what makes the claim say less than it seems to say.
    """

    question: Question
    similar: SimilarityView
    model: str
    certificate: str
    title: str
    is_smoothed: bool
    result: MethodResult
    truth: ClaimTruth | None
    warnings: list[str]
    confidence: float = CONFIDENCE

    @property
    def false_expected(self) -> float:
        """At most this many certificates are expected to be wrong."""
        return self.result.alpha * self.result.people


@dataclass(frozen=True)
class ModelRow:
    """A row of a question's table: one model over all its seeds; intervals are the first seed's."""

    name: str
    summary: ModelSummary
    paper: PaperFigures | None

    @property
    def method(self) -> str:
        return self.summary.model.method


@dataclass(frozen=True)
class CurveSeries:
    """For each person, the ε up to which the answer provably holds, in increasing order."""

    method: str
    name: str
    flips: list[float]


@dataclass(frozen=True)
class Curve:
    """The share of people whose class holds, by ε.

    Args:
        certificate: the method that provides it.
        limit: the search went no further than this.
    """

    certificate: str
    limit: float
    radius: float
    series: list[CurveSeries]


@dataclass(frozen=True)
class RadiiSeries:
    """d_cs and d_rs of everybody who has both."""

    method: str
    name: str
    pairs: list[tuple[float, float]]
    people: int


@dataclass(frozen=True)
class Looseness:
    """What the exact certificate shows for the people whom a smoothed certificate leaves open."""

    name: str
    certificate: str
    open: int
    proven: int
    refuted: int
    rest: int


@dataclass(frozen=True)
class GroupShare:
    """The certified share of people with one value of an attribute."""

    value: str
    people: int
    interval: Interval


@dataclass(frozen=True)
class Groups:
    """The certified share by the values of an attribute."""

    attribute: str
    shares: list[GroupShare]


@dataclass(frozen=True)
class QuestionView:
    """A question, the models that answer it, and what their certificates show.

    Args:
        certificates: the methods' names.
        gave_up_after: the number of boxes after which the search left somebody undecided; None if it did not.
    """

    question: Question
    similar: SimilarityView
    certificates: list[str]
    models: list[ModelRow]
    has_truth: bool
    gave_up_after: int | None
    curve: Curve | None
    radii: list[RadiiSeries]
    looseness: list[Looseness]
    groups: list[Groups]

    @property
    def paper_setting(self) -> str | None:
        """Where the paper's figures come from, if there are any."""
        return next((model.paper.setting for model in self.models if model.paper), None)


@dataclass(frozen=True)
class ShownCounterexample:
    """Where a person's answer changes, in the sliders' coordinates."""

    t: list[float]
    predicted: str


@dataclass(frozen=True)
class GalleryModel:
    """What a model predicts at every point of the sliders' grid.

    Args:
        curve: along one direction, ``(t, margin)`` at all kinks and between them.
    """

    method: str
    name: str
    outcome: str
    predicted: list[str]
    own: str
    margins: list[float]
    counterexample: ShownCounterexample | None
    curve: list[tuple[float, float]] | None


@dataclass(frozen=True)
class GalleryPerson:
    """A person, and all similar pictures on the sliders' grid in one PNG."""

    person: int
    truth: str
    png: str
    columns: int
    size: int
    models: list[GalleryModel]


@dataclass(frozen=True)
class GalleryPart:
    """The people shown for a question; one slider per direction.

    Args:
        certificate: the title of the certificate whose outcomes are shown.
    """

    question: Question
    certificate: str
    sliders: list[str]
    steps: int
    people: list[GalleryPerson]


@dataclass(frozen=True)
class FlowView:
    """How good the generative model is."""

    bits_per_dim: float | None
    check: FlowCheck


@dataclass(frozen=True)
class Made:
    """How the run was made, for anyone who wants to repeat it."""

    command: str
    recipe: str
    seeds: list[int]
    python: str
    libraries: dict[str, str]
    fingerprints: dict[str, str]


@dataclass(frozen=True)
class Document:
    """Everything that a report contains.

    Args:
        about: what the pictures are, in words.
        people, units: how many test people there are, and how many independent units they form.
        cautions: what a reader must know about how people were divided.
    """

    title: str
    about: str
    people: int
    units: int
    claim: Claim
    questions: list[QuestionView]
    baselines: list[BaselineSummary]
    flow: FlowView
    gallery: list[GalleryPart]
    edits: EditsView | None
    meaning: MeaningView | None
    made: Made
    cautions: list[str]
