"""What a promise demands of one column of a remap: nothing for most, a few linear cuts for some.

For one belief π the promise bounds a column x of the emission linearly,

    (π·not_a)(π·T x) ≤ E (π·a)(π·F x),        T, F: the masses of ending true and false,

and for a set of beliefs it is this for every π in it. The worst π mixes at most two vertices (see
`priste.worst_case`), so a column that breaks the promise tells which cut it breaks.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste import worst_case_kernels as kernels
from priste.calibration.warm_start import Belief
from priste.checks import Array
from priste.evidence import Evidence
from priste.protection import Protect
from priste.worst_case import GUARD

_SPREAD = np.exp(np.linspace(-4, 4, 17))  # around the worst weight, where a cut may be deeper
_ALL = np.exp(np.linspace(-25, 25, 101))  # where the worst is a limit
_NEAR_ENOUGH = 0.01  # how close, relative, to the least constant that mends a column
_BROKEN = 1e-10  # how far a cut must be broken to count, relative to its largest entry


@dataclass(frozen=True, eq=False)
class Bound:
    """One promise on columns of Q, where P Q is the emission and P is `mechanism`.

    Rows belong to vertices. Each is scaled as a whole, all four parts of it alike, which changes
    nothing in the condition. The factor is a little below the one that is certified in the end.
    """

    a: Array
    not_a: Array
    true: Array
    false: Array
    factor: float
    both: bool
    has_one_past: bool = False

    @classmethod
    def of(cls, protection: Protect, evidence: Evidence, mechanism: Array | None) -> "Bound":
        """Return the bound that a protection puts on the columns of Q; no mechanism is P = 1."""
        true, false = evidence.masses
        totals, orders = np.frexp((true + false).sum(axis=1))
        depth = np.maximum(evidence.exponents + orders, (evidence.exponents + orders).max() - 600)
        scale = np.sqrt(np.ldexp(np.maximum(totals, 0.5), depth - depth.max()))[:, None]
        shift = (depth - depth.max() - orders)[:, None]
        true, false = np.ldexp(true, shift) / scale, np.ldexp(false, shift) / scale
        bound = cls(
            evidence.a / scale[:, 0],
            evidence.not_a / scale[:, 0],
            true,
            false,
            math.exp(protection.epsilon - 3 * GUARD),
            protection.sides == "both",
            evidence.has_one_past,
        )
        return bound if mechanism is None else bound.after(mechanism)

    def after(self, mechanism: Array) -> "Bound":
        """Return the bound on what comes after a mechanism, where this one is on the mechanism."""
        return replace(self, true=self.true @ mechanism, false=self.false @ mechanism)

    def cuts(self, first: int, second: int, weights: Array, *, rising: bool) -> Array:
        """Return the cuts of beliefs with weights 1 and `weights` on two vertices, as rows."""
        parts = (self.a, self.not_a, self.true, self.false)
        a, not_a, true, false = parts if rising else (parts[1], parts[0], parts[3], parts[2])
        w = weights[:, None]
        cuts = (not_a[first] + w * not_a[second]) * (true[first] + w * true[second])
        cuts -= self.factor * (a[first] + w * a[second]) * (false[first] + w * false[second])
        largest = np.abs(cuts).max(axis=1, keepdims=True)
        return np.asarray(cuts / np.where(largest > 0, largest, 1.0))

    def cut(self, belief: Belief) -> Array:
        """Return the cut of one belief, its largest entry 1 in size."""
        weights = np.array([belief.weight])
        return np.asarray(self.cuts(belief.first, belief.second, weights, rising=belief.rising)[0])

    def extremes(self) -> list[Belief]:
        """Return the beliefs whose cuts are all there are, if all agree about the past.

        Odds may rise from the smallest that anybody started with, and fall from the largest.
        """
        if not self.has_one_past:
            return []
        least, most = 0, len(self.a) - 1
        if self.a[least] * self.not_a[most] > self.a[most] * self.not_a[least]:
            least, most = most, least
        rise, fall = Belief(least, least, 0.0, True), Belief(most, most, 0.0, False)
        return [rise, fall] if self.both else [rise]

    def central(self) -> list[Array]:
        """Return the cuts of a belief in the middle, a start for every column."""
        if self.has_one_past:
            cuts = [self.cut(belief) for belief in self.extremes()]
        else:
            a, not_a, true, false = self._in_the_middle()
            cuts = [not_a * true - self.factor * a * false]
            if self.both:
                cuts.append(a * false - self.factor * not_a * true)
        return [cut / np.abs(cut).max() for cut in cuts if np.abs(cut).max() > 0]

    def _in_the_middle(self) -> tuple[Array, Array, Array, Array]:
        """Return the four parts of a belief in the middle of all."""
        return self.a.sum(), self.not_a.sum(), self.true.sum(axis=0), self.false.sum(axis=0)

    def movements(self) -> list[Array]:
        """Return lines that are positive for columns that move the odds, one for each direction.

        With a column a line gives the chance of that output, had the event not happened, times how
        far it leaves the odds above those at the start, as a factor less one; and the same with
        "happened" and "below". The belief is one in the middle.
        """
        a, not_a, true, false = self._in_the_middle()
        if not min(a, not_a, true.sum(), false.sum()) > 0:
            return []  # somebody is certain by now
        lines = [(true * (not_a / a) - false) / false.sum()]
        return [*lines, (false * (a / not_a) - true) / true.sum()] if self.both else lines

    def broken(self, column: Array) -> list[Belief]:
        """Return the beliefs whose cuts this column breaks most, one for each side."""
        found: list[Belief] = []
        b, d = self.true @ column, self.false @ column
        rows = kernels.scaled(self.a, self.not_a, b, d, np.zeros(len(b), dtype=np.int64))
        p, q, beta, delta, scale, comparable = rows
        if not comparable:
            return found  # no cut helps where numbers end; the repair and the test still see it
        for rising in (True, False) if self.both else (True,):
            turned = (p, q, beta, delta) if rising else (q, p, delta, beta)
            loss, i, j, ratio = kernels.largest(*turned)
            if loss <= math.log(self.factor):
                continue
            weight = ratio * scale[i] / scale[j]
            inside = 0 < weight < math.inf
            weights = np.append(weight, weight * _SPREAD) if inside else _ALL
            if i == j:
                weights = np.zeros(1)
            depths = self.cuts(i, j, weights, rising=rising) @ column
            deepest = int(np.argmax(depths))
            if depths[deepest] > _BROKEN * column.max():
                found.append(Belief(i, j, float(weights[deepest]), rising))
        return found

    def failing(self, columns: Array, *, any_will_do: bool = False) -> NDArray[np.bool_]:
        """Tell of each column whether it breaks the promise, or of all up to the first that does.

        A column of zeros, an output that never occurs, breaks nothing.
        """
        b, d = (np.ascontiguousarray((part @ columns).T) for part in (self.true, self.false))
        return np.asarray(
            _failing(self.a, self.not_a, b, d, self.factor, self.both, any_will_do), dtype=bool
        )

    def missing(self, column: Array) -> float:
        """Return how much must be added to every entry of a column so that it passes."""
        b, d = self.true @ column, self.false @ column
        more = self.true.sum(axis=1), self.false.sum(axis=1)
        least = 1e-9 * float(column.max())
        return float(_missing(self.a, self.not_a, b, d, *more, self.factor, self.both, least))


@njit(cache=True, nogil=True)
def _failing(
    a: Array, not_a: Array, b: Array, d: Array, factor: float, both: bool, any_will_do: bool
) -> NDArray[np.bool_]:
    """Tell which rows of b and d break the condition."""
    flat, found = np.zeros(len(a), dtype=np.int64), np.zeros(len(b), dtype=np.bool_)
    for j in range(len(b)):
        possible = b[j].any() or d[j].any()
        found[j] = possible and not kernels.all_hold(a, not_a, b[j], d[j], flat, factor, both)
        if found[j] and any_will_do:
            break
    return found


@njit(cache=True, nogil=True)
def _missing(
    a: Array,
    not_a: Array,
    b: Array,
    d: Array,
    more_b: Array,
    more_d: Array,
    factor: float,
    both: bool,
    least: float,
) -> float:
    """Return by how much of (more_b, more_d) the vectors b and d must grow to pass."""
    flat = np.zeros(len(b), dtype=np.int64)
    if kernels.all_hold(a, not_a, b, d, flat, factor, both):
        return 0.0
    low, high = 0.0, least
    while not kernels.all_hold(a, not_a, b + high * more_b, d + high * more_d, flat, factor, both):
        low, high = high, 4 * high
        if high > 1e9:
            return math.inf
    while high - low > _NEAR_ENOUGH * high:
        middle = (low + high) / 2
        if kernels.all_hold(a, not_a, b + middle * more_b, d + middle * more_d, flat, factor, both):
            high = middle
        else:
            low = middle
    return high
