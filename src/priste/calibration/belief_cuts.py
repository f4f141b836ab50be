"""Cuts of the beliefs whose promise a column breaks most, one for each hill over the odds.

For one belief the promise is a linear cut, and a column keeps the promise to a set of beliefs if it
keeps the cuts of all of them. Of the beliefs that start with the same odds σ the worst for a column
mixes two vertices: with b_v and d_v as in `priste.calibration.odds_lines` it is where the highest
of some lines over μ is lowest,

    min over μ of the largest of (b_v − σ e^ε d_v + μ (σ ā_v − a_v)) / (b_v + σ e^ε d_v),

which a few passes over the vertices find. How deep the worst belief cuts has a few hills over the
odds, and a column is given the cut at the top of each.

Where people move far in a step, vertices say much the same, and a dozen cuts hold a column back as
well as dozens of lines for intervals of odds do; nothing is lost to the width of intervals, either.
Where each vertex has something of its own to say, too many cuts are needed.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.calibration.blocks import Blocks, work_of_a_step
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import Side, log_odds, pairs_of
from priste.checks import Array

Index = NDArray[np.intp]

_AT_FIRST, _BROKEN = -0.1, 0.0002  # how far cuts must be broken to be added, relative
_MORE = 3  # cuts that a column is given at a time, for each side
_MANY_MORE = 6  # and to become certain that nothing can be gained
_TIGHT = 0.005  # slack, relative, with which a cut may hold a column back
_ODDS = 12  # at which beliefs are looked at
_SHIFT = 0.618  # of these odds from round to round, as a part of how far apart they are
_BEYOND = 6.0  # how far beyond other odds beliefs start whose vertices have none, as a logarithm
_AT_ONCE = 16  # columns
_PASSES = 50  # over the vertices, at most
_EXACT = 1e-9  # how near the worst belief of the same odds
_ROUNDING = 1e-12  # relative, of odds that are the same
_LEAST_SIZE = 1e-16  # of what a vertex says, relative to the largest


class Beliefs(NamedTuple):
    """Beliefs in two vertices of a side, with a weight for each."""

    side: Index
    first: Index
    second: Index
    on_first: Array
    on_second: Array


class BeliefCuts:
    """Cuts of beliefs in the vertices of some sides, numbered as they were found.

    `whole` are the same sides with an entry for each signal. The numbers of cuts that are known
    `before` stay the same.
    """

    mus: Array = np.empty(0)
    """Cuts need no other numbers."""
    slack = 0.003
    """What a broken cut starts with at most, relative to its size: they are broken by little."""

    def __init__(
        self, sides: Sequence[Side], whole: Sequence[Side], before: Beliefs | None = None
    ) -> None:
        self.sides, self._whole = ([_with_middle(side) for side in each] for each in (sides, whole))
        numbers = np.arange(len(sides))
        middles = np.array([len(side.a) for side in sides], dtype=np.intp)
        even = Beliefs(numbers, middles, middles, np.ones(len(sides)), np.zeros(len(sides)))
        self.beliefs = before or even
        self._rounds = 0

    @property
    def n_lines(self) -> int:
        """How many cuts there are."""
        return len(self.beliefs.side)

    @property
    def always(self) -> Index:
        """The cuts that all columns begin with: of beliefs in the middle."""
        return np.arange(len(self.sides))

    def blocks_of(self, n_columns: int) -> Blocks:
        """Return the blocks of some columns for cuts."""
        n_rows = self.sides[0].true.shape[1]
        return Blocks(n_columns, n_rows, n_rows)

    @staticmethod
    def work_of_a_step(n_columns: int, size: int, n_cuts: float) -> float:
        """Return how much work a step is with so many cuts for each column."""
        return work_of_a_step(n_columns, size, n_cuts)

    def rows(self, cuts: Index) -> Array:
        """Return cuts as rows over the entries of a column."""
        return self._rows(cuts, self.sides)

    def _rows(self, cuts: Index, sides: Sequence[Side]) -> Array:
        """Return cuts as rows over what the sides have entries for."""
        found = np.zeros((len(cuts), sides[0].true.shape[1]))
        beliefs = Beliefs._make(part[cuts] for part in self.beliefs)
        for number, side in enumerate(sides):
            here = np.flatnonzero(beliefs.side == number)
            i, j, u, w = (part[here] for part in beliefs[1:])
            a, not_a = u * side.a[i] + w * side.a[j], u * side.not_a[i] + w * side.not_a[j]
            odds = a / (a + not_a), not_a / (a + not_a)
            found[here] = (odds[1] * u)[:, None] * side.true[i]
            found[here] += (odds[1] * w)[:, None] * side.true[j]
            found[here] -= (side.factor * odds[0] * u)[:, None] * side.false[i]
            found[here] -= (side.factor * odds[0] * w)[:, None] * side.false[j]
        return found

    def add_first(self, program: Interior) -> None:
        """Give each column cuts that it nearly breaks."""
        self._add(program, _AT_FIRST, _MORE)

    def add_broken(self, program: Interior, *, many: bool = False) -> None:
        """Give each column the cuts that it breaks most."""
        self._add(program, _BROKEN, _MANY_MORE if many else _MORE)

    def _add(self, program: Interior, least: float, most: int) -> None:
        """Give each column cuts that it breaks by more than `least`, at most so many a side."""
        columns = np.maximum(program.columns, 0.0)
        parts: list[tuple[Index, Beliefs]] = []
        for number, side in enumerate(self.sides):
            odds = self._odds(side)

            def broken(start: int, number: int, side: Side, odds: Array) -> tuple[Index, Beliefs]:
                here = np.ascontiguousarray(columns[:, start : start + _AT_ONCE].T)
                joint = here @ side.true.T, side.factor * (here @ side.false.T)
                found = _tops(side.a, side.not_a, *joint, odds, least, most)
                beliefs = Beliefs(np.full(len(found[0]), number), *found[1:])
                return start + found[0], beliefs

            starts = range(0, program.n_columns, _AT_ONCE)
            parts += program.pool.map(partial(broken, number=number, side=side, odds=odds), starts)
        self._rounds += 1
        first = self.n_lines
        known = zip(self.beliefs, *(beliefs for _, beliefs in parts), strict=True)
        self.beliefs = Beliefs._make(map(np.concatenate, known))
        column = np.concatenate([np.empty(0, dtype=np.intp), *(column for column, _ in parts)])
        program.add(column, np.arange(first, self.n_lines))

    def _odds(self, side: Side) -> Array:
        """Return the odds to look at in this round, as pairs (1, σ) of any positive scale."""
        logs = log_odds(side.a, side.not_a)
        least = logs.min() - (_BEYOND if (side.a == 0).any() else 0.0)
        most = logs.max() + (_BEYOND if (side.not_a == 0).any() else 0.0)
        places = np.arange(_ODDS + 1) + _SHIFT * self._rounds % 1 - 0.5
        return pairs_of(np.clip(least + (most - least) / _ODDS * places, least, most))

    def price(self, program: Interior) -> Array:
        """Return what the prices of the cuts cost each signal, per column.

        For any prices the result, added to the costs of giving outputs, is a bound: see
        `priste.calibration.prices`. So prices of cuts that hold no column back are left out, which
        are only there because these are new.
        """
        given = program.given
        is_tight = given.slack < _TIGHT
        rows = self._rows(given.line[is_tight], self._whole)
        rows *= (given.price * given.scale)[is_tight, None]
        total = np.zeros((program.n_columns, rows.shape[1]))
        np.add.at(total, given.column[is_tight], rows)
        return total.T


def _with_middle(side: Side) -> Side:
    """Return a side with one vertex more, in the middle of the others."""
    parts = side.a, side.not_a, side.true, side.false
    a, not_a, true, false = (np.concatenate([part, part.sum(axis=0)[None]]) for part in parts)
    return replace(side, a=a, not_a=not_a, true=true, false=false)


@njit(cache=True, nogil=True)
def _tops(
    a: Array, not_a: Array, b: Array, d: Array, odds: Array, least: float, most: int
) -> tuple[Index, Index, Index, Array, Array]:
    """Return columns (rows of b and d), vertices and weights of the beliefs that cut deepest."""
    n_columns, n_odds = len(b), len(odds)
    columns = np.empty(n_columns * most, dtype=np.intp)
    firsts, seconds = np.empty_like(columns), np.empty_like(columns)
    weights, others = np.empty(len(columns)), np.empty(len(columns))
    value, tilt, size, height = np.empty((4, len(a)))
    depth, shares = np.empty(n_odds), np.empty((n_odds, 2))
    pairs = np.empty((n_odds, 2), dtype=np.intp)
    count = 0
    for column in range(n_columns):
        least_size = _LEAST_SIZE * (b[column].max() + d[column].max())
        i = j = -1
        for k in range(n_odds):
            falling, rising = _lines_at(
                a, not_a, b[column], d[column], odds[k], least_size, value, tilt, size
            )
            if i >= 0 and tilt[i] < 0 < tilt[j]:  # what was worst at the last odds is a good start
                falling, rising = i, j
            i, j = _worst_pair(value, tilt, falling, rising, height)
            span = tilt[j] - tilt[i]
            share, other = (tilt[j] / span, -tilt[i] / span) if span > 0 else (1.0, 0.0)
            depth[k] = share * value[i] + other * value[j] if i >= 0 else -1.0
            pairs[k], shares[k] = (i, j), (share / size[i], other / size[j])
        for _ in range(most):
            top = np.argmax(depth)
            if depth[top] <= least:
                break
            columns[count], firsts[count], seconds[count] = column, pairs[top, 0], pairs[top, 1]
            weights[count], others[count] = shares[top]
            count += 1
            _level(depth, int(top))
    return columns[:count], firsts[:count], seconds[:count], weights[:count], others[:count]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "nnan", "ninf", "reassoc"})
def _lines_at(
    a: Array,
    not_a: Array,
    b: Array,
    d: Array,
    odds: Array,
    least: float,
    value: Array,
    tilt: Array,
    size: Array,
) -> tuple[int, int]:
    """Fill in the lines of the vertices over μ, and return which falls and which rises most."""
    one, sigma = odds
    lowest, highest = 0.0, 0.0
    for v in range(len(a)):
        above, below = one * b[v], sigma * d[v]
        size[v] = above + below + least
        part = 1 / size[v]
        value[v] = (above - below) * part if above + below > least else -1.0  # impossible by now
        against, for_it = sigma * not_a[v], one * a[v]
        is_even = abs(against - for_it) <= _ROUNDING * (against + for_it)
        tilt[v] = 0.0 if is_even else (against - for_it) * part
        lowest, highest = min(lowest, tilt[v]), max(highest, tilt[v])
    return _first(tilt, lowest), _first(tilt, highest)


@njit(cache=True, nogil=True)
def _first(values: Array, wanted: float) -> int:
    """Return where a value is found first; 0 if it is not there."""
    for k in range(len(values)):
        if values[k] == wanted:
            return k
    return 0


@njit(cache=True, nogil=True)
def _level(depth: Array, top: int) -> None:
    """Take a hill away."""
    for step in (-1, 1):
        k, before = top + step, depth[top]
        while 0 <= k < len(depth) and depth[k] <= before:
            before, depth[k] = depth[k], -np.inf
            k += step
    depth[top] = -np.inf


@njit(cache=True, nogil=True)
def _worst_pair(
    value: Array, tilt: Array, falling: int, rising: int, height: Array
) -> tuple[int, int]:
    """Return where the highest of the lines value + μ tilt is lowest: a falling and a rising one.

    To begin with, the one that falls and the one that rises most are given, or others that fall and
    rise; `height` is room to work in. Where all fall, or all rise, there is no such place: -1.
    """
    if tilt[falling] >= 0 or tilt[rising] <= 0:
        even = -1
        for v in range(len(value)):
            if tilt[v] == 0 and (even < 0 or value[v] > value[even]):
                even = v
        return even, even
    for _ in range(_PASSES):
        mu = (value[falling] - value[rising]) / (tilt[rising] - tilt[falling])
        worst = _highest(value, tilt, mu, height)
        if height[worst] <= height[falling] + _EXACT:
            break
        if tilt[worst] > 0:
            rising = worst
        elif tilt[worst] < 0:
            falling = worst
        else:
            return worst, worst
    return falling, rising


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "nnan", "ninf", "reassoc"})
def _highest(value: Array, tilt: Array, mu: float, height: Array) -> int:
    """Return which of the lines value + μ tilt is the highest, and fill in how high all are."""
    best = value[0] + mu * tilt[0]
    for v in range(len(value)):
        height[v] = value[v] + mu * tilt[v]
        best = max(best, height[v])
    return _first(height, best)
