"""Choosing one model of a run by its description."""

from collections.abc import Callable, Sequence

from lassi.base.errors import UserError, unknown
from lassi.recipe.cells import Cell


def pick_cell(
    cells: Sequence[Cell],
    *,
    method: str | None = None,
    task: str | None = None,
    sensitive: Sequence[str] = (),
    kind: str | None = None,
    seed: int | None = None,
    sigma_rs: float | None = None,
) -> Cell:
    """The first cell that matches; by default with the last method, the fairness-trained one.

    Args:
        method: the name of a training method, or the full name of a model, such as ``lassi (λ2 0.1, σ 0.5)``.
    """
    if not cells:
        raise UserError("The recipe of this run has no experiment.", hint="Run a recipe that has one.")
    names_a_model = any(str(cell.model) == method for cell in cells)
    cells = _only(cells, "model", method, lambda cell: str(cell.model) if names_a_model else cell.method.name)
    cells = _only(cells, "task", task, lambda cell: cell.task)
    cells = _only(cells, "sensitive set", " + ".join(sensitive) or None, lambda cell: " + ".join(cell.sensitive))
    cells = _only(cells, "kind of directions", kind, lambda cell: cell.experiment.directions)
    cells = _only(cells, "seed", None if seed is None else str(seed), lambda cell: str(cell.seed))
    cells = [
        cell for cell in cells if cell.sigma_rs == sigma_rs
    ] or cells  # if no C has this noise, the caller applies it
    first = cells[0]
    if method is not None:
        return first
    return [cell for cell in cells if (cell.question, cell.seed) == (first.question, first.seed)][-1]


def _only(cells: Sequence[Cell], what: str, wanted: str | None, name: Callable[[Cell], str]) -> Sequence[Cell]:
    """The cells with the wanted name; all if none is given."""
    if wanted is None:
        return cells
    found = [cell for cell in cells if name(cell) == wanted]
    if not found:
        raise unknown(f"{what} in this run called", wanted, sorted({name(cell) for cell in cells}))
    return found
