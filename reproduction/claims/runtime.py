"""Section V-D: how long it takes."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from priste.checks import Array
from reproduction.claims.registry import Claims, figures
from reproduction.findings import (
    Estimate,
    Finding,
    all_of,
    any_of,
    coefficient,
    difference,
    less,
    positive,
)
from reproduction.verdicts import Missing, Results, Verdict, verdict_on

CLAIMS = Claims()

_OVERHEAD = 5  # times the shortest time: from there on a call itself does not matter
_LINEAR = 1.2  # an exponent that is one but for what a measurement adds
_CUBIC = 3.0


class _Times(NamedTuple):
    """Seconds by size, and the laws they follow."""

    sizes: Array
    seconds: Array

    def rate(self) -> Estimate:
        """Return the growth of the logarithm with each unit of size."""
        return coefficient([self.sizes], np.log(self.seconds))

    def exponent(self) -> Estimate:
        """Return the power of the size that the seconds follow."""
        return coefficient([np.log(self.sizes)], np.log(self.seconds))

    def slope(self) -> Estimate:
        """Return the seconds that a unit of size adds."""
        return coefficient([self.sizes], self.seconds)

    def bend(self) -> Estimate:
        """Return a number above zero for exponential growth, below zero for a power.

        The logarithm of the seconds bends up against the root of the size, which is midway
        between the size (exponential: a straight line) and its logarithm (a power).
        """
        root = np.sqrt(self.sizes)
        return coefficient([root, self.sizes], np.log(self.seconds))


def _at_most(estimate: Estimate, boundary: float) -> Finding:
    return positive(Estimate(boundary - estimate.mean, estimate.half))


def _times(results: Results, kind: str, who: str, *, beyond: float = 0.0) -> _Times:
    """Return times of at least `beyond` times the shortest."""
    points = [p for p in results.measured("runtime")["points"][kind] if p[who] is not None]
    shortest = min((p[who] for p in points), default=0.0)
    points = [p for p in points if p[who] >= beyond * shortest]
    if len(points) < 3:
        raise Missing("fewer than three points were measured")
    return _Times(*(np.array([p[name] for p in points], dtype=float) for name in (kind, who)))


@CLAIMS.stated("V-D, event length")
def naive_length(results: Results) -> Verdict:
    """Adding up trajectories takes time exponential in the event's length."""
    times = _times(results, "length", "naive")
    rate, bend = times.rate(), times.bend()
    numbers = (
        f"× {math.exp(rate.mean):.2f} per step (5 cells wide); bend {bend} (above 0: exponential, "
        f"below: a power), {len(times.sizes)} lengths"
    )
    return verdict_on(all_of([positive(bend), positive(rate)]), numbers)


@CLAIMS.stated("V-D, event length")
def ours_length(results: Results) -> Verdict:
    """Two worlds take time linear in the event's length."""
    times = _times(results, "length", "ours")
    slope, exponent = times.slope(), times.exponent()
    numbers = (
        f"{1000 * slope.mean:.2g} ± {1000 * slope.half:.2g} ms per step, exponent {exponent:.2f}, "
        f"{len(times.sizes)} lengths"
    )
    return verdict_on(all_of([positive(slope), _at_most(exponent, _LINEAR)]), numbers)


@CLAIMS.stated("V-D, event width")
def naive_width(results: Results) -> Verdict:
    """Adding up trajectories takes time exponential in the event's width."""
    times = _times(results, "width", "naive", beyond=_OVERHEAD)
    bend = times.bend()
    numbers = (
        f"as a power of the width {times.exponent():.2f} for events of 5 steps; bend {bend} (above "
        f"0: exponential, below: a power), {len(times.sizes)} widths. There are width to the power "
        f"of length trajectories: exponential in the length, not in the width"
    )
    return verdict_on(positive(bend), numbers)


@CLAIMS.stated("V-D, event width")
def ours_width(results: Results) -> Verdict:
    """Two worlds take time polynomial in the event's width."""
    times = _times(results, "width", "ours")
    exponent = times.exponent()
    numbers = (
        f"exponent {exponent:.2f} over {len(times.sizes)} widths: the width hardly matters, the "
        f"map does"
    )
    return verdict_on(_at_most(exponent, _CUBIC), numbers)


