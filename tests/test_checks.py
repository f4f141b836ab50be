import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from priste.checks import Array, stochastic
from priste.errors import MobilityError

weights = st.lists(st.floats(0, 1e3, width=32), min_size=1, max_size=40).filter(
    lambda row: sum(row) > 1e-3
)


def rows(given: list[float]) -> Array:
    return np.array([given]) / sum(given)


@given(weights)
def test_rows_sum_to_one_to_the_last_digit_of_their_largest_entry(given: list[float]) -> None:
    (row,) = stochastic(rows(given), "rows", MobilityError)
    assert abs(math.fsum([*row, -1.0])) <= 1.02 * np.spacing(row.max())
    np.testing.assert_allclose(row, rows(given)[0], rtol=1e-14)


@given(weights)
def test_who_is_normalised_stays_the_same(given: list[float]) -> None:
    once = stochastic(rows(given), "rows", MobilityError)
    np.testing.assert_array_equal(stochastic(once, "rows", MobilityError), once)
