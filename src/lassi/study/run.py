"""Running a recipe, stage by stage; what is there already is not made again."""

from pathlib import Path

from lassi.base.artefact import Artefact
from lassi.base.errors import UserError
from lassi.base.files import write_whole
from lassi.base.progress import SILENT, Progress
from lassi.data.dataset import Dataset
from lassi.data.registry import open_dataset
from lassi.flow.check import check_flow, pictures_to_check, save_check
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
    return {"flow": flow.folder, "flow-check": _check(flow, dataset, out).folder}


def open_data(recipe: Recipe) -> Dataset:
    """The dataset of a recipe."""
    return open_dataset(recipe.data.name, recipe.data.root, size=recipe.data.size)


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


def _check(flow: Artefact, dataset: Dataset, out: Path) -> Artefact:
    check = check_flow(load_glow(flow.folder), pictures_to_check(dataset))
    return save_check(check, out / "flow-check", flow=flow)


def load_recipe_of(run: Path) -> Recipe:
    """The recipe that a run was made by."""
    path = run / "recipe.json"
    if not path.is_file():
        raise UserError(f"'{run}' is not the folder of a run: it has no '{path.name}'.", hint="Check the path.")
    return Recipe.model_validate_json(path.read_text())
