"""What a solver found, mended and rounded: it passes, or it is not used."""

import math

import numpy as np
import pytest

from priste import AnyPrior, Prior
from priste.calibration.bounds import Bound
from priste.calibration.finish import certified, repaired
from tests.calibration.test_search import PRIORS, first_step, on_map


@pytest.mark.parametrize("prior", PRIORS)
def test_a_repaired_remap_passes_and_is_the_same_where_it_passed(prior: Prior) -> None:
    place = on_map(prior)
    telling = np.array([[0.7, 0.3, 0, 0], [0.3, 0.7, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5]])
    says_nothing = np.full((4, 4), 0.25)
    assert repaired(place.bounds, says_nothing).tolist() == says_nothing.tolist()
    mended = repaired(place.bounds, telling)
    np.testing.assert_allclose(mended.sum(axis=1), 1, rtol=1e-12)
    assert place._all_pass(mended)
    assert not place._all_pass(telling)
    missing = np.array([place.bounds[0].missing(column) for column in telling.T])
    assert missing.max() > 0
    np.testing.assert_allclose(mended, (telling + missing) / (1 + missing.sum()), rtol=1e-12)
    place.bounds *= 2  # the same promise twice asks for no more
    np.testing.assert_array_equal(repaired(place.bounds, telling), mended)


def test_a_column_that_nothing_mends_gives_way_to_the_same_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Bound, "missing", lambda *_: np.inf)
    mended = repaired(on_map(AnyPrior()).bounds, np.eye(4))
    np.testing.assert_allclose(mended, np.eye(4)[[0] * 4], atol=1e-8)


def test_where_there_is_no_time_the_same_answer_serves() -> None:
    bounds = on_map(AnyPrior()).bounds
    late = repaired(bounds, np.eye(4), deadline=-math.inf)
    np.testing.assert_allclose(late, np.eye(4)[[0] * 4], atol=1e-8)
    assert repaired(bounds, np.full((4, 4), 0.25), deadline=-math.inf).tolist() == [[0.25] * 4] * 4


def test_columns_with_the_same_output_are_one() -> None:
    now = first_step(AnyPrior())
    halves = np.full((4, 2), 0.5)
    emission = certified(now, np.eye(4), halves, np.array([2, 2]), 4)
    assert emission.tolist() == np.eye(4)[[2] * 4].tolist()


def test_one_column_that_nothing_mends_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    place = on_map(AnyPrior())
    telling = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, 1.0]])
    needs = iter([np.inf, 0.1, 0.1])
    monkeypatch.setattr(Bound, "missing", lambda *_: next(needs))
    np.testing.assert_allclose(repaired(place.bounds, telling), np.eye(3)[[0] * 4], atol=1e-8)


def test_rows_are_scaled_to_one() -> None:
    uneven = np.array([[1.0, 1.0], [2.0, 2.0], [0.5, 0.5], [3.0, 3.0]])
    emission = certified(first_step(AnyPrior()), np.eye(4), uneven, np.array([0, 3]), 4)
    assert emission.tolist() == [[0.5, 0.0, 0.0, 0.5]] * 4
