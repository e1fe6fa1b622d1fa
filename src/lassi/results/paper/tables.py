"""The tables and figures of the paper, by readable names."""

from dataclasses import dataclass

from lassi.base.errors import unknown
from lassi.results.paper.figures import Figure, figures_of

CELEBA, CELEBA_128, FAIRFACE, SHAPES = "celeba-64-paper", "celeba-128-paper", "fairface-64-paper", "shapes3d-paper"


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of the paper.

    Args:
        name: what the user calls it.
        label: its label in the paper's source.
        title: what it shows.
        recipe: the shipped recipe that repeats it at the paper's size; None if it reports no measurement.
        of: the tables of that recipe whose models it is about.
    """

    name: str
    label: str
    title: str
    recipe: str | None = None
    of: tuple[str, ...] = ()

    @property
    def figures(self) -> list[Figure]:
        """Its numbers, in reading order."""
        return figures_of(self.name)

    @property
    def published(self) -> int:
        """How many numbers it has, means and standard deviations counted separately."""
        return sum(1 if figure.sd is None else 2 for figure in self.figures)


TABLES = (
    PaperTable("results", "tbl:results", "Accuracy and certified share on CelebA", CELEBA, ("Table 1",)),
    PaperTable(
        "perpendicular",
        "tbl:denton-attrib-vec",
        "Directions perpendicular to a decision boundary",
        CELEBA,
        ("Perpendicular directions",),
    ),
    PaperTable("transfer", "tbl:transfer", "R trained without knowing the task", CELEBA, ("Transfer",)),
    PaperTable(
        "fairface",
        "tbl:fairface-main-text",
        "Accuracy and certified share on FairFace",
        FAIRFACE,
        ("FairFace", "Transfer"),
    ),
    PaperTable(
        "sensitive-attributes",
        "tbl:appendix-sens-attributes",
        "How frequent attributes are, and their length",
        CELEBA,
        ("Table 1",),
    ),
    PaperTable("baselines", "tbl:appendix-base-acc", "Accuracy without representation learning", CELEBA, ("Table 1",)),
    PaperTable(
        "empirical-fairness",
        "tbl:appendix-empirical-fair",
        "Fairness of the baselines on grids of similar people",
        CELEBA,
        ("Table 1",),
    ),
    PaperTable(
        "naive-grid", "tbl:appendix-naive", "Naive: σ_cs and σ_rs, on validation people", CELEBA, ("Naive, validation",)
    ),
    PaperTable(
        "dataaug-grid", "tbl:appendix-data-aug", "DataAug: σ_rs, on validation people", CELEBA, ("DataAug, validation",)
    ),
    PaperTable(
        "lassi-grid",
        "tbl:appendix-adversarial",
        "LASSI: λ2 and σ_rs, on validation people",
        CELEBA,
        ("LASSI, validation",),
    ),
    PaperTable("hyper-parameters", "tbl:appendix-selected-hyperparams", "The settings that were chosen"),
    PaperTable(
        "results-sd", "tbl:appendix-table1-acc-fair-stddev", "results, with standard deviations", CELEBA, ("Table 1",)
    ),
    PaperTable(
        "end-points", "tbl:appendix-endpoints-fair", "The same answer at the ends of S(x)", CELEBA, ("Table 1",)
    ),
    PaperTable("results-128", "tbl:appendix-128-acc-fair-stddev", "results, at 128×128", CELEBA_128, ("128×128",)),
    PaperTable(
        "transfer-baselines",
        "tbl:appendix-base-acc-transfer",
        "Baselines for the tasks of transfer",
        CELEBA,
        ("Transfer",),
    ),
    PaperTable(
        "transfer-sd",
        "tbl:appendix-transfer-stddevs",
        "transfer to Smiling, with standard deviations",
        CELEBA,
        ("Transfer",),
    ),
    PaperTable(
        "perpendicular-sd",
        "tbl:appendix-denton-acc-fair-stddev",
        "perpendicular, with standard deviations",
        CELEBA,
        ("Perpendicular directions",),
    ),
    PaperTable(
        "other-directions",
        "tab:appendix-other-attribute-vecs",
        "Decorrelated and discovered directions",
        CELEBA,
        ("Decorrelated directions",),
    ),
    PaperTable("shapes", "tbl:shapes", "3D Shapes, where the truth is known", SHAPES, ("",)),
    PaperTable("reconstructions", "tbl:list-reconstructions", "Which figure shows which similarity set"),
)


def table_named(name: str) -> PaperTable:
    """The table with this name."""
    found = {table.name: table for table in TABLES}
    if name not in found:
        raise unknown("table or figure of the paper", name, found)
    return found[name]
