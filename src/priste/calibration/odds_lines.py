"""What promises to a set of beliefs demand of a column, as lines of a linear program.

The promise to every belief π in the hull of the vertices v asks of a column with b_v = Pr(releases,
E | v) and d_v = Pr(releases, ¬E | v), where a_v and ā_v are the same before the releases, that

    (π·ā)(π·b) ≤ e^ε (π·a)(π·d)          for all π ≥ 0.

Fix the odds σ = π·a / π·ā that a belief starts with. Then the condition is linear in π, and by the
duality of linear programs it holds for all π of these odds if and only if there is a number μ with

    (b_v − μ a_v) − σ (e^ε d_v − μ ā_v) ≤ 0          for all vertices v.

The line is linear in σ too: what holds at both ends of an interval of odds with one μ holds in
between. So a few intervals with a μ each, and the lines of all vertices at their ends, are a linear
condition that is enough; the more intervals, the less it asks in excess. μ never rises with σ, so
lines of vertices with odds far from an interval mostly follow from those at others.

Prices of lines that hold a column back add up to a belief for each interval. Together these beliefs
give a linear cut that every column keeps which keeps the promise, so prices bound what any remap
can reach.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from priste.calibration.bounds import Bound
from priste.calibration.own_entries import OwnEntries
from priste.checks import Array

_WIDTH = 0.2  # of an interval of odds, as a logarithm
_MOST = 12  # intervals
_ALIKE = 50  # one of so many vertices of a side is like another
_ROUNDING = 1e-12  # relative
_MOST_SHARED = 60  # rows that lines may share where vertices have entries of their own
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Side:
    """One direction of one promise: odds that rise, or those that fall with both parts exchanged.

    `ends` are the ends of the intervals of odds, as pairs (1, σ) of any positive scale, so that
    σ may be infinite. All numbers μ are in units of `unit`.
    """

    a: Array
    not_a: Array
    true: Array
    false: Array
    factor: float
    ends: Array
    unit: float

    @classmethod
    def of(cls, a: Array, not_a: Array, true: Array, false: Array, factor: float) -> "Side | None":
        """Return a side, or None if there is nothing that could break it."""
        if not (a.any() and not_a.any() and true.any()):
            return None
        possible = a > 0
        unit = float((true.sum(axis=1)[possible] / a[possible]).max())
        return cls(a, not_a, true, false, factor, _ends(a, not_a), unit)

    @property
    def n_intervals(self) -> int:
        """How many intervals of odds there are, each with a number μ."""
        return max(len(self.ends) - 1, 1)

    def slopes(self, one: float, sigma: float) -> Array:
        """Return the factors of μ in the lines at an end: exactly 0 for a vertex of these odds."""
        for_it, against = one * self.a, sigma * self.not_a
        slopes = against - for_it
        return np.where(np.abs(slopes) <= _ROUNDING * (against + for_it), 0.0, slopes) * self.unit

    def corners(self) -> list[tuple[int, Array]]:
        """Return the intervals and their ends, as lines are counted."""
        if len(self.ends) == 1:
            return [(0, self.ends[0])]
        return [(k, end) for k, pair in enumerate(pairwise(self.ends)) for end in pair]


def _ends(a: Array, not_a: Array) -> Array:
    """Return the ends of intervals between the smallest and the largest odds of any vertex."""
    logs = log_odds(a, not_a)
    found = [[1.0, 0.0]] if (a == 0).any() else []
    if len(logs):
        least, most = float(logs.min()), float(logs.max())
        n = min(_MOST, math.ceil((most - least) / _WIDTH))
        found += pairs_of(np.linspace(least, most, n + 1)).tolist()
    if (not_a == 0).any():
        found.append([0.0, 1.0])
    return np.array(found)


def log_odds(a: Array, not_a: Array) -> Array:
    """Return the logarithms of the odds of vertices for which neither is sure."""
    inside = (a > 0) & (not_a > 0)
    return np.asarray(np.log(a[inside]) - np.log(not_a[inside]))


def pairs_of(logs: Array) -> Array:
    """Return odds as pairs (1, σ), scaled so that the larger is 1."""
    return np.asarray(np.exp(np.minimum([-logs, 0 * logs], [0 * logs, logs])).T)


class OddsLines:
    """The lines of several promises on a column x of a remap and the numbers μ that go with it.

    Line by line they are ``rows(...) @ (x, μ) ≤ 0``. They are numbered by side, interval, end and
    vertex; those that say that μ never rises come last.
    """

    def __init__(self, bounds: Sequence[Bound]) -> None:
        self.sides = [side for bound in bounds for side in sides_of(bound)]
        self.n_rows = bounds[0].true.shape[1]
        sizes = [side.n_intervals for side in self.sides]
        self._first_mu = np.cumsum([0, *sizes])
        self.n_mus = int(self._first_mu[-1])
        self._corners: list[tuple[int, int, Array]] = [
            (i, int(self._first_mu[i]) + k, end)
            for i, side in enumerate(self.sides)
            for k, end in side.corners()
        ]
        self._slopes = [self.sides[i].slopes(*end) for i, _, end in self._corners]
        self._scales = [self._sizes(c) for c in range(len(self._corners))]
        lengths = [len(self.sides[i].a) for i, _, _ in self._corners]
        self._first = np.cumsum([0, *lengths])
        self.n_lines = int(self._first[-1])
        before = np.cumsum([0, *(len(side.a) for side in self.sides)])
        vertices = [before[i] + np.arange(len(self.sides[i].a)) for i, _, _ in self._corners]
        self.vertex = np.concatenate([np.empty(0, dtype=np.intp), *vertices])
        self._falls = [
            (int(first) + k, int(first) + k + 1)
            for first, size in zip(self._first_mu, sizes, strict=False)
            for k in range(size - 1)
        ]

    def alike(self, far: Array) -> list[Index]:
        """Return for each vertex, as `vertex` counts them, those that say much the same.

        `far` is how far the rows are from some places. From vertices that are alike, the user is
        expected to be as far from each of them.
        """
        found: list[Index] = []
        for side in self.sides:
            likely = side.true + side.false
            places = likely @ far / np.maximum(likely.sum(axis=1, keepdims=True), 1e-300)
            size = max(len(side.a) // _ALIKE, 1)
            nearest = KDTree(places).query(places, range(1, size + 1))[1]
            found.extend(len(found) + nearest)
        return found

    @property
    def falls(self) -> Index:
        """The lines that say that μ never rises."""
        return np.arange(self.n_lines, self.n_lines + len(self._falls))

    def _sizes(self, corner: int) -> Array:
        """Return by what the lines at a corner are divided: the sum of their entries' sizes."""
        i, _, (one, sigma) = self._corners[corner]
        side = self.sides[i]
        size = one * side.true.sum(axis=1) + sigma * side.factor * side.false.sum(axis=1)
        size += np.abs(self._slopes[corner])
        return np.where(size > 0, size, 1.0)

    def rows(self, lines: Index) -> Array:
        """Return lines as rows over the entries of a column and the numbers μ."""
        found = np.zeros((len(lines), self.n_rows + self.n_mus))
        for c, here in self._by_corner(lines):
            i, mu, (one, sigma) = self._corners[c]
            side, v = self.sides[i], lines[here] - self._first[c]
            scale = 1 / self._scales[c][v]
            found[here, : self.n_rows] = (one * scale)[:, None] * side.true[v]
            found[here, : self.n_rows] -= (sigma * side.factor * scale)[:, None] * side.false[v]
            found[here, self.n_rows + mu] = self._slopes[c][v] * scale
        self._fill_falls(lines, found[:, self.n_rows :])
        return found

    def _by_corner(self, lines: Index) -> Iterator[tuple[int, Index]]:
        """Yield the corners that lines belong to, and which of the lines do."""
        corner = np.searchsorted(self._first, lines, side="right") - 1
        for c in np.unique(corner[lines < self.n_lines]).tolist():
            yield c, np.flatnonzero((corner == c) & (lines < self.n_lines))

    def _fill_falls(self, lines: Index, of_mus: Array) -> None:
        """Fill in the factors of the numbers μ in lines that say that μ never rises."""
        for row in np.flatnonzero(lines >= self.n_lines).tolist():
            before, after = self._falls[lines[row] - self.n_lines]
            of_mus[row, before], of_mus[row, after] = -1.0, 1.0

    @cached_property
    def _own(self) -> list[OwnEntries]:
        """The sides' vertices in parts, if each has an entry of its own; else none."""
        found = [OwnEntries.of(side.true, side.false) for side in self.sides]
        return [own for own in found if own is not None] if None not in found else []

    @property
    def has_own_entries(self) -> bool:
        """Whether vertices have an entry of their own, are alike in all else, and share little."""
        return bool(self._own) and 2 * len(self._own) + self.n_mus <= _MOST_SHARED

    @property
    def shared(self) -> Array:
        """The rows that all lines share where vertices have entries of their own; else none.

        They are what the vertices of each side have in common, and one for each number μ.
        """
        found = np.zeros((2 * len(self._own) + self.n_mus, self.n_rows + self.n_mus))
        for i, own in enumerate(self._own):
            found[2 * i : 2 * i + 2, : self.n_rows] = own.common_true, own.common_false
        found[2 * len(self._own) :, self.n_rows :] = np.eye(self.n_mus)
        return found if self.has_own_entries else found[:0]

    def rows_of_own(self, lines: Index) -> Array:
        """Return lines as `priste.calibration.own_blocks` has them."""
        n_common = 2 * len(self._own)
        found = np.zeros((len(lines), 2 + n_common + self.n_mus))
        for c, here in self._by_corner(lines):
            i, mu, (one, sigma) = self._corners[c]
            own, v = self._own[i], lines[here] - self._first[c]
            scale = 1 / self._scales[c][v]
            true, false = one * scale, -sigma * self.sides[i].factor * scale
            found[here, 0] = own.entry[v]
            found[here, 1] = true * own.own_true[v] + false * own.own_false[v]
            found[here, 2 + 2 * i] = true * own.scale[v]
            found[here, 3 + 2 * i] = false * own.scale[v]
            found[here, 2 + n_common + mu] = self._slopes[c][v] * scale
        self._fill_falls(lines, found[:, 2 + n_common :])
        return found

    def excess(self, columns: Array, mus: Array) -> Array:
        """Return by how much each column breaks each line, relative to the sizes of its parts.

        A line without any part is never broken: -1.
        """
        found = np.empty((columns.shape[1], self.n_lines))
        rows = np.ascontiguousarray(columns.T)
        joint = [(rows @ side.true.T, side.factor * (rows @ side.false.T)) for side in self.sides]
        for c, (i, mu, (one, sigma)) in enumerate(self._corners):
            b, d = joint[i]
            slope = mus[mu][:, None] * self._slopes[c]
            above, below = one * b, sigma * d
            size = above + below + np.abs(slope)
            above -= below
            above += slope
            here = found[:, self._first[c] : self._first[c + 1]]
            np.divide(above, size, out=here, where=size > 0)
            here[size <= 0] = -1.0
        return found

    def middle(self) -> Array:
        """Return numbers μ for the column of ones: in the middle of what its lines allow."""
        least, most = np.zeros(self.n_mus), np.full(self.n_mus, np.inf)
        for (i, mu, (one, sigma)), slope in zip(self._corners, self._slopes, strict=True):
            side = self.sides[i]
            rest = sigma * side.factor * side.false.sum(axis=1) - one * side.true.sum(axis=1)
            up, down = slope > 0, slope < 0
            most[mu] = min(most[mu], (rest[up] / slope[up]).min(initial=np.inf))
            least[mu] = max(least[mu], (rest[down] / slope[down]).max(initial=0.0))
        most = np.where(np.isfinite(most), most, 2 * least + 1)
        return np.asarray(np.maximum((least + np.maximum(most, 0.0)) / 2, 1e-3))

    def price(self, prices: Array) -> Array:
        """Return what the beliefs that prices of lines add up to cost each row, per column.

        For any prices the result, added to the costs of giving outputs, is a bound: see
        `priste.calibration.prices`.
        """
        shape = self.n_mus, prices.shape[1]
        beliefs = [
            np.zeros((len(side.a), shape[1]))
            for side in self.sides
            for _ in range(side.n_intervals)
        ]
        odds = np.zeros(shape)  # of the beliefs, times what is against the event in them
        for c, (i, mu, (one, sigma)) in enumerate(self._corners):
            here = prices[self._first[c] : self._first[c + 1]] / self._scales[c][:, None]
            # where odds have no end there is nothing of the event: only its share at the other end
            beliefs[mu] += here * (one or self._corners[c - 1][2].min())
            odds[mu] += sigma * (self.sides[i].not_a @ here)
        total = np.zeros((self.n_rows, prices.shape[1]))
        for i, side in enumerate(self.sides):
            mine = slice(self._first_mu[i], self._first_mu[i + 1])
            for belief, at in zip(*_joined(side, beliefs[mine], odds[mine]), strict=True):
                total += side.true.T @ belief - side.factor * at * (side.false.T @ belief)
        return total


