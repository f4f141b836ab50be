"""Blocks of lines that have an entry of their own, and are alike in all else.

Before the first release each belief speaks of one cell of its own, and of what all have in common.
A line is then a number at one entry, plus a few numbers times rows that all lines share:
``h = own e_v + c B``. A block, diag(1 / square) + hᵀ diag(w) h in `priste.calibration.blocks`, is

    D + Vᵀ B + Bᵀ V + Bᵀ A B,     D diagonal,  V = Σ w own c e_vᵀ,  A = Σ w c cᵀ,

a diagonal matrix and one of as little rank as twice the rows of B, however many lines there are. So
all of them may be given, where products of lines with lines would be too many.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from priste import worst_case
from priste.calibration import blocks
from priste.checks import Array

Index = NDArray[np.intp]

_TOGETHER = 8  # columns that are taken at once
_PASSES = 3000  # how much all that is done with each number of a border is


class OwnBlocks:
    """The blocks of some columns; sums are over the first `n_rows` of their entries.

    Lines are rows of numbers: which entry is the line's own, what it has there, and by how much it
    takes the rows of `shared`.
    """

    def __init__(self, n_columns: int, shared: Array, n_rows: int) -> None:
        self.shape, self.n_rows = (n_columns, shared.shape[1]), n_rows
        self.pool = ThreadPoolExecutor(worst_case.CORES)
        self._shared = shared
        self.give(np.empty(0, dtype=np.intp), np.empty((0, 2 + len(shared))))

    @property
    def width(self) -> int:
        """How many numbers a line is."""
        return 2 + len(self._shared)

    def give(self, column: Index, h: Array) -> None:
        """Go on with other lines: whose each is, column by column, and the lines."""
        self._column, self._h = column, h
        self._ends = np.searchsorted(column, np.arange(self.shape[0] + 1))
        self._place = column * self.shape[1] + h[:, 0].astype(np.intp)

    @staticmethod
    def scaled(h: Array, scale: Array) -> Array:
        """Return lines times numbers."""
        found: Array = h * scale[:, None]
        found[:, 0] = h[:, 0]
        return found

    def values(self, h: Array, column: Index, x: Array) -> tuple[Array, Array]:
        """Return lines at the entries of columns, and the sums of the sizes of what they add up."""
        own = x[column, h[:, 0].astype(np.intp)]
        value = _added(h, own, (x @ self._shared.T)[column])
        return value, _added(np.abs(h), own, (x @ np.abs(self._shared).T)[column])

    def along(self, x: Array) -> Array:
        """Return the lines at entries."""
        return _added(self._h, x.reshape(-1)[self._place], (x @ self._shared.T)[self._column])

    def of_lines(self, prices: Array) -> Array:
        """Return the sum of lines times their prices, for each column."""
        found = self._at_own(prices * self._h[:, 1])
        found += np.stack([part @ c for part, c in self._by_column(prices)]) @ self._shared
        return found

    def _at_own(self, values: Array) -> Array:
        """Return the sums of values of lines at each entry."""
        n_columns, size = self.shape
        sums = np.bincount(self._place, values, n_columns * size).astype(float)  # also of no lines
        return sums.reshape(self.shape)

    def _by_column(self, values: Array) -> list[tuple[Array, Array]]:
        """Return values of lines, and by how much these take the shared rows, for each column."""
        ends = self._ends[1:-1]
        return list(zip(np.split(values, ends), np.split(self._h[:, 2:], ends), strict=True))

    def inverse(self, square: Array, weight: Array) -> tuple[blocks.Solve, Array]:
        """Return what solves for the blocks as others do, and their inverses' sum over the rows."""
        n, (n_columns, _) = self.n_rows, self.shape
        own, k = self._h[:, 1], len(self._shared)
        diagonal = 1 / (1 / square + self._at_own(weight * own**2))
        corner = np.stack([c.T @ (mine[:, None] * c) for mine, c in self._by_column(weight)])
        border = np.empty((n_columns, 2 * k, self.shape[1]))
        border[:, k:] = self._shared
        for number, c in enumerate(self._h[:, 2:].T):
            border[:, number] = self._at_own(weight * own * c)
        inverses = np.empty((n_columns, 2 * k, 2 * k))
        batches = [slice(start, start + _TOGETHER) for start in range(0, n_columns, _TOGETHER)]
        sums = np.empty((len(batches), n, n))

        def invert(number: int) -> None:
            here = batches[number]
            scaled = border[here] * diagonal[here, None]
            matrices = scaled @ border[here].transpose(0, 2, 1)
            matrices[:, :k, :k] -= corner[here]
            matrices[:, :k, k:] += np.eye(k)
            matrices[:, k:, :k] += np.eye(k)
            inverses[here] = np.linalg.inv(matrices)
            border[here] = scaled
            rows = scaled[:, :, :n]
            of_rows = (inverses[here] @ rows).reshape(-1, n)
            np.matmul(rows.reshape(-1, n).T, of_rows, out=sums[number])

        def solve(pull: Array, gain: Array) -> tuple[Array, Array]:
            right = pull - self.of_lines(gain)
            x: Array = diagonal * right

            def multiply_by(number: int) -> None:
                here = batches[number]
                part = inverses[here] @ (border[here] @ right[here, :, None])
                x[here] -= (border[here].transpose(0, 2, 1) @ part)[:, :, 0]

            list(self.pool.map(multiply_by, range(len(batches))))
            return x, gain + weight * self.along(x)

        list(self.pool.map(invert, range(len(batches))))
        total = np.diag(diagonal[:, :n].sum(axis=0)) - sums.sum(axis=0)
        return solve, (total + total.T) / 2


def _added(h: Array, own: Array, shared: Array) -> Array:
    """Return lines, where their own entries and the shared rows have these values."""
    return np.asarray(h[:, 1] * own + np.einsum("lk,lk->l", h[:, 2:], shared))


def work_of_a_step(n_columns: int, size: int, n_shared: int) -> float:
    """Return how much work a step of a program is where lines share so many rows.

    The unit is that of blocks of other lines.
    """
    borders = n_columns * 2 * n_shared * size * (size + _PASSES)
    return blocks.work_of_a_step(n_columns, size, 0) + borders
