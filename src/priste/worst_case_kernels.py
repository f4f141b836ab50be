"""Compiled loops over pairs of beliefs, for `priste.worst_case`.

Everything is in the scaled form explained there: rows (p, q, beta, delta) and the condition

    E (δ_i p_j + p_i δ_j) − (β_i q_j + q_i β_j) + 2 √g_i √g_j ≥ 0,    g_i = E p_i δ_i − q_i β_i ≥ 0.

Most pairs need no look. With likelihoods u = β/p and v = δ/q the condition reads

    q_i p_j (E v_i − u_j) + p_i q_j (E v_j − u_i) + 2 √g_i √g_j ≥ 0,

so one of its pairs (i, j), in one of its two orders, must have u_i > E v_j to fail. Sorting the
same four products the other way, one must have β_i/δ_i > E p_j/q_j: posterior odds above E times
the other's prior odds. Both must be so in the same order: if u_i > E v_j but j has the larger
prior odds, then E v_i ≥ u_i > E v_j ≥ u_j makes the first term outweigh the second.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste import worst_case_wide as wide
from priste.checks import FAINTEST, Array

Row = tuple[float, float, float, float, float, float]

_UNIT = 2.0**-52
SPREAD = 600  # binary orders between rows up to which no product here leaves floating point
LEAST = 2.0**-600  # so too for the smaller of two entries that add up to about one
LARGEST = 200.0  # nats; products with a larger e^loss could overflow
MARGIN = 1e-12  # relative; a pair this close to failing is looked at
_SLACK = 1e-14  # a pair worse than the best by less than this (relative) is not worth a look


@njit(cache=True, nogil=True)
def hold(p: Array, q: Array, beta: Array, delta: Array, bound: float, both: bool) -> bool:
    """Tell whether the condition holds with E = `bound` for every vertex and every pair.

    With `both` also the condition of the other side, where (p, beta) and (q, delta) change places.
    """
    n = len(p)
    roots, others = np.empty(n), np.empty(n)
    for i in range(n):
        rise, fall = q[i] * beta[i], p[i] * delta[i]
        if not bound * fall >= rise or (both and not bound * rise >= fall):
            return False  # also if something is not a number
        roots[i] = math.sqrt(bound * fall - rise)
        others[i] = math.sqrt(bound * rise - fall) if both else 0.0
    high, low = _suspects(p, q, beta, delta, bound)
    pairs = len(high) * len(low)
    if both:
        other_high, other_low = _suspects(q, p, delta, beta, bound)
        pairs += len(other_high) * len(other_low)
        if 2 * pairs > n * n:
            return _all_pairs_hold(p, q, beta, delta, roots, others, bound)
        if not _suspects_hold(q, p, delta, beta, others, other_high, other_low, bound):
            return False
    return _suspects_hold(p, q, beta, delta, roots, high, low, bound)


@njit(cache=True, nogil=True)
def _suspects(
    p: Array, q: Array, beta: Array, delta: Array, bound: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that can be i, and those that can be j, of a pair that fails."""
    n = len(p)
    least_v = least_prior = math.inf
    most_u = most_posterior = 0.0
    for i in range(n):
        if q[i] > 0:
            least_v, least_prior = min(least_v, delta[i] / q[i]), min(least_prior, p[i] / q[i])
        if beta[i] > 0:
            most_u = max(most_u, beta[i] / p[i])
            posterior = beta[i] / delta[i] if delta[i] > 0 else math.inf
            most_posterior = max(most_posterior, posterior)
    high, low = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n_high = n_low = 0
    bound *= 1 - MARGIN
    for i in range(n):
        high[n_high] = low[n_low] = i
        n_high += beta[i] > bound * p[i] * least_v and beta[i] > bound * delta[i] * least_prior
        n_low += bound * delta[i] < q[i] * most_u and bound * p[i] < q[i] * most_posterior
    return high[:n_high], low[:n_low]


@njit(cache=True, nogil=True)
def _suspects_hold(
    p: Array,
    q: Array,
    beta: Array,
    delta: Array,
    roots: Array,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    bound: float,
) -> bool:
    """Tell whether the pairs of the high rows with the low ones hold, on one side."""
    others = p[low], q[low], beta[low], delta[low], roots[low]
    for i in high:
        row = p[i], q[i], beta[i], delta[i], roots[i]
        if not _one_side_holds(*others, row, bound):
            return False
    return True


