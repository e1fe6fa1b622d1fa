"""What the paper reports, in percent, to stand beside ours. [Paper, Tables 1 and 4, and 3D Shapes' of the appendix]

Theirs are of other pictures and larger models: a comparison of methods, not of programs.
"""

from dataclasses import dataclass

from lassi.recipe.cells import Cell


@dataclass(frozen=True)
class Published:
    """A method's accuracy and certified share, and the share of truly unfair scenes where that is known."""

    accuracy: float
    certified: float
    unfair: float | None = None


METHODS = ("naive", "dataaug", "lassi")
Row = tuple[tuple[float, float], ...]

CELEBA: dict[tuple[str, tuple[str, ...]], Row] = {
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

FAIRFACE: dict[str, Row] = {
    "Age-2": ((69.0, 5.7), (68.9, 4.8), (72.0, 95.0)),
    "Age-3": ((67.0, 0.0), (67.1, 0.6), (65.1, 90.8)),
    "Age": ((42.2, 0.0), (39.9, 0.0), (41.5, 65.9)),
}

SHAPES3D = {"naive": Published(32.0, 0.0, 69.3), "lassi": Published(100.0, 81.3, 0.3)}


def published(dataset: str, cell: Cell) -> Published | None:
    """What the paper has for the same question, if it asks it."""
    if cell.task != cell.experiment.target:
        return None
    if dataset in ("shapes", "shapes3d"):
        is_theirs = (cell.task, cell.sensitive, cell.experiment.directions) == ("object_hue", ("orientation",), "pairs")
        return SHAPES3D.get(cell.method) if is_theirs else None
    if cell.experiment.directions != "mean-difference":
        return None
    row: Row | None = None
    if dataset == "celeba":
        row = CELEBA.get((cell.task, cell.sensitive))
    elif dataset == "fairface" and cell.sensitive == ("Race=Black",):
        row = FAIRFACE.get(cell.task)
    return None if row is None else Published(*row[METHODS.index(cell.method)])
