"""The paper's figures that show people and those similar to them."""

from dataclasses import dataclass

from lassi.recipe.part import Part
from lassi.recipe.scales import CELEBA, FAIRFACE, SHAPES


@dataclass(frozen=True)
class Drawing:
    """A figure of the paper.

    Args:
        name: what the user calls it.
        label: its label in the paper's source.
        title: what it shows.
        part: of the paper's recipes, from which its flow and directions come; None if it is a sketch of the method.
        sets: the sensitive sets that it shows; several are panels for one person.
    """

    name: str
    label: str
    title: str
    part: Part | None = None
    sets: tuple[tuple[str, ...], ...] = ()


PALE, YOUNG, BLOND, MAKEUP = "Pale_Skin", "Young", "Blond_Hair", "Heavy_Makeup"
_CELEBA, _FAIRFACE = Part(CELEBA, ("Table 1",), models=False), Part(FAIRFACE, ("FairFace",), models=False)
_SHAPES = Part(SHAPES, ("",), models=False)


def _rows(name: str, *sensitive: str) -> Drawing:
    return Drawing(
        f"figure-{name}", f"fig:appendix-{name}-0", f"People who vary in {' + '.join(sensitive)}", _CELEBA, (sensitive,)
    )


DRAWINGS = (
    Drawing("overview", "fig:overview", "A sketch of the method"),
    Drawing("similarity", "fig:similarity", "A sketch of similarity in latent space"),
    Drawing("centre-smoothing", "fig:centersmoothing", "A sketch of centre smoothing"),
    Drawing(
        "figure-panels",
        "fig:similarity-set-main-text",
        "One person, and those similar to them in six ways",
        _CELEBA,
        ((PALE,), (YOUNG,), (BLOND,), (MAKEUP,), (PALE, YOUNG), (PALE, YOUNG, BLOND)),
    ),
    _rows("pale-skin", PALE),
    _rows("young", YOUNG),
    _rows("blond-hair", BLOND),
    _rows("heavy-makeup", MAKEUP),
    _rows("pale-skin-young", PALE, YOUNG),
    _rows("pale-young-blond", PALE, YOUNG, BLOND),
    Drawing(
        "figure-fairface", "fig:appendix-fairface-0", "People who vary in Race=Black", _FAIRFACE, (("Race=Black",),)
    ),
    Drawing(
        "figure-shapes",
        "fig:shapes_appendix",
        "True orientations, and steps along a direction",
        _SHAPES,
        (("orientation",),),
    ),
)
