"""Running a recipe, stage by stage; what is there already is not made again."""

from pathlib import Path

from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.errors import UserError
from lassi.base.files import write_whole
from lassi.base.progress import SILENT, Progress
from lassi.data.dataset import Dataset
from lassi.data.registry import open_dataset
from lassi.flow.check import checked, drawn_to_check, pictures_to_check
from lassi.flow.glow import Glow
from lassi.flow.store import load_glow
from lassi.flow.train import train_flow
from lassi.study.recipe import Recipe

STAGES = ("flow",)


def run_recipe(
    recipe: Recipe, out: Path, *, threads: int | None = None, device: str = "cpu", progress: Progress = SILENT
) -> dict[str, Path]:
    """Run the stages of a recipe into the folder ``out``; returns the folder of each stage."""
    dataset = open_data(recipe)
    write_whole(out / "recipe.json", recipe.model_dump_json(indent=1).encode())
    flow = _flow(recipe, dataset, out, threads, device, progress)
    check, report = checked(
        flow, load_glow(flow.folder), pictures_to_check(dataset), None, out / "flow-check", progress=progress
    )
    if not check.is_good:
        raise UserError(
            f"The flow in '{flow.folder}' is not invertible to rounding error, so no certificate would hold with it.",
            hint="Train it again with a lower learning rate.",
        )
    return {"flow": flow.folder, "flow-check": report.folder}


def open_data(recipe: Recipe) -> Dataset:
    """The dataset of a recipe."""
    root = recipe.data.root
    return open_dataset(recipe.data.name, Path(root).expanduser() if root else None, size=recipe.data.size)


def _flow(
    recipe: Recipe, dataset: Dataset, out: Path, threads: int | None, device: str, progress: Progress
) -> Artefact:
    return train_flow(
        dataset,
        recipe.glow_settings(),
        recipe.flow.train,
        out / "flow",
        seed=recipe.run.seeds[0],
        threads=threads,
        device=device,
        progress=progress,
    )


def load_recipe_of(run: Path) -> Recipe:
    """The recipe that a run was made by."""
    path = run / "recipe.json"
    if not path.is_file():
        raise UserError(f"'{run}' is not the folder of a run: it has no '{path.name}'.", hint="Check the path.")
    try:
        return Recipe.model_validate_json(path.read_text())
    except ValueError:
        raise UserError(f"'{path}' is not a recipe of this version.", hint="Run the recipe again.") from None


def pictures_of(run: Path, glow: Glow, count: int) -> Tensor:
    """Pictures to judge a flow by: of the run's data, or, for a flow that was imported, drawn from itself."""
    if (run / "recipe.json").is_file():
        return pictures_to_check(open_data(load_recipe_of(run)), count)
    return drawn_to_check(glow, count)
