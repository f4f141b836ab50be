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

from priste.errors import UnobservedRowsWarning
from priste.mobility import Mobility
from priste.progress import Progress
from priste.tracks.held_out import Days, Setting

HABITS = 4
"""How many habits a model has unless told otherwise: more gained nothing on people held out.

Of so many in a row only the first may depend on the time of day."""
RESIDENCE = pd.Timedelta("8h")
"""How long an observer may think, on average, that people stay where they were hardly seen.

Those who have moved stay where no learned day was, and the people around them know it."""
GOING_HOME = 0.5
"""The least share of their base's moves that lead to a usual place.

Were it small, they would rest at many places in a row, and events had to be tracked for weeks."""


def habits_of(days: Days, setting: Setting, count: int, progress: Progress) -> list[Mobility]:
    """Return the likeliest mobility and others around it, all with its belief about the start."""
    stay = math.exp(-days.step / RESIDENCE)
    anywhere = Setting("uniform")  # simple, as most observers are
    wandering = Setting("usual" if setting.base == "local" else "local", setting.smoothing)
    ways: list[Callable[[Days], Mobility]] = [
        lambda of: learned(of, setting),
        lambda of: learned(of, anywhere),
        lambda of: _resting(of, stay),
        lambda of: learned(of, wandering),
    ]
    random, known = np.random.default_rng(0), sorted(set(days.day))
    habits: list[Mobility] = []
    for number in range(count):
        sample = days
        if number >= HABITS:
            sample = days.of(random.choice(known, len(known)).tolist())
        habits.append(ways[number % HABITS](sample))
        progress((number + 1) / count)
    return [habit.beginning(habits[0].initial) for habit in habits]


def learned(days: Days, setting: Setting, base: Mobility | None = None) -> Mobility:
    """Return what a setting learns from the days, from another `base` if one is given."""
    with warnings.catch_warnings():  # of a whole city most cells are never left
        warnings.simplefilter("ignore", UnobservedRowsWarning)
        return Mobility.fit(
            days.runs,
            days.grid.n_cells,
            order=setting.order,
            smoothing=setting.smoothing,
            base=days.base(setting.base) if base is None else base,
            period=days.period if setting.time_of_day else None,
            starts=days.phase if setting.time_of_day else None,
        )


def _resting(days: Days, stay: float) -> Mobility:
    """Return how somebody moves who stays where little is known of them, and then goes home.

    They stay with a chance of `stay`, with a larger one where the days alone say so, and with a
    smaller one where they were seen to leave sooner. Then they move as they would without that.
    """
    returning = max(GOING_HOME, days.returning)
    base = Mobility.by_distance(days.grid, days.runs, returning=returning)
    rows = np.array(learned(days, Setting(), base).transition(0))
    idle = np.array(base.transition(0)).diagonal()
    seen = np.bincount(
        np.concatenate([np.asarray(run[:-1], dtype=np.int64) for run in days.runs]),
        minlength=len(rows),
    )
    staying = rows.diagonal()
    most = staying + np.maximum(stay - idle, 0.0) / (seen + 1)  # had they rested before, as well
    there = np.minimum(most, np.maximum(staying, stay))
    leaving = 1 - staying
    rows *= np.divide(1 - there, leaving, out=np.zeros_like(there), where=leaving > 0)[:, None]
    np.fill_diagonal(rows, there)
    return Mobility(rows)
