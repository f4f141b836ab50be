"""A set of habits around the likeliest: what another observer may have learned of the same person.

Nobody has our model. What others make of the same person differs most where the data say least:
in how people move from places where they were hardly seen. So the set spans that: the setting that
predicts held-out days best, in which they come back to usual places; an observer who thinks that
they may go anywhere; one who thinks that they stay where little is known of them; and one who
thinks that they wander on. More are the same four, each learned from a bootstrap of the days.
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
from priste.tracks.held_out import Base, Days, Setting

HABITS = 4
"""How many habits a model has unless told otherwise: more gained nothing on people held out."""
RESIDENCE = pd.Timedelta("8h")
"""How long an observer may think, on average, that people stay where they were hardly seen.

Those who have moved stay where no learned day was, and the people around them know it."""
SIMPLE = 4
"""Of so many habits in a row only the first may depend on the time of day."""


def habits_of(
    days: Days, setting: Setting, step: pd.Timedelta, count: int, progress: Progress
) -> list[Mobility]:
    """Return the likeliest mobility and others around it, all with its belief about the start."""
    stay = math.exp(-step / RESIDENCE)
    anywhere = Setting("uniform")  # simple, as most observers are
    wandering = Setting("usual" if setting.base == "local" else "local", setting.smoothing)
    ways: list[Callable[[Days], Mobility]] = [
        lambda of: learned(of, setting),
        lambda of: learned(of, anywhere),
        lambda of: _resting(of, setting.base, stay),
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
    """Return what a setting learns from the days; `stay` is how likely its base stays, at least."""
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


def _resting(days: Days, base: Base, stay: float) -> Mobility:
    """Return how somebody moves who stays where little is known of them.

    They stay with a chance of `stay`, or with a larger one where the days alone say so: a place
    that nobody was seen to leave is not stayed at for ever.
    """
    plain = learned(days, Setting(base))
    sticky = learned(days, Setting(base), stay)
    rows, stickier = _dense(plain), _dense(sticky)
    least, most = rows.diagonal(), stickier.diagonal()
    there = np.minimum(most, np.maximum(least, stay))
    share = np.divide(there - least, most - least, out=np.ones_like(most), where=most > least)
    return Mobility(rows + share[:, None] * (stickier - rows), plain.initial)


def _staying(base: Mobility | None, n_cells: int, stay: float) -> Mobility:
    """Return a base that stays where it is with a chance of `stay` at least, or moves as it did."""
    moves: Array = np.full((n_cells, n_cells), 1 / n_cells) if base is None else _dense(base)
    there = np.maximum(moves.diagonal(), stay)
    np.fill_diagonal(moves, 0.0)
    leaving = moves.sum(axis=1)
    moves *= np.divide(1 - there, leaving, out=np.zeros_like(there), where=leaving > 0)[:, None]
    np.fill_diagonal(moves, np.where(leaving > 0, there, 1.0))
    return Mobility(moves)


def _dense(base: Mobility) -> Array:
    matrix = base.transition(0)
    return np.array(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
