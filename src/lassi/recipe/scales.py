"""The paper's recipes at other sizes: what stands for each of them, and what is changed in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from lassi.base.errors import UserError, unknown
from lassi.recipe.part import Part
from lassi.recipe.recipe import Recipe, load_recipe

CELEBA, CELEBA_128, FAIRFACE, SHAPES = "celeba-64-paper", "celeba-128-paper", "fairface-64-paper", "shapes3d-paper"


@dataclass(frozen=True)
class Resized:
    """A shipped recipe, with changes."""

    recipe: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scale:
    """A size at which the paper's experiments can be run.

    Args:
        about: what it is for, in a few words.
        recipes: what stands for a recipe of the paper; recipes that are missing cannot be run at this size.
    """

    about: str
    recipes: dict[str, Resized]


# As in the recipes celeba-32 and fairface-32: a flow that two cores train in a quarter of an hour, smaller networks,
# more epochs on fewer people, and this project's own certificates, which are faster and certify more people.
_LAPTOP = (
    *("data.size=32", "flow.levels=3", "flow.flows=8", "flow.channels=64"),
    *("flow.train.steps=3000", "flow.train.batch=32", "flow.train.learning_rate=1e-3", "flow.train.warmup=100"),
    *("flow.train.decay=cosine", "flow.train.clip=50.0", "flow.train.validate_every=250", "flow.train.memory=full"),
    *("representation.widths=[512, 256, 128]", "representation.epochs=12", "representation.decay=cosine"),
    *("classifier.epochs=3", "baselines.decay=cosine"),
    *("certify.methods=['smoothed-modular', 'exact-joint']", "certify.centre=median", "certify.fresh_check=false"),
    *("certify.candidates=64", "certify.quantile=binomial", "certify.n_ends=10000", "run.seeds=[42, 0, 10]"),
)
# Chosen on validation faces: from λ2 = 0.25, 1, 3 and σ_rs = 1, 2.5, 5 by certified share and accuracy. [docs/results]
_SMILING = ("Table 1", "Perpendicular directions", "Decorrelated directions", "Discovered directions")
_CELEBA = (
    *(f"experiment.{table}.methods.lassi.lambda2=3.0" for table in _SMILING),
    *(f"experiment.{table}.methods.lassi.sigma_rs=1.0" for table in _SMILING),
    *(f"experiment.{earrings}.methods.lassi.lambda2=0.25" for earrings in (1, 2)),
    *(f"experiment.{earrings}.methods.lassi.sigma_rs=5.0" for earrings in (1, 2)),
    "experiment.Transfer.methods.lassi.sigma_rs=0.25",  # from λ2 = 0.05, 0.3, 1 and σ_rs = 0.25, 0.5, 1, 2.5
)
# Chosen on validation faces: from λ2 = 0.1, 0.3, 1, 3 and σ_rs = 0.25, 0.5, 1, 2.5. [docs/results/paper/trials]
_FAIRFACE = ("experiment.FairFace.methods.lassi.lambda2=3.0", "experiment.FairFace.methods.lassi.sigma_rs=0.25")
# Everything as small as it can be while each step still does something.
_TINY = (
    *("data.size=16", "data.every=1", "data.at_most.train=300", "data.at_most.valid=60", "data.at_most.test=12"),
    *("flow.levels=2", "flow.flows=1", "flow.channels=8", "judges.epochs=1"),
    *("flow.train.steps=4", "flow.train.batch=8", "flow.train.validate_every=4", "flow.train.validate_on=8"),
    *("representation.widths=[16, 8]", "representation.batch=32", "baselines.epochs=1", "baselines.batch=32"),
    *("experiment.*.epochs=1", "certify.n=1200", "certify.n0=1300", "certify.n_rs=500", "certify.n_rs0=100"),
    *("certify.n_ends=100", "certify.candidates=16", "certify.quantile=binomial", "discovery.steps=3"),
)

SCALES: dict[str, Scale] = {
    "paper": Scale(
        "as in the paper: a GPU and the whole dataset",
        {name: Resized(name) for name in (CELEBA, CELEBA_128, FAIRFACE, SHAPES)},
    ),
    "cpu": Scale(
        "32×32, smaller networks, any part of the dataset: two cores",
        {
            CELEBA: Resized(CELEBA, (*_LAPTOP, *_CELEBA, "data.every=4")),
            # The people who are judged start at 1: those from 0 on had been looked at before the settings were chosen.
            FAIRFACE: Resized(FAIRFACE, (*_LAPTOP, *_FAIRFACE, "data.every=3", "data.first=1")),
            SHAPES: Resized("shapes", ("run.seeds=[42, 0, 10, 20, 30]",)),
        },
    ),
    "cpu-64": Scale(
        "64×64, for the four single attributes of Table 1 on Smiling: two cores, an afternoon",
        {CELEBA: Resized("celeba-64")},
    ),
    "smoke": Scale(
        "everything tiny, to see that it works: a minute",
        {
            **{name: Resized(name, _TINY) for name in (CELEBA, CELEBA_128, FAIRFACE)},
            SHAPES: Resized(SHAPES, (*_TINY, "data.at_most.train-biased=300", "data.scenes=2")),
        },
    ),
}


def scale_named(name: str) -> Scale:
    """The scale with this name."""
    if name not in SCALES:
        raise unknown("scale", name, SCALES)
    return SCALES[name]


def at_scale(recipe: str, scale: str, changes: Sequence[str] = ()) -> Recipe:
    """A recipe of the paper at a scale.

    Args:
        changes: applied after those of the scale.
    """
    found = scale_named(scale).recipes.get(recipe)
    if found is None:
        possible = [name for name, own in SCALES.items() if recipe in own.recipes]
        raise UserError(
            f"The recipe {recipe} cannot be run at the scale '{scale}'.", hint=f"Choose {' or '.join(possible)}."
        )
    return load_recipe(found.recipe, [*found.changes, *changes])


def part_at_scale(part: Part, scale: str) -> Recipe | None:
    """The recipe of a part at a scale; None if it does not have the part's tables there."""
    if part.recipe not in SCALES[scale].recipes:
        return None
    found = _at_scale(part.recipe, scale)
    return found if set(part.tables) <= {experiment.table for experiment in found.experiment} else None


@cache
def _at_scale(recipe: str, scale: str) -> Recipe:
    return at_scale(recipe, scale)
