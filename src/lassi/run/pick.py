"""Choosing one model of a run, by what a person calls it."""

from collections.abc import Callable, Sequence

from lassi.base.errors import UserError, unknown
from lassi.recipe.cells import Cell
from lassi.run.run import Run


def pick_cell(
    run: Run,
    *,
    method: str | None,
    task: str | None,
    sensitive: Sequence[str],
    seed: int | None,
    directions: str | None,
    sigma_rs: float | None = None,
) -> Cell:
    """The first cell that fits; of the methods the last, the fair one, unless one is named."""
    cells = run.cells
    if not cells:
        raise UserError("The recipe of this run has no experiment.", hint="Run one that has.")
    cells = _only(cells, "model", method, lambda cell: cell.method)
    cells = _only(cells, "task", task, lambda cell: cell.task)
    wanted = " + ".join(sensitive) or None
    cells = _only(cells, "sensitive set", wanted, lambda cell: " + ".join(cell.sensitive))
    cells = _only(cells, "kind of directions", directions, lambda cell: cell.experiment.directions)
    cells = _only(cells, "seed", None if seed is None else str(seed), lambda cell: str(cell.seed))
    cells = [cell for cell in cells if cell.sigma_rs == sigma_rs] or cells  # other noise than C's is the caller's
    first = cells[0]
    if method is None:
        same = [
            cell
            for cell in cells
            if (cell.experiment, cell.sensitive, cell.task, cell.seed)
            == (first.experiment, first.sensitive, first.task, first.seed)
        ]
        return same[-1]
    return first


def _only(cells: list[Cell], what: str, wanted: str | None, name: Callable[[Cell], str]) -> list[Cell]:
    """Those of a name; all where none is wanted."""
    if wanted is None:
        return cells
    found = [cell for cell in cells if name(cell) == wanted]
    if not found:
        raise unknown(f"{what} in this run called", wanted, sorted({name(cell) for cell in cells}))
    return found
