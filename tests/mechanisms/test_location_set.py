import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste import EmissionMatrix, Exponential, Grid, LocationSet, MechanismError, PlanarLaplace
from priste.mechanisms.location_set import location_set
from tests.strategies import generators, random_stochastic

GRID = Grid(3, 4)
UNIFORM = np.full(12, 1 / 12)


@given(generators(), st.integers(1, 30), st.floats(0, 0.99))
def test_the_set_holds_enough_and_no_smaller_one_does(
    random: np.random.Generator, n: int, delta: float
) -> None:
    belief = random_stochastic(random, (n,), zeros=0.3)
    members = location_set(belief, delta)
    assert belief[members].sum() >= 1 - delta - 1e-11
    assert (belief[members] > 0).all()
    if delta > 0 and len(members) > 1:
        assert np.sort(belief)[::-1][: len(members) - 1].sum() < 1 - delta


def test_delta_zero_keeps_everything_possible_however_unlikely() -> None:
    assert location_set([0.5, 0.0, 0.5 - 1e-15, 1e-15], 0.0).tolist() == [0, 2, 3]


def test_rounding_does_not_enlarge_the_set() -> None:
    assert len(location_set(np.full(10, 0.1), 0.2)) == 8


def test_outputs_stay_in_the_set_and_outsiders_use_their_nearest_member() -> None:
    belief = np.zeros(12)
    belief[[0, 1, 6]] = [0.5, 0.3, 0.2]
    mechanism = LocationSet(PlanarLaplace(GRID, 1.0), 0.1, belief)
    emission = mechanism.emission()
    assert np.flatnonzero(emission.any(axis=0)).tolist() == [0, 1, 6]
    np.testing.assert_allclose(emission.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(emission[11], emission[6])
    np.testing.assert_array_equal(emission[4], emission[0])


def test_outputs_are_snapped_so_location_privacy_is_post_processed() -> None:
    base = Exponential(GRID, 0.7)
    belief = np.zeros(12)
    belief[[0, 11]] = 0.5
    emission = LocationSet(base, 0.0, belief).emission()
    near_first = GRID.distances[0] <= GRID.distances[11]
    expected = base.emission()[0][near_first].sum()
    assert emission[0, 0] == pytest.approx(expected, rel=1e-14)


def test_it_follows_the_belief_and_weakens_on_the_same_set() -> None:
    mechanism = LocationSet(PlanarLaplace(GRID, 1.0), 0.3, UNIFORM)
    belief = np.zeros(12)
    belief[[2, 3]] = 0.5
    now = mechanism.for_belief(belief)
    weaker = now.weaker(0.5)
    assert weaker.budget == 0.5
    assert np.flatnonzero(weaker.emission().any(axis=0)).tolist() == [2, 3]
    nothing = now.uninformative().emission()
    np.testing.assert_array_equal(nothing[:, [2, 3]], np.full((12, 2), 0.5))
    assert nothing.sum() == 12


def test_a_matrix_needs_distances() -> None:
    matrix = EmissionMatrix(np.eye(12))
    with pytest.raises(
        MechanismError, match="does not know how far cells are apart; give distances="
    ):
        LocationSet(matrix, 0.1, UNIFORM)
    assert LocationSet(matrix, 0.5, UNIFORM, GRID.distances).emission().shape == (12, 12)


@pytest.mark.parametrize(
    ("delta", "prior", "message"),
    [
        (1.0, UNIFORM, r"delta must lie in \[0, 1\), got 1.0"),
        (-0.1, UNIFORM, r"delta must lie in \[0, 1\), got -0.1"),
        (0.1, UNIFORM[:3], r"prior must have one entry per cell \(12\), got 3"),
        (0.1, UNIFORM * 2, "prior must sum to 1, its sum is 2"),
    ],
)
def test_wrong_parameters_are_refused(delta: float, prior: np.ndarray, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        LocationSet(PlanarLaplace(GRID, 1.0), delta, prior)


def test_other_mismatches_are_refused() -> None:
    with pytest.raises(MechanismError, match="12 cells, but 2 outputs"):
        LocationSet(EmissionMatrix(np.full((12, 2), 0.5)), 0.1, UNIFORM, GRID.distances)
    with pytest.raises(MechanismError, match=r"distances must have shape \(12, 12\), got \(2, 2\)"):
        LocationSet(EmissionMatrix(np.eye(12)), 0.1, UNIFORM, np.ones((2, 2)))
