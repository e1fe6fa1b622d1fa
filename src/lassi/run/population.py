"""The people of a run: who is learned from, chosen on and judged, as the recipe selects them."""

from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from lassi.base.streams import Stream
from lassi.data.dataset import Dataset, Images, Integers
from lassi.data.factors import ORIENTATION, FactorDataset
from lassi.data.registry import open_dataset
from lassi.recipe.cells import Cell, Question
from lassi.recipe.recipe import Recipe
from lassi.similarity.registry import kind_named

SCENES = "scenes"  # the group of people that holds all orientations of some test scenes
LEAST_PICTURES = {"train": 50, "valid": 20}  # of each value of an attribute, to train and to test its judge
JUDGED_VALID = "valid-judged"  # the group of validation people who are judged, by experiments that ask for it


class Population:
    """The people that a recipe is about, and the models that it asks for."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @cached_property
    def cells(self) -> list[Cell]:
        """The models that the recipe asks for."""
        return self.recipe.cells()

    @property
    def seed(self) -> int:
        """The seed of what all repetitions share."""
        return self.recipe.run.seeds[0]

    @cached_property
    def dataset(self) -> Dataset:
        return open_data(self.recipe)

    @property
    def has_truth(self) -> bool:
        """Whether all orientations of some scenes are known."""
        is_asked = self.recipe.data.scenes > 0 and not self._judges_only_valid
        return is_asked and isinstance(self.dataset, FactorDataset)

    def knows_similar(self, sensitive: tuple[str, ...]) -> bool:
        """Whether people who truly differ only in these attributes are known: only for orientation alone."""
        return self.has_truth and sensitive == (ORIENTATION,)

    def knows_truth(self, cell: Cell) -> bool:
        """Whether a model is compared with the truth: on scenes of the test split."""
        return self.knows_similar(cell.sensitive) and cell.question.split == "test"

    @property
    def groups(self) -> list[str]:
        """The groups of people whose latents the run keeps."""
        tested = [] if self._judges_only_valid else ["test", *([SCENES] if self.has_truth else [])]
        groups = ["train", "valid", self.recipe.data.learn_from, *tested]
        return list(dict.fromkeys([*groups, *self.judged_groups]))

    @property
    def _judges_only_valid(self) -> bool:
        """Whether a recipe judges validation people alone, to choose settings: then test people are not touched."""
        experiments = self.recipe.experiment
        return bool(experiments) and all(own.split == "valid" and not own.baselines for own in experiments)

    @property
    def attributes(self) -> list[str]:
        """The attributes that the recipe is about: sensitive ones that have a name, targets and tasks."""
        names: list[str] = []
        for own in self.recipe.experiment:
            kind, sensitive = kind_named(own.directions), dict.fromkeys(chain.from_iterable(own.sensitive))
            names += [name for name in sensitive if kind.attribute(name, self.dataset) is not None]
            names += [own.target, *own.predicts]
        return list(dict.fromkeys(names))

    @cached_property
    def judged_attributes(self) -> list[str]:
        """Those of which there are enough pictures for an independent judge."""
        return [name for name in self.attributes if self.too_few(name) is None]

    def too_few(self, attribute: str) -> str | None:
        """Why an attribute can have no independent judge, in one sentence; None if it can."""
        values = self.dataset.attribute(attribute).values
        for group, least in LEAST_PICTURES.items():
            counts = np.bincount(self.labels(attribute, group), minlength=len(values))
            rarest = int(counts.argmin())
            if counts[rarest] < least:
                return (
                    f"Only {counts[rarest]:,} pictures of '{group}' have {attribute} = {values[rarest]}, but an "
                    f"independent judge needs {least}."
                )
        return None

    def judged(self, question: Question) -> str:
        """The group of people whom a question is about."""
        return JUDGED_VALID if question.split == "valid" else question.split

    @property
    def judged_groups(self) -> list[str]:
        """The groups of people whom the recipe's questions are about."""
        return list(dict.fromkeys(self.judged(cell.question) for cell in self.cells))

    def people(self, group: str, *, every: int | None = None) -> Integers:
        """The people of a split as the recipe selects them, or all orientations of its scenes, scene by scene.

        Args:
            every: every n-th person of the split, if different from the recipe's.
        """
        data = self.recipe.data
        if group == SCENES:
            assert isinstance(self.dataset, FactorDataset)
            tested = self.people("test")
            _, first = np.unique(self.dataset.units(tested), return_index=True)  # a scene is judged once
            return self.dataset.similar(tested[np.sort(first)][: data.scenes]).reshape(-1)
        is_judged, split = group in ("test", JUDGED_VALID), "valid" if group == JUDGED_VALID else group
        step = every or (data.every if is_judged else 1)
        people = self.dataset.people(split, every=step, first=data.first if is_judged else 0)
        most = data.at_most.get("test" if is_judged else group, len(people))
        if len(people) <= most:
            return people
        drawn = Stream(self.seed, f"people/{group}").numpy().permutation(people)
        return np.sort(drawn[:most])

    def labels(self, attribute: str, group: str) -> Integers:
        """The labels of a group's people."""
        return self.dataset.labels(attribute, self.people(group))

    def units(self, group: str) -> Integers:
        """The unit of each person in a group: a scene, an identity."""
        return self.dataset.units(self.people(group))

    def images(self, group: str) -> Images:
        """The pictures of a group's people, uint8 ``(people, 3, H, W)``."""
        return self.dataset.images(self.people(group))

    def num_classes(self, attribute: str) -> int:
        return len(self.dataset.attribute(attribute).values)


def open_data(recipe: Recipe) -> Dataset:
    """The dataset of a recipe."""
    root = recipe.data.root
    return open_dataset(recipe.data.name, Path(root).expanduser() if root else None, size=recipe.data.size)
