"""How to learn habits from a person's days: whatever predicts the days best that it has not seen.

A setting is judged by its log-likelihood per move on whole days that were left out. The recursion
is that of `Mobility.fit`, on counts of the moves alone: no matrix is made.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priste.checks import Array
from priste.grid import Grid
from priste.mobility import Mobility

Base = Literal["uniform", "local", "usual", "others"]
SMOOTHINGS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ORDERS = (1, 2)
FOLDS = 5
RETURNING = 0.1
"""The share of moves in ten minutes that lead to a usual place, where a base has those."""
MOST_RETURNING = 0.9
"""The largest share in longer steps: the other moves go by distance, so that they lead anywhere."""
WORTH = 0.1
"""What a higher order or a time of day must gain, in nats per move, to be worth their states."""

Codes = NDArray[np.int64]


class Setting(NamedTuple):
    """How a mobility is learned, see `Mobility.fit`."""

    base: Base = "uniform"
    smoothing: float = 1.0
    order: int = 1
    time_of_day: bool = False

    def __str__(self) -> str:
        order = f", order {self.order}" if self.order > 1 else ""
        hours = ", by time of day" if self.time_of_day else ""
        return f"{self.base} base, smoothing {self.smoothing:g}{order}{hours}"


@dataclass(frozen=True, eq=False)
class Days:
    """Runs of cells without a gap: the day each belongs to, and the phase of the day it begins in.

    A `step` leads from each cell to the next. `others` is how other people move, if their tracks
    were given.
    """

    grid: Grid
    runs: Sequence[Sequence[int]]
    day: Sequence[int]
    phase: Sequence[int]
    period: int
    step: pd.Timedelta
    others: Mobility | None = None

    def of(self, days: Iterable[int]) -> "Days":
        """Return the runs of some days, those of a day that is named twice twice."""
        by_day: dict[int, list[int]] = {}
        for i, day in enumerate(self.day):
            by_day.setdefault(day, []).append(i)
        kept = [i for day in days for i in by_day.get(day, ())]
        return replace(
            self,
            runs=[self.runs[i] for i in kept],
            day=[self.day[i] for i in kept],
            phase=[self.phase[i] for i in kept],
        )

    def base(self, kind: Base) -> Mobility | None:
        """Return what rows start from before they see a move."""
        if kind in ("local", "usual"):
            returning = self.returning if kind == "usual" else 0.0
            return Mobility.by_distance(self.grid, self.runs, returning=returning)
        return self.others if kind == "others" else None

    @property
    def returning(self) -> float:
        """The share of moves in a step that lead to a usual place."""
        away = math.pow(1 - RETURNING, self.step / pd.Timedelta("10min"))
        return min(1 - away, MOST_RETURNING)


@dataclass(frozen=True)
class Choice:
    """The setting that predicts held-out days best, and nats per move of all that were tried."""

    setting: Setting
    held_out: dict[Setting, float]
    usual_places: float
    """Of somebody who only knows how often each cell is visited."""

    @property
    def nats(self) -> float:
        """The log-likelihood per held-out move of the setting chosen; NaN with a single day."""
        return self.held_out.get(self.setting, math.nan)


def choose(
    days: Days,
    *,
    bases: Sequence[Base],
    smoothings: Sequence[float] = SMOOTHINGS,
    orders: Sequence[int] = ORDERS,
    times_of_day: Sequence[bool] = (False, True),
) -> Choice:
    """Return the best of all combinations, by cross-validation over whole days.

    The simplest order is kept, and no time of day, unless more is worth it. With a single day
    there is nothing to hold out, and the middle of everything is taken.
    """
    allowed = [Setting(*each) for each in product(bases, smoothings, orders, times_of_day)]
    known = sorted(set(days.day))
    if len(known) < 2:
        middle = Setting(bases[-1], smoothings[len(smoothings) // 2], orders[0], times_of_day[0])
        return Choice(middle, {}, math.nan)
    tried = list(dict.fromkeys([*allowed, Setting()]))  # the last is what others are measured by
    sums, usual, moves = dict.fromkeys(tried, 0.0), 0.0, 0
    for fold in range(min(FOLDS, len(known))):
        left_out = set(known[fold::FOLDS])
        train, test = days.of(d for d in known if d not in left_out), days.of(sorted(left_out))
        n_moves = sum(max(len(run) - 1, 0) for run in test.runs)
        if not n_moves or not train.runs:
            continue
        moves += n_moves
        usual += _usual_places(train, test)
        for base in {setting.base for setting in tried}:
            scores = _Scores(train, test, base)
            for setting in (each for each in tried if each.base == base):
                sums[setting] += scores.of(setting)
    held_out = {setting: total / max(moves, 1) for setting, total in sums.items()}
    best = max(allowed, key=lambda s: held_out[s] - WORTH * (s.order - 1 + s.time_of_day))
    return Choice(best, held_out, usual / max(moves, 1))


def _usual_places(train: Days, test: Days) -> float:
    """Return the log-likelihood of the held-out moves for who knows how often cells are visited."""
    n_cells = train.grid.n_cells
    visits = np.bincount(np.concatenate([np.asarray(r) for r in train.runs]), minlength=n_cells)
    chances = (visits + 1 / n_cells) / (visits.sum() + 1)
    return float(np.log(chances[_moves(test, 1).target]).sum())


class _Scores:
    """The log-likelihood of held-out moves for settings with one base."""

    def __init__(self, train: Days, test: Days, base: Base) -> None:
        self._moves = cache(lambda length: (_moves(train, length), _moves(test, length)))
        prior = train.base(base)
        n_cells = train.grid.n_cells
        _, move = self._moves(1)
        self._base = np.full(len(move.target), 1 / n_cells)
        if prior is not None:
            matrix = np.asarray(prior.transition(0))
            self._base = matrix[move.history, move.target]

    def of(self, setting: Setting) -> float:
        """Return the log-likelihood of all held-out moves."""
        overall = by_phase = self._base
        for length in range(1, setting.order + 1):
            seen, asked = self._moves(length)
            overall = _smoothed(seen, asked, overall, setting)
            if setting.time_of_day:
                now = _smoothed(seen.by_phase(), asked.by_phase(), overall, setting)
                is_known = (length == 1) | (_count(seen.history, asked.history) > 0)
                by_phase = np.where((asked.history >= 0) & is_known, now, by_phase)
        chance = by_phase if setting.time_of_day else overall
        return float(np.log(np.maximum(chance, np.finfo(float).tiny)).sum())


class _Moves(NamedTuple):
    """Moves as numbers: what they depend on (-1 where too little is known), and where they lead."""

    history: Codes
    target: Codes
    phase: Codes
    period: int

    def by_phase(self) -> "_Moves":
        """Return the moves where what they depend on includes the time of day."""
        history = np.where(self.history < 0, -1, self.history * self.period + self.phase)
        return self._replace(history=history)


def _moves(days: Days, length: int) -> _Moves:
    """Return every move with the `length` cells before it; -1 where a run has fewer."""
    n_cells = days.grid.n_cells
    histories, targets, phases = [], [], []
    for run, phase in zip(days.runs, days.phase, strict=True):
        cells = np.asarray(run, dtype=np.int64)
        code = np.zeros(max(len(cells) - 1, 0), dtype=np.int64)
        for back in range(length):
            code[back:] = code[back:] * n_cells + cells[: max(len(code) - back, 0)]
        code[: length - 1] = -1
        histories.append(code)
        targets.append(cells[1:])
        phases.append((phase + np.arange(len(code))) % days.period)
    empty = np.empty(0, dtype=np.int64)
    history, target, phase_of = (
        np.concatenate([empty, *part]) for part in (histories, targets, phases)
    )
    return _Moves(history, target, phase_of, days.period)


def _smoothed(seen: _Moves, asked: _Moves, chance: Array, setting: Setting) -> Array:
    """Return (counts + smoothing · chance) / (count + smoothing) for every move that is asked."""
    size = 1 + max(int(moves.target.max(initial=0)) for moves in (seen, asked))
    known = seen.history >= 0
    together = (
        np.where(moves.history < 0, -1, moves.history * size + moves.target)
        for moves in (seen, asked)
    )
    pairs, asked_pairs = together
    both = _count(pairs[known], asked_pairs)
    total = _count(seen.history[known], asked.history)
    weight = np.where((total == 0) & (setting.smoothing == 0), 1.0, setting.smoothing)
    return np.asarray((both + weight * chance) / (total + weight))


def _count(seen: Codes, asked: Codes) -> Array:
    """Return how often each number that is asked for was seen."""
    values, counts = np.unique(seen, return_counts=True)
    if not len(values):
        return np.zeros(len(asked))
    place = np.minimum(np.searchsorted(values, asked), len(values) - 1)
    return np.where(values[place] == asked, counts[place], 0).astype(float)
