"""Settings chosen by Optuna's sampler instead of trying every combination; the study is kept in a file of its own."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lassi.base.errors import UserError
from lassi.base.files import os_errors_reported
from lassi.base.outside import shown_path
from lassi.pipeline.sweep import Sweep
from lassi.results.trials import Trial

if TYPE_CHECKING:
    import optuna

STUDY, FILE = "lassi sweep", "sweep.db"


def sampled(sweep: Sweep, count: int, evaluate: Callable[[dict[str, Any]], Trial], *, seed: int) -> list[Trial]:
    """The trials of a study of this many, resumed where it was; each is proposed from all before it.

    The sampler is seeded by the number of the trial, so a study that was interrupted goes on as if it had not been.
    """
    try:
        import optuna
    except ModuleNotFoundError:
        raise UserError(
            "Optuna's sampler needs the package optuna.", hint="Install it: pip install 'lassi-fair[tune]'."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = sweep.folder / FILE
    refuse_others_study(path)
    with os_errors_reported(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    both = [optuna.study.StudyDirection.MAXIMIZE] * 2  # accuracy and certified share
    study = optuna.create_study(storage=f"sqlite:///{path}", study_name=STUDY, directions=both, load_if_exists=True)
    space: dict[str, optuna.distributions.BaseDistribution] = {
        key: optuna.distributions.CategoricalDistribution([_choice(value) for value in values])
        for key, values in sweep.tried.items()
    }
    done = _finished(study, sweep)
    while len(done) < count:
        # The next trial follows from those before it alone: one that was interrupted leaves no trace.
        earlier = optuna.create_study(directions=both, sampler=optuna.samplers.TPESampler(seed=seed + len(done)))
        earlier.add_trials([_kept(own, space) for own in done])
        proposed = earlier.ask(space)
        trial = evaluate({key: _value(sweep, key, proposed.params[key]) for key in sweep.tried})
        study.add_trial(_kept(trial, space))
        done.append(trial)
    return done


def _kept(trial: Trial, space: "dict[str, optuna.distributions.BaseDistribution]") -> "optuna.trial.FrozenTrial":
    """A trial as a study keeps it."""
    import optuna

    params = {key: _choice(value) for key, value in trial.values.items()}
    return optuna.trial.create_trial(params=params, distributions=space, values=[trial.accuracy, trial.certified])


def refuse_others_study(path: Path) -> None:
    """Refuse a file that is not a study of ours."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            names = [name for (name,) in file.execute("select study_name from studies")]
    except sqlite3.Error:
        names = []
    if names != [STUDY]:
        raise UserError(f"'{shown_path(path)}' is not a study of lassi.", hint="Choose another folder with --out.")


def _finished(study: "optuna.Study", sweep: Sweep) -> list[Trial]:
    """The trials that the study has; it must be about the same values."""
    found = []
    for trial in study.get_trials(deepcopy=False):
        known = all(trial.params.get(key) in map(_choice, values) for key, values in sweep.tried.items())
        if not known or trial.params.keys() != sweep.tried.keys():
            raise UserError(
                f"The study in '{shown_path(sweep.folder / FILE)}' has tried other keys or values.",
                hint="Choose another folder with --out.",
            )
        values = {key: _value(sweep, key, trial.params[key]) for key in sweep.tried}
        found.append(Trial(values, *trial.values))
    return found


def _choice(value: Any) -> Any:
    """A value as a study can keep it."""
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _value(sweep: Sweep, key: str, choice: Any) -> Any:
    return next(value for value in sweep.tried[key] if _choice(value) == choice)