@CLAIMS.stated("V-D, event width, the complexity")
def ours_cells(results: Results) -> Verdict:
    """And that is in line with O(m³) for a map of m cells."""
    times = _times(results, "cells", "ours")
    exponent = times.exponent()
    numbers = f"exponent {exponent:.2f} over {len(times.sizes)} maps"
    return verdict_on(_at_most(exponent, _CUBIC), numbers)


@CLAIMS.stated("I, contributions (not part of the evaluation)")
def ours_predicates(results: Results) -> Verdict:
    """Two worlds take time linear in the number of an event's predicates."""
    exponents = [_times(results, kind, "ours").exponent() for kind in ("length", "width")]
    numbers = f"exponents {exponents[0]:.2f} in length, {exponents[1]:.2f} in width"
    return verdict_on(all_of(_at_most(e, _LINEAR) for e in exponents), numbers)


@CLAIMS.stated("IV-C, complexity (not part of the evaluation)")
def parameters(results: Results) -> Verdict:
    """The vectors a, b and c of T steps on a map of m cells take O(mT) time."""
    times = _times(results, "cells", "ours")
    exponent = times.exponent()
    numbers = (
        f"exponent {exponent:.2f} in m over {len(times.sizes)} maps: each step multiplies by a "
        f"full matrix"
    )
    return verdict_on(_at_most(exponent, _LINEAR), numbers)


class _Trend(NamedTuple):
    """How a measure goes with the threshold, from the shortest to the longest.

    The `finding` is that it goes the claimed way from the first to the last and nowhere back;
    `always` says that it does so from each to the next. From `settled` on no change is seen, if
    that is before the longest.
    """

    finding: Finding
    always: bool
    settled: float
    words: str


def _trend(results: Results, name: str, *, falls: bool = False, as_ratios: bool = False) -> _Trend:
    by_threshold = {row["threshold"]: row for row in results.measured("thresholds")["rows"]}
    if None not in by_threshold:
        raise Missing("the solver's table is not complete")
    exact = by_threshold.pop(None)
    rows = list(by_threshold.values())
    sign = -1 if falls else 1
    runs = [np.array(row[name], dtype=float) for row in rows]
    runs = [sign * (np.log(values) if as_ratios else values) for values in runs]
    n = len(runs) - 1
    rises = [less(one, later, n) for one, later in pairwise(runs)]
    finding = less(runs[0], runs[-1])
    if Finding.FAILS in rises:
        finding = Finding.FAILS
    changing = [
        any_of(less(one, later, n) for later in runs[k:]) is Finding.HOLDS
        for k, one in enumerate(runs)
    ]
    change = difference(np.array(rows[-1][name]), np.array(rows[0][name]))
    words = figures(*(float(np.mean(row[name])) for row in rows))
    return _Trend(
        finding,
        all_of(rises) is Finding.HOLDS,
        math.inf if all(changing[:-1]) else rows[changing.index(False)]["threshold"],
        f"{words} (from first to last {change}); with the exact test "
        f"{float(np.mean(exact[name])):.3g}",
    )


def _settled(trend: _Trend) -> str:
    if trend.settled == math.inf:
        return "but not from each to the next beyond chance"
    return f"up to {trend.settled:g} s; beyond that no change is seen"


def _verdict(trend: _Trend, what: str) -> Verdict:
    return verdict_on(trend.finding, f"{what}: {trend.words}", _settled(trend), always=trend.always)


@CLAIMS.stated("V-D, table")
def fewer_undecided(results: Results) -> Verdict:
    """The longer the threshold, the fewer conservative releases."""
    trend = _trend(results, "undecided", falls=True)
    return _verdict(trend, "steps of a run with an undecided check")


@CLAIMS.stated("V-D, table")
def longer_runs(results: Results) -> Verdict:
    """The longer the threshold, the longer the run."""
    return _verdict(_trend(results, "seconds", as_ratios=True), "seconds a run")


@CLAIMS.stated("V-D, table")
def larger_budgets(results: Results) -> Verdict:
    """The longer the threshold, the larger the budgets."""
    return _verdict(_trend(results, "budget"), "mean budget")


@CLAIMS.stated("V-D, table, its last column and the last sentence")
def smaller_distances(results: Results) -> Verdict:
    """And the better the utility: distances fall."""
    return _verdict(_trend(results, "error", falls=True), "mean distance")
