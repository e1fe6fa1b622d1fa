"""A part of a recipe: some of its tables, and what is wanted of them."""

from dataclasses import dataclass

from lassi.recipe.cells import Cell
from lassi.recipe.recipe import Recipe
from lassi.recipe.tables import ExperimentTable


@dataclass(frozen=True)
class Part:
    """Some tables of a recipe.

    Args:
        recipe: its name.
        tables: the names of the tables.
        models: whether their models are trained and certified.
        baselines: whether their baselines are trained.
    """

    recipe: str
    tables: tuple[str, ...]
    models: bool = True
    baselines: bool = False

    def experiments(self, recipe: Recipe) -> list[ExperimentTable]:
        """The experiments of these tables."""
        return [experiment for experiment in recipe.experiment if experiment.table in self.tables]

    def cells(self, recipe: Recipe) -> list[Cell]:
        """The models that are wanted."""
        return [cell for cell in recipe.cells() if self.models and cell.experiment.table in self.tables]
