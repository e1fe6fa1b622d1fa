"""The tables and figures of the paper, by readable names."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from lassi.base.errors import unknown
from lassi.consumer.baselines import KINDS as BASELINES
from lassi.recipe.cells import Cell, ModelSpec, Question
from lassi.recipe.part import Part
from lassi.recipe.recipe import Recipe
from lassi.recipe.scales import CELEBA, CELEBA_128, FAIRFACE, SHAPES
from lassi.results.paper.figures import Figure, Setting, figures_of
from lassi.results.paper.shown import THEIR_DATA, agrees


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of the paper.

    Args:
        name: what the user calls it.
        label: its label in the paper's source.
        title: what it shows.
        parts: of the paper's recipes, among whose models its figures are; none if it reports no measurement.
    """

    name: str
    label: str
    title: str
    parts: tuple[Part, ...] = ()

    @property
    def figures(self) -> list[Figure]:
        """Its numbers, in reading order."""
        return figures_of(self.name)

    def cells(self, part: Part, recipe: Recipe) -> list[Cell]:
        """The models of a part that its figures are about; checked at the ends of S(x) only if it shows that.

        Args:
            recipe: the part's, at any scale.
        """
        data = THEIR_DATA.get(recipe.data.name, recipe.data.name)
        about = {figure.about for figure in self.figures if figure.about.dataset == data}
        first = [cell for cell in part.cells(recipe) if cell.seed == recipe.run.seeds[0]]
        meant = [cell for cell in first if _is_one_of(about, cell.question, cell.model)]
        found = [replace(cell, seed=seed) for cell in meant for seed in recipe.run.seeds]
        return found if self.shows("end_points") else [cell.without_end_points() for cell in found]

    def has_figures(self, part: Part, recipe: Recipe) -> bool:
        """Whether a part has any of its figures; a recipe at another scale may lack the models, or what is shown."""
        if part.baselines:
            return any(experiment.baselines for experiment in part.experiments(recipe))
        found = self.cells(part, recipe)
        if self.shows("end_points"):
            return any(cell.experiment.end_points for cell in found)
        return bool(found) or not part.models

    def shows(self, metric: str) -> bool:
        """Whether it has a figure of this kind."""
        return any(figure.metric == metric for figure in self.figures)

    @property
    def shows_grids(self) -> bool:
        """Whether it shows how fair baselines are on grids of similar people."""
        return any(figure.about.method in BASELINES and figure.about.sensitive for figure in self.figures)

    @property
    def published(self) -> int:
        """How many numbers it has, means and standard deviations counted separately."""
        return sum(1 if figure.sd is None else 2 for figure in self.figures)


_TARGETS = (Part(CELEBA, ("Table 1",), models=False, baselines=True),)

TABLES = (
    PaperTable("results", "tbl:results", "Accuracy and certified share on CelebA", (Part(CELEBA, ("Table 1",)),)),
    PaperTable(
        "perpendicular",
        "tbl:denton-attrib-vec",
        "Directions perpendicular to a decision boundary",
        (Part(CELEBA, ("Perpendicular directions",)),),
    ),
    PaperTable("transfer", "tbl:transfer", "R trained without knowing the task", (Part(CELEBA, ("Transfer",)),)),
    PaperTable(
        "fairface",
        "tbl:fairface-main-text",
        "Accuracy and certified share on FairFace",
        (Part(FAIRFACE, ("FairFace", "Transfer")),),
    ),
    PaperTable(
        "sensitive-attributes",
        "tbl:appendix-sens-attributes",
        "How frequent attributes are, and their length",
        (Part(CELEBA, ("Table 1",), models=False), Part(FAIRFACE, ("FairFace",), models=False)),
    ),
    PaperTable("baselines", "tbl:appendix-base-acc", "Accuracy without representation learning", _TARGETS),
    PaperTable(
        "empirical-fairness",
        "tbl:appendix-empirical-fair",
        "Fairness of the baselines on grids of similar people",
        _TARGETS,
    ),
    PaperTable(
        "naive-grid",
        "tbl:appendix-naive",
        "Naive: σ_cs and σ_rs, on validation people",
        (Part(CELEBA, ("Naive, validation",)),),
    ),
    PaperTable(
        "dataaug-grid",
        "tbl:appendix-data-aug",
        "DataAug: σ_rs, on validation people",
        (Part(CELEBA, ("DataAug, validation",)),),
    ),
    PaperTable(
        "lassi-grid",
        "tbl:appendix-adversarial",
        "LASSI: λ2 and σ_rs, on validation people",
        (Part(CELEBA, ("LASSI, validation",)),),
    ),
    PaperTable("hyper-parameters", "tbl:appendix-selected-hyperparams", "The settings that were chosen"),
    PaperTable(
        "results-sd",
        "tbl:appendix-table1-acc-fair-stddev",
        "results, with standard deviations",
        (Part(CELEBA, ("Table 1",)),),
    ),
    PaperTable(
        "end-points",
        "tbl:appendix-endpoints-fair",
        "The same answer at the ends of S(x)",
        (Part(CELEBA, ("Table 1",)),),
    ),
    PaperTable(
        "results-128", "tbl:appendix-128-acc-fair-stddev", "results, at 128×128", (Part(CELEBA_128, ("128×128",)),)
    ),
    PaperTable(
        "transfer-baselines",
        "tbl:appendix-base-acc-transfer",
        "Baselines for the tasks of transfer",
        (Part(CELEBA, ("Transfer",), models=False, baselines=True),),
    ),
    PaperTable(
        "transfer-sd",
        "tbl:appendix-transfer-stddevs",
        "transfer to Smiling, with standard deviations",
        (Part(CELEBA, ("Transfer",)),),
    ),
    PaperTable(
        "perpendicular-sd",
        "tbl:appendix-denton-acc-fair-stddev",
        "perpendicular, with standard deviations",
        (Part(CELEBA, ("Perpendicular directions",)),),
    ),
    PaperTable(
        "other-directions",
        "tab:appendix-other-attribute-vecs",
        "Decorrelated and discovered directions",
        (Part(CELEBA, ("Decorrelated directions", "Discovered directions")),),
    ),
    PaperTable("shapes", "tbl:shapes", "3D Shapes, where the truth is known", (Part(SHAPES, ("",)),)),
    PaperTable("reconstructions", "tbl:list-reconstructions", "Which figure shows which similarity set"),
)


def _is_one_of(about: Collection[Setting], question: Question, model: ModelSpec) -> bool:
    """Whether one of the paper's figures is about a model."""
    return any(agrees(own, question, model) for own in about)


def table_named(name: str) -> PaperTable:
    """The table with this name."""
    found = {table.name: table for table in TABLES}
    if name not in found:
        raise unknown("table or figure of the paper", name, found)
    return found[name]
