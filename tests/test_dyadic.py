import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from priste import Exponential, Grid, LocationSet, Mechanism, PlanarLaplace
from priste.dyadic import TICKETS, dyadic, tickets_of, winner
from tests.strategies import generators, random_stochastic

GRID = Grid(4, 5)
MECHANISMS: list[Mechanism] = [
    PlanarLaplace(GRID, 0.7),
    PlanarLaplace(GRID, 30.0),  # most entries far below 2^-53
    Exponential(GRID, 9.0),
    LocationSet(PlanarLaplace(GRID, 1.0), 0.3, np.full(20, 0.05)),
]


@given(generators(), st.integers(1, 8), st.integers(1, 50), st.floats(0, 40))
def test_rows_sum_exactly_and_lose_no_possible_entry(
    random: np.random.Generator, rows: int, columns: int, orders: float
) -> None:
    weights = random_stochastic(random, (rows, columns), zeros=0.3)
    weights = weights * 10.0 ** -random.uniform(0, orders, weights.shape)
    matrix = weights / weights.sum(axis=1, keepdims=True)
    rounded = dyadic(matrix)
    assert (rounded.sum(axis=1) == 1.0).all()
    np.testing.assert_array_equal(rounded > 0, matrix > 0)
    np.testing.assert_allclose(rounded, matrix, rtol=0, atol=2.0**-52 * columns)
    for row in rounded:
        assert tickets_of(row).sum() == TICKETS


def test_rounding_keeps_53_bits_and_gives_the_faintest_one_ticket() -> None:
    ticket = 2.0**-53
    kept = np.array([[3 * ticket, 0.25 + ticket, 0.75 - 4 * ticket]])
    np.testing.assert_array_equal(dyadic(kept), kept)
    faint = dyadic(np.array([[1e-30, 1.0, 0.0]]))
    assert faint.tolist() == [[ticket, 1 - ticket, 0.0]]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_the_sampler_s_integers_are_the_certified_matrix(mechanism: Mechanism) -> None:
    certified = mechanism.lottery()
    assert certified is mechanism.lottery()
    for row in certified:
        tickets = tickets_of(row)
        assert [t / TICKETS for t in tickets.tolist()] == row.tolist()
        first = np.cumsum(tickets) - tickets  # an entry holds the tickets from here ...
        held = np.flatnonzero(tickets)
        np.testing.assert_array_equal(winner(row, first[held]), held)
        np.testing.assert_array_equal(winner(row, (first + tickets - 1)[held]), held)  # ... to here


def test_equal_rows_stay_equal_so_that_nothing_is_told() -> None:
    uniform = PlanarLaplace(Grid(3, 7), 1.0).uninformative().lottery()
    assert (uniform == uniform[0]).all()


@pytest.mark.parametrize("true_cell", [0, 7, 19])
def test_draws_have_the_certified_frequencies(true_cell: int) -> None:
    row = PlanarLaplace(GRID, 0.7).lottery()[true_cell]
    draws = 6_000_000
    tickets = np.random.default_rng(true_cell).integers(TICKETS, size=draws)
    counts = np.bincount(winner(row, tickets), minlength=len(row))
    assert stats.chisquare(counts, draws * row).pvalue > 1e-4
    # the same test would notice one part in a thousand
    wrong = row.copy()
    wrong[np.argsort(row)[-2:]] += [1e-3, -1e-3]
    assert stats.chisquare(counts, draws * wrong).pvalue < 1e-6


def test_what_is_not_dyadic_is_not_drawn_from() -> None:
    for row in ([0.1, 0.9], [0.5, 0.25], [0.5, 0.5 - 2.0**-54, 2.0**-54]):
        with pytest.raises(ValueError, match="multiples of 2"):
            tickets_of(np.array(row))
