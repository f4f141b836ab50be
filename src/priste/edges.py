"""Compiled loops over the edges between beliefs, for `priste.worst_case`.

Everything is in the scaled form explained there: rows (p, q, beta, delta) and the condition

    E (δ_i p_j + p_i δ_j) − (β_i q_j + q_i β_j) + 2 √g_i √g_j ≥ 0,    g_i = E p_i δ_i − q_i β_i ≥ 0.
"""

import math

import numpy as np
from numba import njit

from priste.checks import Array

_UNIT = 2.0**-52
_SLACK = 1e-14  # a pair worse than the best by less than this (relative) is not worth a look


@njit(cache=True, fastmath={"contract", "nsz"})
def hold(p: Array, q: Array, beta: Array, delta: Array, bound: float) -> bool:
    """Tell whether the condition holds with E = `bound` for every vertex and every pair."""
    n = len(p)
    roots = np.empty(n)
    for i in range(n):
        g = bound * p[i] * delta[i] - q[i] * beta[i]
        if g < 0:
            return False
        roots[i] = math.sqrt(g)
    for i in range(n):
        negative = 0
        d_i, p_i, b_i, q_i, r_i = bound * delta[i], bound * p[i], beta[i], q[i], 2 * roots[i]
        for j in range(i + 1, n):
            form = d_i * p[j] + p_i * delta[j] - b_i * q[j] - q_i * beta[j] + r_i * roots[j]
            negative += form < 0
        if negative:
            return False
    return True


@njit(cache=True)
def largest(p: Array, q: Array, beta: Array, delta: Array) -> tuple[float, int, int, float]:
    """Return the largest loss and its edge: vertices i and j, the weight of j over that of i.

    One pass suffices. A pair that holds for E holds for every larger E, so each pair is tested
    once against the best loss so far, and its own exact loss replaces that if the test fails.
    """
    n = len(p)
    best, best_i, best_j, best_ratio = -math.inf, 0, 0, 0.0
    for i in range(n):
        loss, _ = edge_loss(p, q, beta, delta, i, i)
        if loss > best:
            best, best_i, best_j = loss, i, i
    roots = np.empty(n)
    bound = _roots(p, q, beta, delta, best, roots)
    for i in range(n):
        j = i + 1
        while j < n and best < 700.0:
            j = _first_failure(p, q, beta, delta, bound, roots, i, j)
            if j < n:
                loss, ratio = edge_loss(p, q, beta, delta, i, j)
                if loss > best:
                    best, best_i, best_j, best_ratio = loss, i, j, ratio
                    bound = _roots(p, q, beta, delta, best, roots)
                j += 1
    if best >= 700.0 and best < math.inf:  # e^best would overflow: compare the losses themselves
        for i in range(n):
            for j in range(i + 1, n):
                loss, ratio = edge_loss(p, q, beta, delta, i, j)
                if loss > best:
                    best, best_i, best_j, best_ratio = loss, i, j, ratio
    return best, best_i, best_j, best_ratio


@njit(cache=True)
def _roots(p: Array, q: Array, beta: Array, delta: Array, loss: float, roots: Array) -> float:
    """Fill in √g for E = e^loss, each g rounded down so that no failing pair is overlooked."""
    bound = math.exp(min(loss, 700.0))
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


@njit(cache=True)
def edge_loss(p: Array, q: Array, beta: Array, delta: Array, i: int, j: int) -> tuple[float, float]:
    """Return the largest loss on the edge from i to j, and the weight of j over that of i there.

    With weights 1 and w the loss is stationary where κ·A·Ā = τ·B·D, a quadratic in w. Its ends
    are limits: as w goes to 0, each of A, Ā, B, D goes to its entry in row i or, if that is 0,
    goes to 0 like w times its entry in row j.
    """
    best, at = _limit(p, q, beta, delta, i, j), 0.0
    if i == j:
        return best, at
    other = _limit(p, q, beta, delta, j, i)
    if other > best:
        best, at = other, math.inf
    kappa = beta[j] * delta[i] - beta[i] * delta[j]
    tau = p[j] * q[i] - p[i] * q[j]
    square = kappa * p[j] * q[j] - tau * beta[j] * delta[j]
    linear = kappa * (p[i] * q[j] + p[j] * q[i]) - tau * (beta[i] * delta[j] + beta[j] * delta[i])
    constant = kappa * p[i] * q[i] - tau * beta[i] * delta[i]
    inside = linear * linear - 4 * square * constant
    if inside >= 0:
        half = -0.5 * (linear + math.copysign(math.sqrt(inside), linear))
        for k in range(2):
            top, bottom = (half, square) if k == 0 else (constant, half)
            if bottom != 0 and 0 < top / bottom < math.inf:
                w = top / bottom
                happened = (beta[i] + w * beta[j]) / (p[i] + w * p[j])
                failed = (delta[i] + w * delta[j]) / (q[i] + w * q[j])
                if happened > 0 and failed > 0:
                    loss = math.log(happened) - math.log(failed)
                    if loss > best:
                        best, at = loss, w
    return best, at


@njit(cache=True)
def _limit(p: Array, q: Array, beta: Array, delta: Array, i: int, j: int) -> float:
    """Return the loss in the limit of all weight on row i and a vanishing weight on row j."""
    b, b_order = (beta[i], 0) if beta[i] > 0 else (beta[j], 1)
    a, a_order = (p[i], 0) if p[i] > 0 else (p[j], 1)
    d, d_order = (delta[i], 0) if delta[i] > 0 else (delta[j], 1)
    not_a, not_a_order = (q[i], 0) if q[i] > 0 else (q[j], 1)
    if i == j and (a_order or not_a_order):
        return -math.inf  # the event is certain or impossible here: no odds to change
    if a == 0 or not_a == 0 or (b == 0 and d == 0):
        return -math.inf
    if d == 0:
        return math.inf
    if b == 0:
        return -math.inf
    order = b_order - a_order - d_order + not_a_order
    if order == 0 or i == j:
        return math.log(b / a) - math.log(d / not_a)
    return math.inf if order < 0 else -math.inf
