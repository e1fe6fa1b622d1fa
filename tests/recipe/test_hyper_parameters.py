"""The paper's table of the settings that were chosen, compared with the recipes that are to repeat them."""

import pytest

from lassi.recipe.cells import Cell
from lassi.recipe.recipe import load_recipe
from lassi.results.paper.figures import figures_of

RECIPES = {"CelebA": "celeba-64-paper", "FairFace": "fairface-64-paper", "3D Shapes": "shapes3d-paper"}
SETTINGS = ("lambda1", "lambda2", "lambda3", "samples", "sigma_rs")


def chosen(cell: Cell) -> dict[str, float]:
    objective = cell.method.objective()
    return {name: getattr(objective, name) for name in SETTINGS[:4]} | {"sigma_rs": cell.sigma_rs}


def cells_of(row: str) -> list[Cell]:
    """The models that a row of the table is about."""
    data, which = row.split(" | ")
    found = [
        cell
        for cell in load_recipe(RECIPES[data], ["run.seeds=[42]"]).cells()
        if cell.question.split == "test" and (cell.question.table == "Transfer") == (which == "Transfer")
    ]
    return [cell for cell in found if which.lower() == cell.method.name] if which in ("Naive", "LASSI") else found


def is_meant(column: str, cell: Cell) -> bool:
    """Whether a column such as ``sigma_rs (Age-3, Age)`` or ``lambda2 (LASSI)`` is about a model."""
    named = {name.strip() for name in column.partition("(")[2].rstrip(")").split(",")}
    return (
        named == {"all"}
        or bool(named & {cell.method.name, cell.task})
        or cell.method.name in {name.lower() for name in named}
    )


@pytest.mark.parametrize("row", dict.fromkeys(figure.row for figure in figures_of("hyper-parameters")))
def test_the_papers_recipes_have_the_settings_that_the_paper_chose(row: str) -> None:
    published: dict[tuple[str, str], set[float]] = {}
    for figure in figures_of("hyper-parameters"):
        if figure.row == row:
            for name in figure.metric.split(" and "):
                published.setdefault((figure.column, name), set()).add(figure.mean)
    for (column, name), values in published.items():
        # Earrings with Heavy_Makeup has λ2 = 0.25, which only the text of the appendix says.
        meant = [
            cell
            for cell in cells_of(row)
            if is_meant(column, cell)
            and not (name == "lambda2" and (cell.task, cell.sensitive) == ("Wearing_Earrings", ("Heavy_Makeup",)))
        ]
        if name == "samples":
            meant = [cell for cell in meant if cell.method.name != "naive"]
        assert meant
        assert {chosen(cell)[name] for cell in meant} == values, (row, column)
