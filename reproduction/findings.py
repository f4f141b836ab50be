"""What runs say about a statement: it holds, it fails, or chance could explain either.

A statement is about a quantity and a boundary. Its confidence interval lies on one side of the
boundary, or contains it and decides nothing.
"""

import math
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from scipy import stats

from priste.checks import Array

LEVEL = 0.95
"""Confidence of every interval that decides a claim."""


class Finding(IntEnum):
    """The three truth values, in the order of Kleene's logic."""

    FAILS = -1
    UNDECIDED = 0
    HOLDS = 1


class Estimate(NamedTuple):
    """A mean, and half the width of its interval."""

    mean: float
    half: float

    def __format__(self, spec: str) -> str:
        mean = format(self.mean, spec or "+.3f")
        return f"{mean} ± {self.half:{spec or '.3f'}}" if math.isfinite(self.half) else mean


def all_of(findings: Iterable[Finding]) -> Finding:
    """Return whether all statements hold: one that fails is enough to refute it."""
    return min(findings)


def any_of(findings: Iterable[Finding]) -> Finding:
    """Return whether some statement holds: all must fail to refute it."""
    return max(findings)


def interval(values: Array, comparisons: int = 1) -> Estimate:
    """Return the mean over runs with its interval (Student's).

    With several `comparisons`, all their intervals hold together at this level (Bonferroni). Equal
    values show no spread to judge chance by; a few of them, too few for a sign test, decide
    nothing.
    """
    doubt = (1 - LEVEL) / comparisons
    if np.allclose(values, values[0], rtol=1e-9, atol=1e-12) and 0.5 ** (len(values) - 1) > doubt:
        return Estimate(float(np.mean(values)), math.inf)
    return student(values, 1 - doubt)


def student(values: Array, level: float = LEVEL) -> Estimate:
    """Return a mean with its interval, for values with a spread."""
    n = len(values)
    if n < 2:
        return Estimate(float(np.mean(values)), math.inf)
    spread = values.std(ddof=1) / math.sqrt(n)
    quantile = stats.t.ppf((1 + level) / 2, n - 1)
    return Estimate(float(values.mean()), float(quantile * spread))


def difference(one: Array, other: Array, comparisons: int = 1) -> Estimate:
    """Return how much larger `one` is, run by run with the same seeds."""
    n = min(len(one), len(other))
    return interval(one[:n] - other[:n], comparisons)


def positive(estimate: Estimate) -> Finding:
    """Return whether a quantity is above zero."""
    if estimate.mean - estimate.half > 0:
        return Finding.HOLDS
    return Finding.FAILS if estimate.mean + estimate.half < 0 else Finding.UNDECIDED


def less(one: Array, other: Array, comparisons: int = 1) -> Finding:
    """Return whether `one` is smaller than `other`."""
    return positive(difference(other, one, comparisons))


def above(values: Array, boundary: float, comparisons: int = 1) -> Finding:
    """Return whether the mean over runs is above a boundary."""
    return positive(interval(values - boundary, comparisons))


def within(estimate: Estimate, boundary: float) -> Finding:
    """Return whether a quantity is at most so far from zero, up or down."""
    size = abs(estimate.mean)
    if size + estimate.half <= boundary:
        return Finding.HOLDS
    return Finding.FAILS if size - estimate.half > boundary else Finding.UNDECIDED


def mostly(hits: int, runs: int, comparisons: int = 1) -> Finding:
    """Return whether something happens in more than half of all runs (Clopper and Pearson)."""
    level = 1 - (1 - LEVEL) / comparisons
    low, high = stats.binomtest(hits, runs).proportion_ci(level)
    if low > 0.5:
        return Finding.HOLDS
    return Finding.FAILS if high < 0.5 else Finding.UNDECIDED


def coefficient(columns: Iterable[Array], values: Array) -> Estimate:
    """Return the last coefficient of a least-squares fit, with an intercept, and its interval."""
    design = np.column_stack([np.ones(len(values)), *columns])
    n, parameters = design.shape
    solution, _, rank, _ = np.linalg.lstsq(design, values)
    if n <= parameters or rank < parameters:
        return Estimate(float(solution[-1]), math.inf)
    residual = values - design @ solution
    variance = float(residual @ residual) / (n - parameters)
    spread = math.sqrt(variance * float(np.linalg.inv(design.T @ design)[-1, -1]))
    quantile = stats.t.ppf((1 + LEVEL) / 2, n - parameters)
    return Estimate(float(solution[-1]), float(quantile * spread))
