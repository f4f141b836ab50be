"""A set of habits around the likeliest: what another observer may have learned of the same person.

Nobody has our model. What others make of the same person differs most where the data say least:
in how people move from places where they were hardly seen. So the set spans that: the setting that
predicts held-out days best, in which they come back to usual places; an observer who thinks that
they may go anywhere; one who thinks that they stay where they are; and one who thinks that they
wander on. More are the same four, each learned from a bootstrap of the days.
"""

import math
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

from priste.checks import Array
from priste.errors import UnobservedRowsWarning
from priste.mobility import Mobility
from priste.progress import Progress
from priste.tracks.held_out import Days, Setting

HABITS = 4
"""How many habits a model has unless told otherwise: more gained nothing on people held out."""
RESIDENCE = pd.Timedelta("8h")
"""How long, in the mean, an observer may think that people stay where they were never seen.

People who have moved stay for days where no learned day was, and others know it."""
SIMPLE = 4
"""Of so many habits in a row only the first may depend on the time of day."""


def habits_of(
    days: Days, setting: Setting, step: pd.Timedelta, count: int, progress: Progress
) -> list[Mobility]:
    """Return the likeliest mobility and others around it, all with its belief about the start."""
    stay = math.exp(-step / RESIDENCE)
    anywhere, resting = Setting("uniform"), Setting(setting.base)  # simple, as most observers are
    wandering = Setting("usual" if setting.base == "local" else "local", setting.smoothing)
    ways: list[Callable[[Days], Mobility]] = [
        lambda of: learned(of, setting),
        lambda of: learned(of, anywhere),
        lambda of: learned(of, resting, stay=stay),
        lambda of: learned(of, wandering),
    ]
    random, known = np.random.default_rng(0), sorted(set(days.day))
    habits: list[Mobility] = []
    for number in range(count):
        sample = days
        if number >= len(ways):
            sample = days.of(random.choice(known, len(known)).tolist())
        habits.append(ways[number % len(ways)](sample))
        progress((number + 1) / count)
    return [habit.beginning(habits[0].initial) for habit in habits]


def learned(days: Days, setting: Setting, stay: float | None = None) -> Mobility:
    """Return what a setting learns from the days; `stay` is how likely its base stays in place."""
    base = days.base(setting.base)
    if stay is not None:
        base = _staying(base, days.grid.n_cells, stay)
    with warnings.catch_warnings():  # of a whole city most cells are never left
        warnings.simplefilter("ignore", UnobservedRowsWarning)
        return Mobility.fit(
            days.runs,
            days.grid.n_cells,
            order=setting.order,
            smoothing=setting.smoothing,
            base=base,
            period=days.period if setting.time_of_day else None,
            starts=days.phase if setting.time_of_day else None,
        )


def _staying(base: Mobility | None, n_cells: int, stay: float) -> Mobility:
    """Return a base that stays where it is with a chance of `stay`, and else moves as it did."""
    moves: Array = np.full((n_cells, n_cells), 1.0) if base is None else _dense(base)
    np.fill_diagonal(moves, 0.0)
    totals = moves.sum(axis=1, keepdims=True)
    moves = np.divide(moves, totals, out=np.zeros_like(moves), where=totals > 0) * (1 - stay)
    moves[np.diag_indices(n_cells)] = 1 - moves.sum(axis=1)
    return Mobility(moves)


def _dense(base: Mobility) -> Array:
    matrix = base.transition(0)
    return np.array(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
