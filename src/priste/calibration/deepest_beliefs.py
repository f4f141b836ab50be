"""Beliefs whose promise a column breaks most, found at a glance.

Of the beliefs that start with the same odds σ the worst for a column mixes two vertices: with b_v
and d_v as in `priste.calibration.odds_lines` it is where the highest of some lines over μ is
lowest,

    min over μ of the largest of (b_v − σ e^ε d_v + μ (σ ā_v − a_v)) / (b_v + σ e^ε d_v),

which a few passes over the vertices find. How deep the worst belief cuts has a few hills over the
odds, and those at the tops of these are returned.

The cut of any belief holds, so those found need not be quite the worst: single precision serves,
and takes half the time.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.calibration.odds_lines import Side
from priste.checks import Array

Index = NDArray[np.intp]
Single = NDArray[np.float32]

_PASSES = 50  # over the vertices, at most
_EXACT = np.float32(1e-6)  # how near the worst belief of the same odds
_ROUNDING = np.float32(1e-6)  # relative, of odds that are the same
_LEAST_SIZE = np.float32(1e-16)  # of what a vertex says, relative to the largest
_TINY = np.float32(1e-37)  # and in any case
_ZERO, _ONE = np.float32(0), np.float32(1)  # Python's own would make the rest double
_FAST = {"contract", "nsz", "nnan", "ninf", "reassoc"}  # so that loops are vectorised


class Glance(NamedTuple):
    """A side in single precision, with a column of `true` and `false` for each vertex."""

    a: Single
    not_a: Single
    true: Single
    false: Single

    @classmethod
    def of(cls, side: Side) -> "Glance":
        """Return a side, in units that leave nothing too small."""
        true, false = side.true, side.factor * side.false
        before = max(side.a.max(), side.not_a.max())
        after = max(true.max(), false.max())
        parts = side.a / before, side.not_a / before, true.T / after, false.T / after
        return cls(*(np.ascontiguousarray(part, dtype=np.float32) for part in parts))

    def deepest(
        self, columns: Array, odds: Array, least: float, most: int
    ) -> tuple[Index, Index, Index, Array, Array]:
        """Return columns (rows here) and the two vertices and weights of beliefs they break most.

        At each of the odds, pairs (1, σ) of any positive scale, the worst belief is looked at; a
        column has at most so many, whose cuts it breaks by more than `least`, relative.
        """
        here = (columns / columns.max(axis=1, keepdims=True)).astype(np.float32)
        joint = here @ self.true, here @ self.false
        return _tops(self.a, self.not_a, *joint, odds.astype(np.float32), least, most)


@njit(cache=True, nogil=True)
def _tops(
    a: Single, not_a: Single, b: Single, d: Single, odds: Single, least: float, most: int
) -> tuple[Index, Index, Index, Array, Array]:
    """Return columns (rows of b and d), vertices and weights of the beliefs that cut deepest."""
    n_columns, n_odds = len(b), len(odds)
    columns = np.empty(n_columns * most, dtype=np.intp)
    firsts, seconds = np.empty_like(columns), np.empty_like(columns)
    weights, others = np.empty(len(columns)), np.empty(len(columns))
    value, tilt, size = np.empty_like(a), np.empty_like(a), np.empty_like(a)
    depth, shares = np.empty(n_odds), np.empty((n_odds, 2))
    pairs = np.empty((n_odds, 2), dtype=np.intp)
    count = 0
    for column in range(n_columns):
        least_size = max(_LEAST_SIZE * (b[column].max() + d[column].max()), _TINY)
        i = j = -1
        for k in range(n_odds):
            at = odds[k, 0], odds[k, 1]
            _fill_in(a, not_a, b[column], d[column], at, least_size, value, tilt, size)
            if not (i >= 0 and tilt[i] < 0 < tilt[j]):  # else the last ones are a good start
                i, j = int(np.argmin(tilt)), int(np.argmax(tilt))
            i, j = _worst_pair(value, tilt, i, j)
            span = tilt[j] - tilt[i]
            share, other = (tilt[j] / span, -tilt[i] / span) if span > 0 else (1.0, 0.0)
            depth[k] = share * value[i] + other * value[j] if i >= 0 else -1.0
            pairs[k, 0], pairs[k, 1] = i, j
            shares[k, 0], shares[k, 1] = share / size[i], other / size[j]
        for _ in range(most):
            top = np.argmax(depth)
            if depth[top] <= least:
                break
            columns[count], firsts[count], seconds[count] = column, pairs[top, 0], pairs[top, 1]
            weights[count], others[count] = shares[top, 0], shares[top, 1]
            count += 1
            _level(depth, int(top))
    return columns[:count], firsts[:count], seconds[:count], weights[:count], others[:count]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _fill_in(
    a: Single,
    not_a: Single,
    b: Single,
    d: Single,
    odds: tuple[float, float],
    least: float,
    value: Single,
    tilt: Single,
    size: Single,
) -> None:
    """Fill in the lines of the vertices over μ at some odds."""
    one, sigma = odds
    for v in range(len(a)):  # in two loops, as one over so many arrays would not be vectorised
        above, below = one * b[v], sigma * d[v]
        size[v] = above + below + least
        part = (above - below) / size[v]
        value[v] = part if above + below > least else -_ONE  # impossible by now
    for v in range(len(a)):
        against, for_it = sigma * not_a[v], one * a[v]
        slope = (against - for_it) / size[v]
        is_even = abs(against - for_it) <= _ROUNDING * (against + for_it)
        tilt[v] = _ZERO if is_even else slope


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
def _worst_pair(value: Single, tilt: Single, falling: int, rising: int) -> tuple[int, int]:
    """Return where the highest of the lines value + μ tilt is lowest: a falling and a rising one.

    To begin with, the one that falls and the one that rises most are given, or others that fall and
    rise. Where all fall, or all rise, there is no such place: -1.
    """
    if tilt[falling] >= 0 or tilt[rising] <= 0:
        even = -1
        for v in range(len(value)):
            if tilt[v] == 0 and (even < 0 or value[v] > value[even]):
                even = v
        return even, even
    for _ in range(_PASSES):
        mu = (value[falling] - value[rising]) / (tilt[rising] - tilt[falling])
        worst = _highest(value, tilt, mu)
        if value[worst] + mu * tilt[worst] <= value[falling] + mu * tilt[falling] + _EXACT:
            break
        if tilt[worst] > 0:
            rising = worst
        elif tilt[worst] < 0:
            falling = worst
        else:
            return worst, worst
    return falling, rising


@njit(cache=True, nogil=True, fastmath=_FAST)
def _highest(value: Single, tilt: Single, mu: float) -> int:
    """Return which of the lines value + μ tilt is the highest."""
    best, found = value[0] + mu * tilt[0], 0
    for v in range(len(value)):
        height = value[v] + mu * tilt[v]
        if height > best:
            best, found = height, v
    return found
