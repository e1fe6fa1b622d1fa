"""What the paper reports for the same question, to show next to our own figures.

Theirs come from different pictures and larger models: they compare methods, not programs. A figure is shown only next
to a model that agrees with it in everything but the dataset and its size, which are stated, and the settings that are
chosen on validation people: λ2, λ3 and the noise.
"""

from dataclasses import dataclass

from lassi.recipe.cells import ModelSpec, Question
from lassi.results.paper.figures import Figure, Setting, published

THEIR_DATA = {"shapes": "shapes3d"}  # rendered shapes stand for 3D Shapes
TITLES = {"celeba": "CelebA", "fairface": "FairFace", "shapes3d": "3D Shapes"}
USUAL_SIZE, USUAL_SIGMA_CS = 64, 0.65  # of the paper's pictures, and of its noise on coefficients


@dataclass(frozen=True)
class PaperFigures:
    """A method's accuracy and certified share, and the share of truly unfair scenes, if known; in percent.

    Args:
        setting: where the figures come from, such as ``CelebA 64×64``.
    """

    accuracy: Figure
    certified: Figure
    setting: str
    unfair: Figure | None = None


@dataclass(frozen=True)
class Pictures:
    """What a model was trained on: a dataset at a size."""

    dataset: str
    size: int


def paper_figures(pictures: Pictures, question: Question, model: ModelSpec) -> PaperFigures | None:
    """What the paper reports for the same question and method, if anything."""
    dataset = THEIR_DATA.get(pictures.dataset, pictures.dataset)
    there = {figure.about.size for figure in published() if figure.about.dataset == dataset}
    size = pictures.size if pictures.size in there else USUAL_SIZE
    found: dict[str, Figure] = {}
    for figure in published():
        is_same = (figure.about.dataset, figure.about.size) == (dataset, size) and agrees(figure.about, question, model)
        if is_same and (figure.metric not in found or found[figure.metric].sd is None):
            found[figure.metric] = figure  # one of two tables also gives standard deviations
    if not {"accuracy", "certified"} <= found.keys():
        return None
    setting = f"{TITLES[dataset]} {size}×{size}"
    return PaperFigures(found["accuracy"], found["certified"], setting, found.get("unfair"))


def agrees(about: Setting, question: Question, model: ModelSpec) -> bool:
    """Whether a figure is about a model's question and training, on test people."""
    lambda1 = model.weights.get("lambda1", 1.0)
    target = question.target if lambda1 else None  # without its loss, R knows no target
    theirs = (about.target, about.task, about.sensitive, about.kind, about.radius, about.lambda1)
    ours = (target, question.task, question.sensitive, question.kind, question.radius, lambda1)
    is_same = theirs == ours and about.method == model.method and about.split == question.split
    return is_same and (question.split == "test" or _is_tried(about, model))


def _is_tried(about: Setting, model: ModelSpec) -> bool:
    """Whether a figure of a study of settings is about the settings of a model."""
    tried = (about.lambda2, about.sigma_cs)
    is_same = tried == (model.weights.get("lambda2", 0.0), model.sigma_cs or USUAL_SIGMA_CS)
    return is_same and about.sigma_rs in (model.sigma_rs, None)  # centres do not depend on it
