"""Which versions of a mechanism are tried, one after the other."""

import sys

import numpy as np
import pytest

from priste import Exponential, Grid, Mechanism, ProtectionError
from priste.calibration.schedule import checked_schedule, weaker_and_weaker
from priste.checks import Array

GRID = Grid(1, 3)
LEAST = sys.float_info.min


def budgets(mechanism: Mechanism, decay: float, weakenings: int) -> list[float]:
    return [version.budget for version in weaker_and_weaker(mechanism, decay, weakenings)]


@pytest.mark.parametrize(("decay", "weakenings"), [(0.001, 0), (0.999, 1), (0.5, 11)])
def test_a_schedule_that_becomes_weaker_and_ends_is_accepted(decay: float, weakenings: int) -> None:
    checked_schedule(decay, weakenings)


@pytest.mark.parametrize(
    ("decay", "weakenings", "message"),
    [
        (1.0, 3, "decay must lie strictly between 0 and 1, got 1.0"),
        (1.5, 3, "decay must lie strictly between 0 and 1, got 1.5"),
        (0.0, 3, "decay must be a finite number above 0"),
        (0.5, -1, "weakenings must be a whole number of at least 0, got -1"),
    ],
)
def test_any_other_schedule_is_refused(decay: float, weakenings: int, message: str) -> None:
    with pytest.raises(ProtectionError, match=message):
        checked_schedule(decay, weakenings)


def test_each_version_has_the_decayed_budget_and_the_last_tells_nothing() -> None:
    noise = Exponential(GRID, 4.0)
    assert budgets(noise, 0.5, 3) == [4.0, 2.0, 1.0, 0.5, 0.0]
    assert budgets(noise, 0.25, 1) == [4.0, 1.0, 0.0]
    assert budgets(noise, 0.5, 0) == [4.0, 0.0]
    last = list(weaker_and_weaker(noise, 0.5, 2))[-1]
    np.testing.assert_array_equal(last.lottery(), last.lottery()[[0, 0, 0]])


def test_what_tells_nothing_is_not_weakened() -> None:
    assert budgets(Exponential(GRID, 4.0).uninformative(), 0.5, 5) == [0.0]


def test_budgets_go_down_to_the_least_number_and_no_further() -> None:
    assert budgets(Exponential(GRID, 4 * LEAST), 0.25, 5) == [4 * LEAST, LEAST, 0.0]
    assert budgets(Exponential(GRID, 3 * LEAST), 0.25, 5) == [3 * LEAST, 0.0]


class Chatty(Exponential):
    """Its version that should tell nothing is the given one."""

    nothing: Mechanism

    def uninformative(self) -> Mechanism:  # type: ignore[override]
        return self.nothing


SAME = np.full((3, 3), 1 / 3)
LAST_DIFFERS = np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.5, 0.125, 0.375]])


@pytest.mark.parametrize(
    ("matrix", "budget"), [(SAME, 0.5), (LAST_DIFFERS, 0.0), (LAST_DIFFERS[::-1], 0.0)]
)
def test_a_last_resort_that_tells_something_is_refused(matrix: Array, budget: float) -> None:
    noise = Chatty(GRID, 4.0)
    object.__setattr__(noise, "nothing", _Given(matrix, budget))
    with pytest.raises(ProtectionError, match="uninformative version of Chatty must have budget 0"):
        list(weaker_and_weaker(noise, 0.5, 1))


class _Given(Mechanism):
    """A matrix with a budget that may be 0."""

    def __init__(self, matrix: Array, budget: float) -> None:
        self.matrix, self.budget = matrix, budget

    def emission(self) -> Array:
        return self.matrix
