"""The cuts of promises with one past: each bounds every column alike, and few columns feel it.

Several models of the same person, or several events, put many cuts on every column of a remap. Most
never matter. They are added to the program where a solution breaks them, and around there; what a
solution still breaks is mended by joining columns: two outputs that become one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from priste.calibration.bounds import Bound
from priste.calibration.warm_start import Belief
from priste.checks import Array

_BROKEN = 1e-7  # how far a cut must be broken to be added, relative to the column's largest entry
_AROUND = 50  # columns that are given a cut that one of them breaks
_WORST = 2  # cuts that a column is given at a time


class Added(NamedTuple):
    """A cut for a column: which bound and belief it belongs to."""

    bound: int
    column: int
    belief: Belief
    cut: Array


class SharedCuts:
    """All cuts of the bounds that have one past, and for which columns the program knows them.

    `far` is how far columns lie from each column.
    """

    def __init__(self, bounds: Sequence[Bound], n_rows: int, far: Array) -> None:
        self._far = far
        known = [(k, belief) for k, bound in enumerate(bounds) for belief in bound.extremes()]
        cuts = [bounds[k].cut(belief) for k, belief in known]
        kept = [i for i, cut in enumerate(cuts) if cut.any()]
        self._owner = [known[i] for i in kept]
        self.lines = np.array([cuts[i] for i in kept]).reshape(-1, n_rows)
        self._has = np.zeros((len(kept), len(far)), dtype=bool)

    def first(self) -> list[Added]:
        """Return what to begin with: the cuts of the first bound, for every column."""
        mine = [(i, *owner) for i, owner in enumerate(self._owner) if owner[0] == self._owner[0][0]]
        self._has[[i for i, _, _ in mine]] = True
        columns = range(self._has.shape[1])
        return [Added(k, j, belief, self.lines[i]) for j in columns for i, k, belief in mine]

    def remembered(self, bound: int, column: int, belief: Belief) -> list[Added]:
        """Return the cut of a belief that mattered before, if it is one of these and new."""
        try:
            return self._add(self._owner.index((bound, belief)), [column])
        except ValueError:
            return []

    def _add(self, line: int, columns: Sequence[int]) -> list[Added]:
        bound, belief = self._owner[line]
        new = [j for j in columns if not self._has[line, j]]
        self._has[line, new] = True
        return [Added(bound, j, belief, self.lines[line]) for j in new]

    def broken(self, remap: Array) -> list[Added]:
        """Return the cuts that a remap breaks most, for the columns that do and those around."""
        largest = remap.max(axis=0)
        depth = self.lines @ remap - _BROKEN * largest
        worst = np.argsort(-depth, axis=0, kind="stable")[:_WORST]
        return [
            added
            for j in np.flatnonzero((depth > 0).any(axis=0)).tolist()
            for line in worst[:, j].tolist()
            if depth[line, j] > 0
            for added in self._add(line, self._around(j))
        ]

    def _around(self, column: int) -> list[int]:
        """Return the columns nearest to one, itself first."""
        near: list[int] = np.argsort(self._far[column], kind="stable")[:_AROUND].tolist()
        return near

    def active(self, remap: Array) -> list[Added]:
        """Return the cuts that hold a remap back."""
        tight = self._has & (self.lines @ remap > -_BROKEN * remap.max(axis=0))
        return [
            Added(bound, j, belief, self.lines[line])
            for line, (bound, belief) in enumerate(self._owner)
            for j in np.flatnonzero(tight[line]).tolist()
        ]

    def joined(self, remap: Array, cost: Array) -> Array:
        """Return a remap whose columns keep all cuts, as far as joining columns can mend it.

        A column that breaks a cut is given to the cheapest of those that bear it.
        """
        remap, depth = remap.copy(), self.lines @ remap - _BROKEN * remap.max(axis=0)
        for j in np.argsort(-depth.max(axis=0, initial=0.0), kind="stable").tolist():
            if not (depth[:, j] > 0).any():
                break
            bears = (depth + depth[:, [j]] <= 0).all(axis=0) & remap.any(axis=0)
            if not bears.any():
                continue
            price = remap[:, j] @ cost
            to = int(np.argmin(np.where(bears, price, np.inf)))
            for table in (remap, depth):
                table[:, to] += table[:, j]
                table[:, j] = 0.0
        return remap
