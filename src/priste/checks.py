"""Validation that says what was received, where, and how to mend it."""

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from priste.errors import PristeError

Array = NDArray[np.float64]
Matrix = Any  # a dense Array or a scipy.sparse.csr_array; scipy carries no types

_NUMBER = (int, float, np.integer, np.floating)

FAINTEST = 2.0**-850
"""A smaller probability, about 10^-256, may have lost digits to underflow."""

TOLERANCE = 1e-9
"""How far the sum of a distribution may lie from one."""


def listing(items: Sequence[Any], limit: int = 5) -> str:
    """Return the first few items in words: ``3, 7, 9 and 12 more``."""
    shown = ", ".join(str(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 80


def shown(value: object) -> str:
    """Return a value as a message shows it: its `repr`, shortened whatever it is."""
    try:
        text = _short.repr(value)
        return text if len(text) <= 200 else f"{text[:199]}…"
    except (ValueError, RecursionError):  # a number of thousands of digits has no repr
        return f"a {type(value).__name__} too large to show"


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy, so that nobody changes it behind our back."""
    copy = np.array(values, order="C")
    copy.setflags(write=False)
    return copy


def is_whole(value: object) -> TypeGuard[int]:
    """Tell whether `value` is a whole number, of Python or numpy; not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(value: object, what: str, error: type[PristeError], *, least: int) -> int:
    """Return `value` as an int of at least `least`."""
    if not is_whole(value) or value < least:
        raise error(f"{what} must be a whole number of at least {least}, got {shown(value)}")
    return int(value)


def positive(value: object, what: str, error: type[PristeError]) -> float:
    """Return `value` as a finite float above zero."""
    number = _float(value)
    if not 0 < number < np.inf:
        raise error(f"{what} must be a finite number above 0, got {shown(value)}")
    return number


def not_negative(value: object, what: str, error: type[PristeError]) -> float:
    """Return `value` as a finite float of at least zero."""
    number = _float(value)
    if not 0 <= number < np.inf:
        raise error(f"{what} must be a finite number of at least 0, got {shown(value)}")
    return number


def fraction(value: object, what: str, error: type[PristeError], *, open_at_one: bool) -> float:
    """Return `value` as a float in [0, 1), or in [0, 1] unless `open_at_one`."""
    number = _float(value)
    if not 0 <= number <= 1 or (open_at_one and number == 1):
        raise error(f"{what} must lie in [0, 1{')' if open_at_one else ']'}, got {shown(value)}")
    return number


def _float(value: object) -> float:
    """Return a number as a float; NaN for anything else, and for what no float can hold."""
    try:
        is_number = isinstance(value, _NUMBER) and not isinstance(value, bool)
        return float(value) if is_number else np.nan  # type: ignore[arg-type]
    except OverflowError:
        return np.nan


def cell_set(
    cells: object, what: str, error: type[PristeError], *, n_cells: int | None = None
) -> tuple[int, ...]:
    """Return cells sorted and without repeats, each on the map if its size is known."""
    if is_whole(cells):
        cells = (cells,)
    if isinstance(cells, np.ndarray):
        cells = cells.ravel().tolist()
    if not isinstance(cells, Iterable) or isinstance(cells, str):
        raise error(f"{what} must be a cell or a collection of cells, got {shown(cells)}")
    found = sorted({whole(cell, f"each cell of {what}", error, least=0) for cell in cells})
    if not found:
        raise error(f"{what} has no cells; name at least one")
    if n_cells is not None and found[-1] >= n_cells:
        off = [cell for cell in found if cell >= n_cells]
        raise error(
            f"{what} names cells off the map: {listing(off)}; "
            f"the map has {n_cells} cells, 0 to {n_cells - 1}"
        )
    return tuple(found)


def numbers(values: object, what: str, error: type[PristeError], *, ndim: int) -> Array:
    """Return a read-only float copy of finite, non-negative numbers with `ndim` dimensions."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{what} must be numbers, got {type(values).__name__}") from None
    if array.ndim != ndim:
        raise error(f"{what} must have {ndim} dimension(s), got shape {array.shape}")
    for bad, word in ((~np.isfinite(array), "not finite"), (array < 0, "negative")):
        if bad.any():
            place = tuple(int(i) for i in np.argwhere(bad)[0])
            at = place[0] if ndim == 1 else place
            raise error(
                f"{what} has {int(bad.sum())} entries that are {word}; "
                f"the first is {array[place]} at {at}"
            )
    return frozen(array)


def _normalised(entries: Array, starts: NDArray[Any]) -> Array:
    """Return rows that sum to one up to a tolerance, corrected so that they do to the last digit.

    Row i is ``entries[starts[i]:starts[i + 1]]``. What rounding leaves over would be taken for
    evidence, step after step. Sums carry what each addition rounds off; the largest entry of a row
    takes what the division leaves.
    """
    rows = np.array(entries, dtype=np.float64)
    _normalise(rows, np.append(starts, len(rows)).astype(np.int64))
    return rows


@njit(cache=True)
def _normalise(rows: Array, ends: NDArray[np.int64]) -> None:
    for row in range(len(ends) - 1):
        begin, end = ends[row], ends[row + 1]
        largest = begin + np.argmax(rows[begin:end])
        total, rest = _sum(rows[begin:end])
        digit = np.nextafter(rows[largest], 2.0) - rows[largest]
        if abs((1.0 - total) - rest) <= 1.01 * digit:
            continue  # nothing better can be done, and who comes back stays the same
        for k in range(begin, end):
            rows[k] /= total + rest
        total, rest = _sum(rows[begin:end])
        rows[largest] += (1.0 - total) - rest


@njit(cache=True)
def _sum(values: Array) -> tuple[float, float]:
    """Return the sum of non-negative numbers in two parts, the second what the first rounds off."""
    total, rest = 0.0, 0.0
    for value in values:
        after = total + value
        added = after - total
        rest += (total - (after - added)) + (value - added)
        total = after
    return total, rest


def distribution(
    values: object, what: str, error: type[PristeError], *, size: int | None = None
) -> Array:
    """Return a read-only probability vector, of length `size` if that is known."""
    vector = numbers(values, what, error, ndim=1)
    if size is not None and len(vector) != size:
        raise error(f"{what} must have one entry per cell ({size}), got {len(vector)}")
    total = float(vector.sum())
    if abs(total - 1) > TOLERANCE:
        raise error(f"{what} must sum to 1, its sum is {total!r}; divide it by its sum")
    return frozen(_normalised(vector, np.zeros(1, dtype=np.intp)))


def stochastic(values: object, what: str, error: type[PristeError]) -> Matrix:
    """Return a matrix whose rows are distributions: read-only dense, or CSR if it came sparse."""
    matrix: Matrix
    if sparse.issparse(values):
        matrix = _checked_csr(values, what, error)
        numbers(matrix.data, f"the stored entries of {what}", error, ndim=1)
    else:
        matrix = numbers(values, what, error, ndim=2)
    if 0 in matrix.shape:
        raise error(f"{what} is empty, got shape {matrix.shape}")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(sums - 1) > TOLERANCE)
    if len(wrong):
        rows = listing([f"row {i} sums to {float(sums[i])!r}" for i in wrong])
        raise error(
            f"the rows of {what} must sum to 1: {rows}; "
            f"divide each row by its sum (a row of zeros needs a distribution of its own)"
        )
    if not isinstance(matrix, np.ndarray):
        matrix.data = _normalised(matrix.data, matrix.indptr[:-1])
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.setflags(write=False)
        return matrix
    starts = np.arange(0, matrix.size, matrix.shape[1])
    return frozen(_normalised(matrix.ravel(), starts).reshape(matrix.shape))


def _checked_csr(values: Any, what: str, error: type[PristeError]) -> Matrix:
    """Return a copy of a sparse matrix as CSR of floats, if no index leads out of its arrays.

    Compiled code does not check indices: a wrong one would read or write anywhere.
    """
    try:
        own = values.copy()
        starts = np.asarray(getattr(own, "indptr", [0]))
        if (starts < 0).any() or (starts[1:] < starts[:-1]).any():  # scipy's check can overflow
            raise ValueError("its rows do not begin one after the other")
        if own.format == "coo":
            own = sparse.coo_array((own.data, own.coords), shape=own.shape)  # this checks them
        elif hasattr(own, "check_format"):
            own.check_format(full_check=True)
        matrix = sparse.csr_array(own)
        matrix.check_format(full_check=True)
        matrix = matrix.astype(np.float64, casting="same_kind")
        matrix.sum_duplicates()
    except (TypeError, ValueError, IndexError, AttributeError) as problem:
        raise error(f"{what} is not a sparse matrix of numbers: {problem}") from problem
    if matrix.ndim != 2:
        raise error(f"{what} must have 2 dimension(s), got shape {matrix.shape}")
    return matrix
