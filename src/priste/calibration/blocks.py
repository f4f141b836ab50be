"""Blocks of a large matrix, one for each column of a program, and how to solve for them.

A block is diag(1 / square) + hᵀ diag(weight) h, with a row of h for each line of its column. Where
lines are few, its inverse is kept as diag(square) − tᵀ t, with a row of t for each line; where they
are many, as it is. Columns with about as many lines are taken together, so that nearly all of the
work is products of matrices, and the cores share it. The results are the same to the bit for any
number of cores.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste import worst_case
from priste.checks import Array

Index = NDArray[np.intp]
Multiply = Callable[[Array], Array]

_TOGETHER = 8  # columns that are taken at once
_FEW = 0.8  # lines for each entry of a block that are few
_SMALL = 24  # rows of a matrix that is inverted at once
_STEP, _COLUMN = 8e8, 6e6  # how much work a step of a program and a column are in any case
_SHORT = 6.0  # how much more products of lines with lines are, of which there are few
_PASSES = 1000  # how much all that is done with each number of a line is
_SOLVING = 9.0  # how much more it is to solve for the sums of the rows than to multiply


class _Batch(NamedTuple):
    """Some columns with about as many lines, and a matrix of these for each.

    All matrices have as many rows; where a column has fewer lines, they are zero.
    """

    number: int
    columns: Index
    lines: Index
    is_line: NDArray[np.bool_]
    h: Array

    def padded(self, values: Array) -> Array:
        """Return values of lines, as many for each column."""
        found = np.zeros(self.is_line.shape)
        found[self.is_line] = values[self.lines]
        return found

    @property
    def place(self) -> slice:
        """Where the columns are if these are counted batch by batch."""
        return slice(_TOGETHER * self.number, _TOGETHER * self.number + len(self.columns))


class Blocks:
    """The blocks of some columns, of `size` entries each; sums are over the first `n_rows`."""

    def __init__(self, n_columns: int, size: int, n_rows: int) -> None:
        self.shape, self.n_rows = (n_columns, size), n_rows
        self.pool = ThreadPoolExecutor(worst_case.CORES)
        self._column, self._h = np.empty(0, dtype=np.intp), np.empty((0, size))
        self._batches: list[_Batch] = []  # empty until they are needed
        self._room: Array | None = None  # to work in

    def give(self, column: Index, h: Array) -> None:
        """Go on with other lines: whose each is, column by column, and the lines as rows."""
        self._column, self._h = column, h
        self._batches = []

    def _batched(self) -> list[_Batch]:
        """Return the columns by batches."""
        n_columns, size = self.shape
        ends = np.searchsorted(self._column, np.arange(n_columns + 1))
        counts = np.diff(ends)
        order = np.argsort(counts, kind="stable")
        batches = []
        for number, start in enumerate(range(0, n_columns, _TOGETHER)):
            columns = order[start : start + _TOGETHER]
            places = np.arange(counts[columns[-1]])
            is_line = places < counts[columns, None]
            lines = (ends[columns, None] + places)[is_line]
            h = np.zeros((*is_line.shape, size))
            h[is_line] = self._h[lines]
            batches.append(_Batch(number, columns, lines, is_line, h))
        return batches

    def along(self, x: Array) -> Array:
        """Return the lines at entries."""
        found = np.empty(len(self._h))

        def multiply(batch: _Batch) -> None:
            found[batch.lines] = (batch.h @ x[batch.columns, :, None])[batch.is_line, 0]

        self._share(multiply)
        return found

    def of_lines(self, prices: Array) -> Array:
        """Return the sum of lines times their prices, for each column."""
        found = np.empty(self.shape)

        def multiply(batch: _Batch) -> None:
            found[batch.columns] = (batch.padded(prices)[:, None] @ batch.h)[:, 0]

        self._share(multiply)
        return found

    def inverse(self, square: Array, weight: Array) -> tuple[Multiply, Array]:
        """Return what multiplies by the inverses, and the sum of these over the rows."""
        is_short = len(self._h) < _FEW * square.size
        return (self._by_lines if is_short else self._by_entries)(np.sqrt(square), np.sqrt(weight))

    def _by_lines(self, root: Array, weight: Array) -> tuple[Multiply, Array]:
        """Return the inverses as diag(root²) − tᵀ t, with a row of t for each line."""
        n, square = self.n_rows, root**2
        n_batches = math.ceil(len(root) / _TOGETHER)
        taken, sums = [np.empty(0)] * n_batches, np.empty((n_batches, n, n))

        def take(batch: _Batch) -> None:
            scaled = _scaled(batch, root, weight)
            matrices = scaled @ scaled.transpose(0, 2, 1)
            np.einsum("kii->ki", matrices)[:] += 1
            half = np.empty(matrices.shape)
            half_of_inverse(matrices, half)
            t = half @ scaled
            t *= root[batch.columns, None]
            taken[batch.number] = t
            rows = t.reshape(-1, t.shape[2])[:, :n]
            np.matmul(rows.T, rows, out=sums[batch.number])

        def multiply(x: Array) -> Array:
            found: Array = square * x

            def take_from(batch: _Batch) -> None:
                t = taken[batch.number]
                along = t @ x[batch.columns, :, None]
                found[batch.columns] -= (along.transpose(0, 2, 1) @ t)[:, 0]

            self._share(take_from)
            return found

        self._share(take)
        return multiply, np.diag(square[:, :n].sum(axis=0)) - sums.sum(axis=0)

    def _by_entries(self, root: Array, weight: Array) -> tuple[Multiply, Array]:
        """Return the inverses as matrices."""
        n = self.n_rows
        if self._room is None:
            self._room = np.empty((2, *self.shape, self.shape[1]))
        matrices, halves = self._room

        def invert(batch: _Batch) -> None:
            mine, half = matrices[batch.place], halves[batch.place]
            scaled = _scaled(batch, root, weight)
            np.matmul(scaled.transpose(0, 2, 1), scaled, out=mine)
            np.einsum("kii->ki", mine)[:] += 1
            half_of_inverse(mine, half)
            half *= root[batch.columns, None]
            np.matmul(half.transpose(0, 2, 1), half, out=mine)

        def multiply(x: Array) -> Array:
            found = np.empty(x.shape)

            def multiply_by(batch: _Batch) -> None:
                found[batch.columns] = (matrices[batch.place] @ x[batch.columns, :, None])[:, :, 0]

            self._share(multiply_by)
            return found

        self._share(invert)
        return multiply, matrices[:, :n, :n].sum(axis=0)

    def _share(self, work: Callable[[_Batch], None]) -> None:
        """Do the work on all batches, shared by the cores."""

        def do(mine: list[_Batch]) -> None:
            for batch in mine:
                work(batch)

        self._batches = self._batches or self._batched()
        cores = worst_case.CORES
        list(self.pool.map(do, [self._batches[core::cores] for core in range(cores)]))


def _scaled(batch: _Batch, root: Array, weight: Array) -> Array:
    """Return lines s so that a block is diag(1 / root) (1 + sᵀ s) diag(1 / root)."""
    scaled: Array = batch.h * root[batch.columns, None]
    scaled *= batch.padded(weight)[:, :, None]
    return scaled


def half_of_inverse(matrices: Array, out: Array) -> None:
    """Put L⁻¹ where the result goes, for positive definite matrices L Lᵀ = (L⁻ᵀ L⁻¹)⁻¹.

    Large ones are taken by halves, many at a time: nearly all of that is products of matrices.
    """
    size = matrices.shape[-1]
    if size <= _SMALL:
        out[:] = np.linalg.inv(np.linalg.cholesky(matrices))
        return
    half = size // 2
    first, last, below = out[:, :half, :half], out[:, half:, half:], out[:, half:, :half]
    half_of_inverse(matrices[:, :half, :half], first)
    lower = matrices[:, half:, :half] @ first.transpose(0, 2, 1)
    half_of_inverse(matrices[:, half:, half:] - lower @ lower.transpose(0, 2, 1), last)
    np.matmul(last, lower @ -first, out=below)
    out[:, :half, half:] = 0.0


def work_of_a_step(n_columns: int, size: int, n_lines: float) -> float:
    """Return how much work a step of a program is, with so many entries and lines for each column.

    The unit is a product of numbers in the largest of the products of matrices.
    """
    column = _COLUMN + n_lines * size * (size + _SHORT * n_lines + _PASSES)
    return _STEP + n_columns * column + _SOLVING * size**3
