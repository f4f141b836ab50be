"""Blocks of a large matrix, one for each column of a program, and how to solve for them.

A block is diag(1 / square) + hᵀ diag(weight) h, with a row of h for each line of its column. Where
lines are few, its inverse is kept as diag(square) − tᵀ t, with a row of t for each line, and prices
of lines are solved for, which stays exact where a line has little slack; where they are many, it is
kept as it is. Columns with about as many lines are taken together, so that nearly all of the work
is products of matrices, and the cores share it. The results are the same to the bit for any number
of cores.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste import worst_case
from priste.checks import Array

Index = NDArray[np.intp]
Solve = Callable[[Array, Array], tuple[Array, Array]]

_TOGETHER = 8, 24  # columns that are taken at once, at least and at most
_ROWS = 400  # their lines, if that takes fewer
_FEW = 0.8  # lines for each entry of a block that are few
_SMALL = 24  # rows of a matrix that is inverted at once
_STEP, _COLUMN = 8e8, 4e6  # how much work a step of a program and a column are in any case
_SHORT = 7.0  # how much more it is to solve for the shorter side than to multiply
_PASSES = 1000  # how much all that is done with each number of a line is
_SOLVING = 9.0  # how much more it is to solve for the sums of the rows than to multiply


class _Batch(NamedTuple):
    """Some columns with about as many lines, and a matrix of these for each.

    All matrices have as many rows; where a column has fewer lines, they are zero. `place` is where
    the columns are if these are counted batch by batch.
    """

    number: int
    place: slice
    columns: Index
    lines: Index
    is_line: NDArray[np.bool_]
    h: Array

    def padded(self, values: Array) -> Array:
        """Return values of lines, as many for each column."""
        found = np.zeros(self.is_line.shape)
        found[self.is_line] = values[self.lines]
        return found


class Blocks:
    """The blocks of some columns, of `size` entries each; sums are over the first `n_rows`."""

    def __init__(self, n_columns: int, size: int, n_rows: int) -> None:
        self.shape, self.n_rows = (n_columns, size), n_rows
        self.pool = ThreadPoolExecutor(worst_case.CORES)
        self._h, self._ends = np.empty((0, size)), np.zeros(n_columns + 1, dtype=np.intp)
        self._known: list[_Batch] = []  # batches, empty until they are needed
        self._room: Array | None = None  # to work in

    @property
    def width(self) -> int:
        """How many numbers a line is."""
        return self.shape[1]

    @staticmethod
    def scaled(h: Array, scale: Array) -> Array:
        """Return lines times numbers."""
        return np.asarray(h * scale[:, None])

    @staticmethod
    def values(h: Array, column: Index, x: Array) -> tuple[Array, Array]:
        """Return lines at the entries of columns, and the sums of the sizes of what they add up."""
        here = x[column]
        return np.einsum("ij,ij->i", h, here), np.einsum("ij,ij->i", np.abs(h), here)

    def give(self, column: Index, h: Array) -> None:
        """Go on with other lines: whose each is, column by column, and the lines as rows."""
        self._h, self._ends = h, np.searchsorted(column, np.arange(self.shape[0] + 1))
        self._known = []

    @property
    def _batches(self) -> list[_Batch]:
        """The columns by batches."""
        self._known = self._known or self._batched()
        return self._known

    def _batched(self) -> list[_Batch]:
        """Return the columns by batches."""
        n_columns, size = self.shape
        together = int(np.clip(_ROWS * n_columns // max(len(self._h), 1), *_TOGETHER))
        counts = np.diff(self._ends)
        order = np.argsort(counts, kind="stable")
        batches = []
        for number, start in enumerate(range(0, n_columns, together)):
            columns = order[start : start + together]
            place = slice(start, start + len(columns))
            places = np.arange(counts[columns[-1]])
            is_line = places < counts[columns, None]
            lines = (self._ends[columns, None] + places)[is_line]
            h = np.zeros((*is_line.shape, size))
            h[is_line] = self._h[lines]
            batches.append(_Batch(number, place, columns, lines, is_line, h))
        return batches

    def along(self, x: Array) -> Array:
        """Return the lines at entries."""
        found = np.empty(len(self._h))
        self._share_columns(lambda mine: _along(self._h, self._ends, mine, x, found))
        return found

    def of_lines(self, prices: Array) -> Array:
        """Return the sum of lines times their prices, for each column."""
        found = np.zeros(self.shape)
        self._share_columns(lambda mine: _of_lines(self._h, self._ends, mine, prices, found))
        return found

    def inverse(self, square: Array, weight: Array) -> tuple[Solve, Array]:
        """Return what solves for the blocks, and the sum of their inverses over the rows.

        For a pull on each entry and a gain of each line, solutions are entries x and prices p with
        ``x / square + hᵀ p = pull`` and ``p = gain + weight h x``.
        """
        is_short = len(self._h) < _FEW * square.size
        return (self._by_lines if is_short else self._by_entries)(np.sqrt(square), np.sqrt(weight))

    def _by_lines(self, root: Array, root_weight: Array) -> tuple[Solve, Array]:
        """Solve for prices: the inverses are diag(root²) − tᵀ t, with a row of t for each line."""
        n, square = self.n_rows, root**2
        n_batches = len(self._batches)
        halves: list[Array] = [np.empty(0)] * n_batches
        taken = halves.copy()
        sums = np.empty((n_batches, n, n))

        def take(batch: _Batch) -> None:
            scaled = _scaled(batch, root, root_weight)
            matrices = scaled @ scaled.transpose(0, 2, 1)
            np.einsum("kii->ki", matrices)[:] += 1
            half = np.empty(matrices.shape)
            half_of_inverse(matrices, half)
            t = half @ scaled
            t *= root[batch.columns, None]
            halves[batch.number], taken[batch.number] = half, t
            rows = t.reshape(-1, t.shape[2])[:, :n]
            np.matmul(rows.T, rows, out=sums[batch.number])

        def solve(pull: Array, gain: Array) -> tuple[Array, Array]:
            x, price, right = np.empty(self.shape), np.empty(len(gain)), gain / root_weight

            def solve_for(batch: _Batch) -> None:
                half, t = halves[batch.number], taken[batch.number]
                _prices(half, t, batch.columns, self._ends, pull, right, price)
                price[batch.lines] *= root_weight[batch.lines]
                _entries(self._h, self._ends, batch.columns, pull, price, square, x)

            self._share(solve_for)
            return x, price

        self._share(take)
        return solve, np.diag(square[:, :n].sum(axis=0)) - sums.sum(axis=0)

    def _by_entries(self, root: Array, root_weight: Array) -> tuple[Solve, Array]:
        """Solve for entries: the inverses are matrices."""
        n = self.n_rows
        if self._room is None:
            self._room = np.empty((2, *self.shape, self.shape[1]))
        matrices, halves = self._room

        def invert(batch: _Batch) -> None:
            mine, half = matrices[batch.place], halves[batch.place]
            scaled = _scaled(batch, root, root_weight)
            np.matmul(scaled.transpose(0, 2, 1), scaled, out=mine)
            np.einsum("kii->ki", mine)[:] += 1
            half_of_inverse(mine, half)
            half *= root[batch.columns, None]
            np.matmul(half.transpose(0, 2, 1), half, out=mine)

        def solve(pull: Array, gain: Array) -> tuple[Array, Array]:
            right, x = pull - self.of_lines(gain), np.empty(self.shape)

            def multiply_by(batch: _Batch) -> None:
                x[batch.columns] = (matrices[batch.place] @ right[batch.columns, :, None])[:, :, 0]

            self._share(multiply_by)
            return x, gain + root_weight**2 * self.along(x)

        self._share(invert)
        return solve, matrices[:, :n, :n].sum(axis=0)

    def _share(self, work: Callable[[_Batch], None]) -> None:
        """Do the work on all batches, shared by the cores."""

        def do(mine: list[_Batch]) -> None:
            for batch in mine:
                work(batch)

        batches, cores = self._batches, worst_case.CORES
        list(self.pool.map(do, [batches[core::cores] for core in range(cores)]))

    def _share_columns(self, work: Callable[[tuple[int, int]], None]) -> None:
        """Do the work on all columns, from one to another, shared by the cores."""
        shares = np.linspace(0, len(self._h), worst_case.CORES + 1)[1:-1]
        starts = [0, *np.searchsorted(self._ends, shares).tolist(), self.shape[0]]
        list(self.pool.map(work, pairwise(starts)))


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "reassoc"})
def _along(h: Array, ends: Index, columns: tuple[int, int], x: Array, found: Array) -> None:
    """Fill in the lines at entries, for some columns."""
    for column in range(*columns):
        for line in range(ends[column], ends[column + 1]):
            total = 0.0
            for k in range(h.shape[1]):
                total += h[line, k] * x[column, k]
            found[line] = total


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "reassoc"})
def _of_lines(h: Array, ends: Index, columns: tuple[int, int], prices: Array, found: Array) -> None:
    """Add lines times their prices up, for some columns."""
    for column in range(*columns):
        for line in range(ends[column], ends[column + 1]):
            for k in range(h.shape[1]):
                found[column, k] += prices[line] * h[line, k]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "reassoc"})
def _prices(
    half: Array, t: Array, columns: Index, ends: Index, pull: Array, right: Array, found: Array
) -> None:
    """Fill in halfᵀ (t pull + half right) for the lines of some columns."""
    for number, column in enumerate(columns):
        start, n_lines = ends[column], ends[column + 1] - ends[column]
        for line in range(n_lines):
            found[start + line] = 0.0
        for line in range(n_lines):
            total = 0.0
            for k in range(t.shape[2]):
                total += t[number, line, k] * pull[column, k]
            for other in range(line + 1):
                total += half[number, line, other] * right[start + other]
            for other in range(line + 1):
                found[start + other] += half[number, line, other] * total


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "reassoc"})
def _entries(
    h: Array, ends: Index, columns: Index, pull: Array, price: Array, square: Array, found: Array
) -> None:
    """Fill in (pull − hᵀ price) times `square` for some columns."""
    for column in columns:
        for k in range(h.shape[1]):
            found[column, k] = pull[column, k]
        for line in range(ends[column], ends[column + 1]):
            for k in range(h.shape[1]):
                found[column, k] -= price[line] * h[line, k]
        for k in range(h.shape[1]):
            found[column, k] *= square[column, k]


def _scaled(batch: _Batch, root: Array, root_weight: Array) -> Array:
    """Return lines s so that a block is diag(1 / root) (1 + sᵀ s) diag(1 / root)."""
    scaled: Array = batch.h * root[batch.columns, None]
    scaled *= batch.padded(root_weight)[:, :, None]
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
    shorter = min(n_lines, size)  # of both sides of a column's matrix
    column = _COLUMN + n_lines * size * (size + _SHORT * shorter + _PASSES)
    return _STEP + n_columns * column + _SOLVING * size**3
