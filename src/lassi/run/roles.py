"""Who is learned from, chosen on and judged: nobody may be in two of these roles."""

from itertools import combinations

import numpy as np

from lassi.base.errors import UserError
from lassi.data.dataset import Integers
from lassi.recipe.cells import by_question
from lassi.run.population import SCENES
from lassi.run.run import Run


def people_by_role(run: Run) -> dict[str, Integers]:
    """The people in each role, by what is done with them."""
    learned = np.union1d(run.people("train"), run.people(run.recipe.data.learn_from))
    return {"learned from": learned, "chosen on": run.people("valid"), "judged": run.people("test")}


def refuse_two_roles(run: Run) -> None:
    """Refuse a recipe in which a person has two roles, or two pictures of one unit have.

    Units are exempt where the splits were published with the dataset, picture by picture; :func:`cautions` then says
    so. The same picture never is.
    """
    roles = people_by_role(run)
    for one, other in combinations(roles, 2):
        both = np.intersect1d(roles[one], roles[other])
        if len(both):
            raise UserError(
                f"{len(both):,} people would be both {one} and {other}, such as {run.dataset.describe(int(both[0]))}.",
                hint="Choose a data.learn_from that shares nobody with the splits valid and test.",
            )
    if not run.dataset.has_published_splits:
        for sentence in _shared_units(run):
            raise UserError(sentence, hint="Put all pictures of a unit into one split.")


def cautions(run: Run) -> list[str]:
    """What a reader must know about how people were divided."""
    shared = _shared_units(run) if run.dataset.has_published_splits else []
    return [f"{sentence} The splits were published with the data." for sentence in shared] + [
        f"{question} is about people on whom settings are chosen, so its figures are no evidence about others."
        for question in by_question(run.cells)
        if question.split != "test"
    ]


def _shared_units(run: Run) -> list[str]:
    """One sentence for each two roles that share units."""
    roles = {role: np.unique(run.dataset.units(people)) for role, people in people_by_role(run).items()}
    if run.has_truth:
        roles["judged"] = np.union1d(roles["judged"], run.dataset.units(run.people(SCENES)))
    shared = {pair: len(np.intersect1d(roles[pair[0]], roles[pair[1]])) for pair in combinations(roles, 2)}
    return [
        f"The splits divide pictures, not people or scenes: {count:,} of these are both {one} and {other}."
        for (one, other), count in shared.items()
        if count
    ]
