"""The beliefs that a column breaks most, beside all pairs of vertices one by one."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from priste.calibration.bounds import Bound
from priste.calibration.deepest_beliefs import Glance, _level
from priste.calibration.odds_lines import Side, log_odds, pairs_of, sides_of
from priste.checks import Array
from tests.calibration.test_odds_lines import random_bound, random_column

SINGLE = 1e-5  # what is lost to single precision, relative


def deepest_of_all_pairs(side: Side, column: Array, one: float, sigma: float) -> float:
    """How deep beliefs in two vertices that start with the same odds cut a column, relative."""
    above, below = one * (side.true @ column), sigma * side.factor * (side.false @ column)
    lean = sigma * side.not_a - one * side.a
    lean[np.abs(lean) <= 1e-12 * (sigma * side.not_a + one * side.a)] = 0.0  # has these odds itself
    found = -1.0
    for i in range(len(lean)):
        for j in range(len(lean)):
            is_even = i == j and lean[i] == 0
            if is_even or lean[i] < 0 < lean[j]:
                u, w = (1.0, 0.0) if is_even else (lean[j], -lean[i])
                excess = u * (above[i] - below[i]) + w * (above[j] - below[j])
                size = u * (above[i] + below[i]) + w * (above[j] + below[j])
                found = max(found, excess / size)
    return found


def depth_of(side: Side, column: Array, i: int, j: int, u: float, w: float) -> float:
    """How deep a belief cuts a column, at the odds that it starts with itself."""
    a, not_a, b, d = (
        u * part[i] + w * part[j]
        for part in (side.a, side.not_a, side.true @ column, side.factor * (side.false @ column))
    )
    return float((not_a * b - a * d) / (not_a * b + a * d))


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_the_worst_of_all_pairs_is_found_at_every_odds(seed: int) -> None:
    bound = random_bound(seed, both=False)
    column, sides = random_column(seed, bound.true.shape[1]), sides_of(bound)
    assume(sides)
    (side,) = sides
    glance, here = Glance.of(side), column[None]
    logs = log_odds(side.a, side.not_a)
    assume(len(logs))
    for each in pairs_of(np.linspace(logs.min(), logs.max(), 9)):
        least = deepest_of_all_pairs(side, column, *each)
        (none, *_) = glance.deepest(here, each[None], least + SINGLE, 1)
        assert len(none) == 0
        if least > -1 + SINGLE:
            _, (i,), (j,), (u,), (w,) = glance.deepest(here, each[None], least - SINGLE, 1)
            a, not_a = u * side.a[i] + w * side.a[j], u * side.not_a[i] + w * side.not_a[j]
            assert a * each[0] == pytest.approx(not_a * each[1], rel=SINGLE, abs=1e-12)
            assert depth_of(side, column, i, j, u, w) == pytest.approx(least, abs=3 * SINGLE)


@pytest.mark.parametrize("unit", [1e-300, 1e-60, 1.0, 1e60])
def test_units_do_not_matter(unit: float) -> None:
    """Releases become ever less likely in a stream: single precision would end at 1e-38."""
    bound = random_bound(7, both=False)
    (side,), (small,) = (
        sides_of(Bound(bound.a, bound.not_a, by * bound.true, by * bound.false, 1.1, both=False))
        for by in (1.0, unit)
    )
    here = random_column(7, bound.true.shape[1])[None]
    odds = pairs_of(log_odds(side.a, side.not_a))
    expected, found = (Glance.of(each).deepest(here, odds, -0.99, 3) for each in (side, small))
    assert len(expected[0]) > 0
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4)


def test_a_column_of_those_who_cannot_be_there_breaks_nothing() -> None:
    a = np.array([0.2, 0.5])
    joint = np.array([[0.0, 1.0], [0.0, 1.0]])
    (side,) = sides_of(Bound(a, 1 - a, a[:, None] * joint, (1 - a)[:, None] * joint, 1.1, False))
    odds = pairs_of(log_odds(side.a, side.not_a))
    columns, *_ = Glance.of(side).deepest(np.array([[1.0, 0.0]]), odds, -0.99, 3)
    assert len(columns) == 0


def test_each_hill_gives_one_cut() -> None:
    depth = np.array([0.1, 0.3, 0.2, 0.2, 0.5, 0.4, 0.1])
    _level(depth, 4)
    assert depth.tolist() == [0.1, 0.3, *[-math.inf] * 5]
    _level(depth, 1)
    assert (depth == -math.inf).all()