def _joined(side: Side, beliefs: Sequence[Array], odds: Array) -> tuple[list[Array], list[Array]]:
    """Return beliefs and odds for them, one for each interval, that bound a column together.

    The line of a belief w at the odds σ is w·b − σ e^ε w·d ≤ −μ(σ) (σ w·ā − w·a). Where μ never
    rises, a sum of such lines says that Σ w·b − σ e^ε w·d ≤ 0 if the odds rise from belief to
    belief and no sum of the first of the brackets is negative. Odds are raised, and beliefs left
    out, until that is so.
    """
    kept, found = [], []
    room = least = np.zeros(odds.shape[1])
    for belief, own in zip(beliefs, odds, strict=True):
        for_it, against = side.a @ belief, side.not_a @ belief
        divisor = np.where(against > 0, against, 1.0)
        at = np.maximum.reduce([own / divisor, (for_it - room) / divisor, least])
        is_kept = (against > 0) | (for_it <= room)
        least = np.where(is_kept, at, least)
        room = np.maximum(room + np.where(is_kept, at * against - for_it, 0.0), 0.0)
        kept.append(np.where(is_kept, belief, 0.0))
        found.append(at)
    return kept, found


def sides_of(bound: Bound) -> list[Side]:
    """Return the directions of a promise; with one past, for the belief it is hardest for."""
    parts = bound.a, bound.not_a, bound.true, bound.false
    directions = (True, False) if bound.both else (True,)
    found = []
    extremes = {belief.rising: belief.first for belief in bound.extremes()}
    for rising in directions:
        here = [part[[extremes[rising]]] for part in parts] if extremes else list(parts)
        a, not_a, true, false = here if rising else (here[1], here[0], here[3], here[2])
        side = Side.of(a, not_a, true, false, bound.factor)
        if side is not None:
            found.append(side)
    return found
