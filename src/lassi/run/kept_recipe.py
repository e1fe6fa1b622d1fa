"""The recipe in a run's folder, to which everything else in the folder belongs."""

import json
from collections.abc import Iterable
from pathlib import Path

from lassi.base.draft import WouldReplace
from lassi.base.errors import UserError
from lassi.base.files import read_ours
from lassi.base.identity import differing
from lassi.base.sealed import MOST_BYTES, document_start, read_sealed, write_sealed
from lassi.recipe.recipe import FORMAT, KIND, Recipe
from lassi.run import folder as places

# Where something is, which says nothing about what it is.
PATHS = ("data.root", "flow.source", "directions.source", "representation.source", "classifier.source")
# What would be made again if a table of the recipe changed, and so be lost; a table not listed here changes all of it.
LAST = (places.RESULTS, places.PAGE)
LOST_BY = {
    "certify": LAST,
    "judges": (places.JUDGES, places.EFFICACY, *LAST),
    "baselines": (places.BASELINES, *LAST),
    "classifier": (places.CLASSIFIERS, *LAST),
    "representation": (places.REPRESENTATIONS, places.CLASSIFIERS, *LAST),
    "experiment": (places.REPRESENTATIONS, places.CLASSIFIERS, places.BASELINES, *LAST),
}
COSTLY = (
    *(places.FLOW, places.JUDGES, places.EFFICACY, places.REPRESENTATIONS, places.CLASSIFIERS, places.BASELINES),
    *LAST,
)


def keep_recipe(recipe: Recipe, folder: Path) -> None:
    """Write the recipe into a run's folder."""
    write_sealed(folder / places.RECIPE, KIND, recipe.model_dump(mode="json"))


def load_recipe_of(run: Path) -> Recipe:
    """The recipe that made a run."""
    path = places.existing_run(run) / places.RECIPE
    older = UserError(f"'{run}' was not made by this version of lassi.", hint="Run its recipe again in a new folder.")
    if not read_ours(path, most=MOST_BYTES).startswith(document_start(KIND)):
        raise older
    content = read_sealed(path, KIND, remedy="Restore it from a copy, or run the recipe again in a new folder.")
    if content.get("format") != FORMAT:
        raise older
    try:
        return Recipe.model_validate_json(json.dumps(content))
    except ValueError:
        raise older from None
    except UserError as error:  # such as an edit that is registered nowhere
        raise UserError(f"The recipe of '{run}' cannot be used: {error.sentence}", hint=error.hint) from None


def refuse_other_recipe(recipe: Recipe, folder: Path) -> None:
    """Refuse a folder that belongs to a different recipe, whose models and results would be replaced."""
    if not (folder / places.RECIPE).exists():
        return
    there, asked = load_recipe_of(folder).model_dump(mode="json"), recipe.model_dump(mode="json")
    changed = {key: words for key, words in differing(there, asked).items() if key not in PATHS}
    if not changed or (_only_seeds(changed) and _loses_nothing(there["run"]["seeds"], asked["run"]["seeds"], folder)):
        return
    words, tables = list(changed.values()), {key.partition(".")[0] for key in changed}
    lost = {name for table in tables for name in LOST_BY.get(table, COSTLY) if (folder / name).exists()}
    raise WouldReplace(
        f"'{folder}' holds a run of a different recipe ({'; '.join(words[:3])}"
        + (f"; and {len(words) - 3} more)" if len(words) > 3 else ")")
        + (f"; this would replace {', '.join(sorted(lost, key=COSTLY.index))}." if lost else "."),
        hint="Choose another folder with --out, or add --replace to change this run.",
    )


def _only_seeds(changed: Iterable[str]) -> bool:
    return all(key.startswith("run.seeds.") for key in changed)


def _loses_nothing(there: list[int], asked: list[int], folder: Path) -> bool:
    """Whether everything in a folder stays when the seeds change: each has models of its own, the first the flow too.

    The results of a whole run are about all its seeds, so they are replaced unless seeds are only added.
    """
    has_results = any((folder / name).exists() for name in LAST)
    return there[0] == asked[0] and (not has_results or set(there) <= set(asked))
