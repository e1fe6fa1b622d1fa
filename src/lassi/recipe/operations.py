"""How much there is to compute for a recipe, counted in multiplications and additions, before anything is run.

Only products of matrices and convolutions count: they are nearly all of it. Tests compare the counts with those of
PyTorch's own counter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lassi.flow.glow import GlowSettings
from lassi.recipe.cells import Cell
from lassi.recipe.recipe import Recipe

BACKWARD = 2  # a backward pass takes twice as much as the forward one: for the inputs and for the weights
RATE = 5e12  # per second: what a GPU such as the paper's RTX 2080 Ti (13.4e12 at its peak) can sustain, roughly
COMPARED = 3e7  # samples that one core compares with a candidate centre per second, measured at the paper's widths


@dataclass(frozen=True)
class Operations:
    """What each stage of a recipe takes.

    Args:
        flow: training the flow.
        encoding: everybody's latents.
        representations: training all representations.
        comparisons: of samples with candidate centres, for smoothed certificates and at the ends of S(x). With all
            samples as candidates, as in the paper, they take nearly all the time of certificates.
    """

    flow: float
    encoding: float
    representations: float
    comparisons: float

    @property
    def hours(self) -> float:
        """On a GPU that sustains :data:`RATE`."""
        return (self.flow + self.encoding + self.representations) / RATE / 3600

    @property
    def core_hours(self) -> float:
        """Of a processor, for certificates."""
        return self.comparisons / COMPARED / 3600


@dataclass(frozen=True)
class Sizes:
    """How many people a whole dataset has: in the training split, and in the split that is judged."""

    train: int
    judged: int


def flow_operations(glow: GlowSettings) -> float:
    """Encoding one picture: the coupling networks and the mixing of all steps."""
    total = 0.0
    for level in range(glow.levels):
        channels, side = 4 * glow.channels * 2**level, glow.size // 2 ** (level + 1)
        half, last = channels // 2, channels if glow.coupling == "affine" else channels // 2
        step = 9 * half * glow.hidden + glow.hidden**2 + 9 * glow.hidden * last + channels**2
        prior = 9 * half * 2 * half if level < glow.levels - 1 else 0  # the last level's is computed once for all
        total += 2 * side**2 * (glow.flows * step + prior)
    return total


def representation_operations(latent_dim: int, widths: list[int]) -> float:
    """R of one person."""
    return 2.0 * sum(a * b for a, b in zip([latent_dim, *widths], widths, strict=False))


def operations_of(recipe: Recipe, cells: Sequence[Cell], people: Sizes) -> Operations:
    """What the flow of a recipe and some of its models take."""
    glow, training = recipe.glow_settings(), recipe.flow.train
    encode = flow_operations(glow)
    again = 1 if training is not None and training.memory == "reversible" else 0  # activations are computed again
    steps = 0 if training is None else training.steps * training.batch
    r = representation_operations(glow.channels * glow.size**2, recipe.representation.widths)
    trained = {cell.representation.folder: cell.representation for cell in cells}
    passes = sum(
        (cell.experiment.epochs or recipe.representation.epochs) * (3 if cell.sensitive else 1)
        for cell in trained.values()
    )  # R(z), the search for the farthest similar person beyond the first layer, R(z′)
    return Operations(
        encode * (1 + BACKWARD + again) * steps,
        encode * people.train,
        r * (1 + BACKWARD) * passes * people.train,
        _comparisons(recipe, cells) * people.judged // recipe.data.every,
    )


def _comparisons(recipe: Recipe, cells: Sequence[Cell]) -> int:
    """Per person: once for all classifiers on a representation, and for each classifier at the ends of S(x)."""
    centres: dict[object, int] = {}
    at_ends = 0
    for cell in cells:
        settings = recipe.certification(cell).centres(cell.experiment.radius)
        once = settings.num_candidates * settings.samples0 if settings.centre == "ball" else 0
        centres[cell.representation.folder, cell.sensitive, cell.sigma_cs] = once
        at_ends += 2 * len(cell.sensitive) * once if cell.experiment.end_points else 0
    return sum(centres.values()) + at_ends