@njit(cache=True, nogil=True)
def _all_pairs_hold(
    p: Array, q: Array, beta: Array, delta: Array, roots: Array, others: Array, bound: float
) -> bool:
    """Tell whether every pair holds, on both sides."""
    n = len(p)
    for i in range(0, n - 1, 2):  # two rows at a time: each load serves twice
        k = i + 1
        row = p[i], q[i], beta[i], delta[i], roots[i], others[i]
        next_row = p[k], q[k], beta[k], delta[k], roots[k], others[k]
        # the first of the pairs is (i, i + 1) itself, and (i + 1, i + 1), which always holds
        if not _both_sides_hold(
            p[k:], q[k:], beta[k:], delta[k:], roots[k:], others[k:], row, next_row, bound
        ):
            return False
    return True


# The two loops below are free of branches, which makes them fast, and count what passes, so that
# what is not a number fails.


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _both_sides_hold(
    p: Array,
    q: Array,
    beta: Array,
    delta: Array,
    roots: Array,
    others: Array,
    row: Row,
    next_row: Row,
    bound: float,
) -> bool:
    """Tell whether the pairs of two rows with all the given ones hold, on both sides."""
    p_0, q_0, beta_0, delta_0, root_0, other_0 = row
    p_1, q_1, beta_1, delta_1, root_1, other_1 = next_row
    passing = 0
    for j in range(len(p)):
        fall_0, rise_0 = delta_0 * p[j] + p_0 * delta[j], beta_0 * q[j] + q_0 * beta[j]
        fall_1, rise_1 = delta_1 * p[j] + p_1 * delta[j], beta_1 * q[j] + q_1 * beta[j]
        passing += (
            (bound * fall_0 - rise_0 + 2 * root_0 * roots[j] >= 0)
            & (bound * rise_0 - fall_0 + 2 * other_0 * others[j] >= 0)
            & (bound * fall_1 - rise_1 + 2 * root_1 * roots[j] >= 0)
            & (bound * rise_1 - fall_1 + 2 * other_1 * others[j] >= 0)
        )
    return passing == len(p)


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _one_side_holds(
    p: Array,
    q: Array,
    beta: Array,
    delta: Array,
    roots: Array,
    row: tuple[float, float, float, float, float],
    bound: float,
) -> bool:
    """Tell whether the pairs of a row with all the given ones hold, on one side."""
    p_0, q_0, beta_0, delta_0, root_0 = row
    passing = 0
    for j in range(len(p)):
        fall, rise = delta_0 * p[j] + p_0 * delta[j], beta_0 * q[j] + q_0 * beta[j]
        passing += bound * fall - rise + 2 * root_0 * roots[j] >= 0
    return passing == len(p)


@njit(cache=True, nogil=True)
def first_failing(
    a: Array,
    not_a: Array,
    b: Array,
    d: Array,
    exponents: NDArray[np.int64],
    bound: float,
    both: bool,
    stop: NDArray[np.bool_],
) -> int:
    """Return the first output (row of b and d) whose condition fails, or -1.

    Somebody else setting ``stop[0]`` ends the search early; so does finding a failure.
    """
    for o in range(len(b)):
        if stop[0]:
            return -1
        if fails(a, not_a, exponents, b[o], d[o], bound, both):
            stop[0] = True
            return o
    return -1


@njit(cache=True, nogil=True)
def fails(
    a: Array,
    not_a: Array,
    exponents: NDArray[np.int64],
    b: Array,
    d: Array,
    bound: float,
    both: bool,
) -> bool:
    """Tell whether an output breaks the condition for some pair of vertices.

    One that is possible for no vertex does, and so does one whose likelihood from some vertex is
    so small that digits may be lost.
    """
    possible = False
    for total in b + d:
        possible = possible or total > 0
        if 0 < total < FAINTEST:
            return True
    return not possible or not all_hold(a, not_a, b, d, exponents, bound, both)


@njit(cache=True, nogil=True)
def all_hold(
    a: Array,
    not_a: Array,
    b: Array,
    d: Array,
    exponents: NDArray[np.int64],
    bound: float,
    both: bool,
) -> bool:
    """Tell whether the condition holds for every vertex and pair, however far rows lie apart."""
    p, q, beta, delta, _, comparable = scaled(a, not_a, b, d, exponents)
    if comparable:
        return hold(p, q, beta, delta, bound, both)
    return wide.hold(wide.rows_of(a, not_a, b, d, exponents, True), bound) and (
        not both or wide.hold(wide.rows_of(a, not_a, b, d, exponents, False), bound)
    )


