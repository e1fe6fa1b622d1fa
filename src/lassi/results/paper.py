"""What the paper reports for the same question, in percent. [Paper, Tables 1 and 4, and 3D Shapes' of the appendix]

Theirs come from different pictures and larger models: they compare methods, not programs. Each figure states its
source, and is shown only next to a model trained for the same task.
"""

from dataclasses import dataclass

from lassi.recipe.cells import ModelSpec, Question
from lassi.similarity.kinds.mean_difference import MeanDifference
from lassi.similarity.kinds.pairs import Pairs


@dataclass(frozen=True)
class PaperFigures:
    """A method's accuracy and certified share, and the share of truly unfair scenes, if known.

    Args:
        setting: where the figures come from, such as ``CelebA 64×64``.
    """

    accuracy: float
    certified: float
    setting: str
    unfair: float | None = None


@dataclass(frozen=True)
class Pictures:
    """What a model was trained on: a dataset at a size."""

    dataset: str
    size: int


METHODS = ("naive", "dataaug", "lassi")
Row = tuple[tuple[float, float], ...]
SIZES_WITH_TABLES_OF_THEIR_OWN = (128,)  # the figures for 64×64 do not apply to these

CELEBA_64: dict[tuple[str, tuple[str, ...]], Row] = {
    ("Smiling", ("Pale_Skin",)): ((86.3, 0.6), (85.7, 12.2), (85.9, 98.0)),
    ("Smiling", ("Young",)): ((86.3, 38.2), (85.9, 43.0), (86.3, 98.8)),
    ("Smiling", ("Blond_Hair",)): ((86.3, 3.4), (86.6, 9.4), (86.4, 94.7)),
    ("Smiling", ("Heavy_Makeup",)): ((86.3, 0.4), (85.3, 13.7), (85.6, 91.3)),
    ("Smiling", ("Pale_Skin", "Young")): ((86.0, 0.4), (85.8, 9.9), (85.8, 97.3)),
    ("Smiling", ("Pale_Skin", "Young", "Blond_Hair")): ((86.2, 0.0), (86.4, 3.6), (85.5, 86.5)),
    ("Wearing_Earrings", ("Pale_Skin",)): ((81.3, 24.3), (81.0, 40.4), (85.0, 98.5)),
    ("Wearing_Earrings", ("Young",)): ((81.4, 59.2), (79.9, 72.0), (84.5, 98.0)),
    ("Wearing_Earrings", ("Blond_Hair",)): ((81.4, 9.2), (82.2, 30.5), (84.8, 96.2)),
    ("Wearing_Earrings", ("Heavy_Makeup",)): ((81.6, 20.5), (80.3, 49.2), (82.3, 98.7)),
}

FAIRFACE_64: dict[str, Row] = {
    "Age-2": ((69.0, 5.7), (68.9, 4.8), (72.0, 95.0)),
    "Age-3": ((67.0, 0.0), (67.1, 0.6), (65.1, 90.8)),
    "Age": ((42.2, 0.0), (39.9, 0.0), (41.5, 65.9)),
}

SHAPES3D_64 = {"naive": (32.0, 0.0, 69.3), "lassi": (100.0, 81.3, 0.3)}


def paper_figures(pictures: Pictures, question: Question, model: ModelSpec) -> PaperFigures | None:
    """What the paper reports for the same question and method, if anything."""
    if _is_transfer(question, model) or pictures.size in SIZES_WITH_TABLES_OF_THEIR_OWN:
        return None
    if pictures.dataset in ("shapes", "shapes3d"):
        is_theirs = (question.task, question.sensitive, question.kind) == ("object_hue", ("orientation",), Pairs.name)
        row = SHAPES3D_64.get(model.method) if is_theirs else None
        return None if row is None else PaperFigures(row[0], row[1], "3D Shapes 64×64", row[2])
    if question.kind != MeanDifference.name or model.method not in METHODS:
        return None
    table: Row | None = None
    if pictures.dataset == "celeba":
        table = CELEBA_64.get((question.task, question.sensitive))
    elif pictures.dataset == "fairface" and question.sensitive == ("Race=Black",):
        table = FAIRFACE_64.get(question.task)
    if table is None:
        return None
    name = {"celeba": "CelebA", "fairface": "FairFace"}[pictures.dataset]
    return PaperFigures(*table[METHODS.index(model.method)], f"{name} 64×64")


def _is_transfer(question: Question, model: ModelSpec) -> bool:
    """Whether R was not trained for the task itself: the paper reports transfer in separate tables."""
    return question.is_transfer or model.weights.get("lambda1", 1.0) != 1.0
