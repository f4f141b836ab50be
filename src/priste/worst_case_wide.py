"""The condition of `priste.worst_case` for rows of any likelihood, compiled.

Floating point holds 2,000 binary orders. Beliefs that lie further apart, or entries that nearly
vanish, would overflow or underflow in the products of `priste.worst_case_kernels`. Here every
number is *wide*: a mantissa in [½, 1), or 0, and a whole exponent of its own. Sums and products
of wide numbers neither overflow nor underflow, so each pair is compared exactly as it stands.

A pair can fail only if one belief's posterior odds exceed E times the other's prior odds, in one
order or the other (`priste.worst_case_kernels` says why). Logarithms find those pairs.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.checks import Array

Wide = tuple[float, int]
Row = tuple[Wide, Wide, Wide, Wide]
Rows = tuple[Array, NDArray[np.int64]]
"""Mantissas and exponents of a, not_a, b and d, one row per belief."""

_MARGIN = 1e-9  # binary orders; far above the rounding of the logarithms
_NUDGE = 1e-13  # relative; how far the search steps where it cannot climb
_PATIENCE = 60  # steps before bisection takes over
_ENDLESS = 1 << 20  # the exponent of a weight beside which the other vanishes
_SLACK = 1e-14  # a pair worse than the best by less than this (relative) is not worth a look
_LN2 = math.log(2.0)


@njit(cache=True, nogil=True)
def _wide(value: float, exponent: int) -> Wide:
    """Return value · 2^exponent."""
    mantissa, order = math.frexp(value)
    return (mantissa, exponent + order) if mantissa != 0 else (0.0, 0)


@njit(cache=True, nogil=True)
def _product(x: Wide, y: Wide) -> Wide:
    return _wide(x[0] * y[0], x[1] + y[1])


@njit(cache=True, nogil=True)
def _sum(x: Wide, y: Wide) -> Wide:
    if x[0] == 0 or (y[0] != 0 and x[1] < y[1]):
        x, y = y, x
    if y[0] == 0 or x[1] - y[1] > 64:
        return x
    return _wide(x[0] + math.ldexp(y[0], y[1] - x[1]), x[1])


@njit(cache=True, nogil=True)
def _excess(x: Wide, y: Wide) -> Wide:
    """Return x − y, or 0 where y is the larger."""
    if not _at_least(x, y):
        return 0.0, 0
    if y[0] == 0 or x[1] - y[1] > 64:
        return x
    return _wide(x[0] - math.ldexp(y[0], y[1] - x[1]), x[1])


@njit(cache=True, nogil=True)
def _root(x: Wide) -> Wide:
    odd = x[1] % 2
    return _wide(math.sqrt(math.ldexp(x[0], odd)), (x[1] - odd) // 2)


@njit(cache=True, nogil=True)
def _at_least(x: Wide, y: Wide) -> bool:
    if x[0] == 0 or y[0] == 0:
        return y[0] == 0
    return x[1] > y[1] or (x[1] == y[1] and x[0] >= y[0])


@njit(cache=True, nogil=True)
def _log(x: Wide) -> float:
    """Return the binary logarithm."""
    return math.log2(x[0]) + x[1] if x[0] > 0 else -math.inf


@njit(cache=True, nogil=True)
def _exponential(value: float) -> Wide:
    """Return e to a power, 0 for that of minus infinity."""
    if abs(value) < 700 or math.isinf(value):
        return _wide(math.exp(value), 0)
    orders = math.floor(value / _LN2)
    return _wide(math.exp(value - orders * _LN2), int(orders))


@njit(cache=True, nogil=True)
def rows_of(
    a: Array, not_a: Array, b: Array, d: Array, exponents: NDArray[np.int64], rising: bool
) -> Rows:
    """Return the rows as wide numbers, for odds that fall with (a, b) and (not_a, d) exchanged."""
    n = len(a)
    mantissas, orders = np.empty((n, 4)), np.empty((n, 4), dtype=np.int64)
    for i in range(n):
        first, second = _wide(a[i], 0), _wide(not_a[i], 0)
        third, fourth = _wide(b[i], exponents[i]), _wide(d[i], exponents[i])
        if not rising:
            first, second, third, fourth = second, first, fourth, third
        mantissas[i] = first[0], second[0], third[0], fourth[0]
        orders[i] = first[1], second[1], third[1], fourth[1]
    return mantissas, orders


@njit(cache=True, nogil=True)
def _row(rows: Rows, i: int) -> Row:
    m, e = rows[0][i], rows[1][i]
    return (m[0], e[0]), (m[1], e[1]), (m[2], e[2]), (m[3], e[3])


@njit(cache=True, nogil=True)
def _odds(rows: Rows) -> tuple[Array, Array]:
    """Return the binary logarithms of each row's prior and posterior odds.

    A row under which the releases are impossible has posterior odds that never exceed anything.
    """
    n = len(rows[0])
    prior, posterior = np.empty(n), np.empty(n)
    for i in range(n):
        a, not_a, b, d = _row(rows, i)
        prior[i] = math.inf if not_a[0] == 0 else _log(a) - _log(not_a)
        posterior[i] = -math.inf if b[0] == 0 else _log(b) - _log(d)
    return prior, posterior


@njit(cache=True, nogil=True)
def _slack(row: Row, bound: Wide) -> Wide:
    """Return √g of a row, 0 where g is negative."""
    a, not_a, b, d = row
    return _root(_excess(_product(bound, _product(a, d)), _product(not_a, b)))


@njit(cache=True, nogil=True)
def _slacks(rows: Rows, bound: Wide) -> Rows:
    """Return √g of every row."""
    n = len(rows[0])
    mantissas, orders = np.empty((n, 1)), np.empty((n, 1), dtype=np.int64)
    for i in range(n):
        mantissas[i, 0], orders[i, 0] = _slack(_row(rows, i), bound)
    return mantissas, orders


@njit(cache=True, nogil=True)
def _pair_holds(first: Row, second: Row, slack: Wide, other_slack: Wide, bound: Wide) -> bool:
    """Tell whether the condition holds for a pair of rows with these √g."""
    a_i, not_a_i, b_i, d_i = first
    a_j, not_a_j, b_j, d_j = second
    allowed = _product(bound, _sum(_product(a_i, d_j), _product(d_i, a_j)))
    allowed = _sum(allowed, _product((0.5, 2), _product(slack, other_slack)))
    return _at_least(allowed, _sum(_product(b_i, not_a_j), _product(not_a_i, b_j)))


@njit(cache=True, nogil=True)
def _holds(rows: Rows, slacks: Rows, i: int, j: int, bound: Wide) -> bool:
    """Tell whether the condition holds for rows i and j."""
    slack, other = (slacks[0][i, 0], slacks[1][i, 0]), (slacks[0][j, 0], slacks[1][j, 0])
    return _pair_holds(_row(rows, i), _row(rows, j), slack, other, bound)


@njit(cache=True, nogil=True)
def hold(rows: Rows, bound: float) -> bool:
    """Tell whether the condition holds with E = `bound` for every row and every pair."""
    n = len(rows[0])
    wide_bound = _wide(bound, 0)
    for i in range(n):
        a, not_a, b, d = _row(rows, i)
        if not _at_least(_product(wide_bound, _product(a, d)), _product(not_a, b)):
            return False
    slacks = _slacks(rows, wide_bound)
    prior, posterior = _odds(rows)
    most = math.log2(bound) - _MARGIN
    for i in range(n):
        for j in range(n):
            if posterior[i] > most + prior[j] and not _holds(rows, slacks, i, j, wide_bound):
                return False
    return True


@njit(cache=True, nogil=True)
def largest(rows: Rows) -> tuple[float, int, int, float]:
    """Return the largest loss and its edge: beliefs i and j, the weight of j over that of i."""
    n = len(rows[0])
    prior, posterior = _odds(rows)
    best, best_i, best_j, best_ratio = -math.inf, 0, 0, 0.0
    for i in range(n):
        if math.isfinite(prior[i]) and _LN2 * (posterior[i] - prior[i]) > best:
            best, best_i, best_j = _LN2 * (posterior[i] - prior[i]), i, i
    bound = _exponential(best + _SLACK)
    slacks = _slacks(rows, bound)
    for i in range(n):
        for j in range(n):
            if best == math.inf:
                return best, best_i, best_j, best_ratio
            suspect = posterior[i] > best / _LN2 + prior[j] - _MARGIN
            if suspect and not _holds(rows, slacks, i, j, bound):
                best, best_ratio = edge(rows, i, j, best)
                best_i, best_j = i, j
                bound = _exponential(best + _SLACK * (1 + abs(best)))
                slacks = _slacks(rows, bound)
    return best, best_i, best_j, best_ratio


@njit(cache=True, nogil=True)
def edge(rows: Rows, i: int, j: int, low: float) -> tuple[float, float]:
    """Return the loss of an edge, known to lie above `low`, and the weight of j over that of i.

    The form of the pair, least over the weights, is concave in E. Newton's method climbs to its
    root from below: the weight at which the form is least has a loss, and that is the next E.
    Where a row alone has exactly the loss E the slope is infinite, and a nudge is needed.
    """
    first, second = _row(rows, i), _row(rows, j)
    loss = low
    for _ in range(_PATIENCE):
        weight = _least_at(first, second, loss)
        climbed = _loss_at(first, second, weight)
        if climbed == math.inf:
            return climbed, 0.0
        nudged = loss + _NUDGE * (1 + abs(loss))
        if climbed <= nudged and _holds_alone(first, second, nudged):
            return max(climbed, loss), _as_float(weight)
        loss = max(climbed, nudged) if loss > -math.inf else climbed
    return _turning_point(first, second, loss), _as_float(weight)


@njit(cache=True, nogil=True)
def _least_at(first: Row, second: Row, loss: float) -> Wide:
    """Return the weight of the second row, beside 1 on the first, at which the form is least."""
    bound = _exponential(loss)
    one, other = _slack(first, bound), _slack(second, bound)
    if one[0] > 0 and other[0] > 0:
        return _wide(one[0] / other[0], one[1] - other[1])
    if one[0] == 0 and other[0] == 0:
        return 0.5, 1
    return (0.5, _ENDLESS) if one[0] > 0 else (0.5, -_ENDLESS)


@njit(cache=True, nogil=True)
def _loss_at(first: Row, second: Row, weight: Wide) -> float:
    """Return the loss of the belief with weight 1 on the first row and `weight` on the second."""
    a = _sum(first[0], _product(weight, second[0]))
    not_a = _sum(first[1], _product(weight, second[1]))
    b = _sum(first[2], _product(weight, second[2]))
    d = _sum(first[3], _product(weight, second[3]))
    if b[0] == 0 or not_a[0] == 0:
        return -math.inf
    if a[0] == 0 or d[0] == 0:
        return math.inf
    odds = _wide(b[0] * not_a[0] / (a[0] * d[0]), b[1] + not_a[1] - a[1] - d[1])
    return math.log(odds[0]) + odds[1] * _LN2


@njit(cache=True, nogil=True)
def _turning_point(first: Row, second: Row, low: float) -> float:
    """Return where the condition of a pair begins to hold, by bisection: slow and sure."""
    most = least = 0
    for part in (*first, *second):
        most, least = max(most, part[1]), min(least, part[1])
    high = 3.0 * (most - least) + 50  # no finite loss is as large
    if not _holds_alone(first, second, high):
        return math.inf
    while True:
        middle = (low + high) / 2
        if middle == low or middle == high:  # noqa: SIM109 (compiled)
            return high
        if _holds_alone(first, second, middle):
            high = middle
        else:
            low = middle


@njit(cache=True, nogil=True)
def _holds_alone(first: Row, second: Row, loss: float) -> bool:
    bound = _exponential(loss)
    return _pair_holds(first, second, _slack(first, bound), _slack(second, bound), bound)


@njit(cache=True, nogil=True)
def _as_float(x: Wide) -> float:
    if x[1] > 1000:
        return math.inf
    return math.ldexp(x[0], max(x[1], -1100))