@njit(cache=True, nogil=True)
def scaled(
    a: Array, not_a: Array, b: Array, d: Array, exponents: NDArray[np.int64]
) -> tuple[Array, Array, Array, Array, Array, bool]:
    """Return the rows (p, q, beta, delta) divided by √(b + d), that `scale`, and their verdict.

    Row v of b and d is meant times ``2 ** exponents[v]``; likelihoods are taken relative to the
    largest. The last value tells whether the rows are comparable in floating point: within
    `SPREAD` binary orders of each other, with no entry smaller than `LEAST` beside its partner.
    Where they are not, `priste.worst_case_wide` decides, and the rows here mean nothing.
    """
    n = len(a)
    p, q, beta, delta, scale = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.ones(n)
    highest = lowest = 0
    comparable, possible = True, False
    for v in range(n):
        total = b[v] + d[v]
        comparable &= not (0 < a[v] < LEAST or 0 < not_a[v] < LEAST)
        comparable &= not (0 < b[v] < LEAST * total or 0 < d[v] < LEAST * total)
        if total > 0:
            order = exponents[v] + math.frexp(total)[1]
            highest = max(highest, order) if possible else order
            lowest = min(lowest, order) if possible else order
            possible = True
    comparable &= highest - lowest <= SPREAD
    if not comparable:
        return p, q, beta, delta, scale, False
    for v in range(n):
        total = b[v] + d[v]
        if total > 0:
            mantissa, order = math.frexp(total)
            scale[v] = math.sqrt(math.ldexp(mantissa, exponents[v] + order - highest))
            beta[v], delta[v] = scale[v] * (b[v] / total), scale[v] * (d[v] / total)
        else:
            beta[v] = delta[v] = 0.0
        p[v], q[v] = a[v] / scale[v], not_a[v] / scale[v]
    return p, q, beta, delta, scale, True


@njit(cache=True)
def largest(p: Array, q: Array, beta: Array, delta: Array) -> tuple[float, int, int, float]:
    """Return the largest loss and its edge: vertices i and j, the weight of j over that of i.

    One pass suffices. A pair that holds for E holds for every larger E, so each pair is tested
    once against the best loss so far, and its own loss replaces that if the test fails.
    """
    n = len(p)
    best, best_i, best_j, best_ratio = -math.inf, 0, 0, 0.0
    for i in range(n):
        loss = vertex_loss(p[i], q[i], beta[i], delta[i])
        if loss > best:
            best, best_i, best_j = loss, i, i
    rows = wide.rows_of(p, q, beta, delta, np.zeros(n, dtype=np.int64), True)
    roots = np.empty(n)
    bound = _roots(p, q, beta, delta, best, roots)
    for i in range(n):
        j = i + 1
        while j < n and best < LARGEST:
            j = _first_failure(p, q, beta, delta, bound, roots, i, j)
            if j < n:
                loss, ratio = wide.edge(rows, i, j, best)
                if loss > best:
                    best, best_i, best_j, best_ratio = loss, i, j, ratio
                    bound = _roots(p, q, beta, delta, best, roots)
                j += 1
    return wide.largest(rows) if LARGEST <= best < math.inf else (best, best_i, best_j, best_ratio)


@njit(cache=True)
def vertex_loss(p: float, q: float, beta: float, delta: float) -> float:
    """Return the loss of one belief, -inf where it holds no odds or the releases are impossible."""
    if p == 0 or q == 0 or beta == 0:
        return -math.inf
    return math.inf if delta == 0 else math.log(beta / delta) - math.log(p / q)


@njit(cache=True)
def _roots(p: Array, q: Array, beta: Array, delta: Array, loss: float, roots: Array) -> float:
    """Fill in √g for E = e^loss, each g rounded down so that no failing pair is overlooked."""
    bound = math.exp(min(loss, LARGEST))
    for i in range(len(p)):
        rise, fall = bound * p[i] * delta[i], q[i] * beta[i]
        roots[i] = math.sqrt(max(rise - fall - 4 * _UNIT * (rise + fall), 0.0))
    return bound


@njit(cache=True, fastmath={"contract", "nsz"})
def _first_failure(
    p: Array,
    q: Array,
    beta: Array,
    delta: Array,
    bound: float,
    roots: Array,
    i: int,
    start: int,
) -> int:
    """Return the first j ≥ start whose pair with i fails, or the number of vertices."""
    n = len(p)
    d_i, p_i, b_i, q_i, r_i = bound * delta[i], bound * p[i], beta[i], q[i], 2 * roots[i]
    slack = 1 + _SLACK
    for block in range(start, n, 64):
        stop = min(block + 64, n)
        failures = 0
        for j in range(block, stop):
            rise = d_i * p[j] + p_i * delta[j]
            failures += slack * rise - b_i * q[j] - q_i * beta[j] + r_i * roots[j] < 0
        if failures:
            for j in range(block, stop):
                rise = d_i * p[j] + p_i * delta[j]
                if slack * rise - b_i * q[j] - q_i * beta[j] + r_i * roots[j] < 0:
                    return j
    return n
