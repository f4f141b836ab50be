from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from priste import Grid, Mobility, MobilityError, at, prior_probability, privacy_loss

TWO = np.array([[0.9, 0.1], [0.2, 0.8]])
OTHER = np.array([[0.5, 0.5], [0.0, 1.0]])


def test_one_matrix_serves_every_step() -> None:
    mobility = Mobility(TWO)
    np.testing.assert_array_equal(mobility.transition(0), mobility.transition(999))
    np.testing.assert_array_equal(mobility.initial, [0.5, 0.5])


def test_a_matrix_per_step_ends_where_it_ends_or_starts_over() -> None:
    mobility = Mobility([TWO, OTHER])
    np.testing.assert_array_equal(mobility.transition(1), OTHER)
    with pytest.raises(
        MobilityError, match=r"has 2 transitions \(steps 0 to 1\), but step 2 was asked"
    ):
        mobility.transition(2)
    np.testing.assert_array_equal(Mobility([TWO, OTHER], repeat=True).transition(3), OTHER)


def test_a_function_of_the_step_is_checked_when_it_is_asked() -> None:
    mobility = Mobility(lambda t: OTHER if t % 24 < 6 else TWO)
    np.testing.assert_array_equal(mobility.transition(25), OTHER)
    np.testing.assert_array_equal(mobility.transition(8), TWO)
    broken = Mobility(lambda t: TWO if t < 3 else TWO[:, :1])
    with pytest.raises(MobilityError, match="step 3 must sum to 1: row 0 sums to 0.9"):
        broken.transition(3)


def test_sparse_and_dense_give_the_same_numbers() -> None:
    event = at(0, 3) | at(1, 5)
    for stack in (sparse.csr_array(TWO), [sparse.csr_array(TWO)] * 5):
        assert prior_probability(event, Mobility(stack), [0.3, 0.7]) == pytest.approx(
            prior_probability(event, Mobility(TWO), [0.3, 0.7]), rel=1e-15
        )


def test_the_callers_matrix_is_copied_and_ours_cannot_be_changed() -> None:
    mine = TWO.copy()
    mobility = Mobility(mine)
    mine[0] = [0.0, 1.0]
    np.testing.assert_array_equal(mobility.transition(0), TWO)
    with pytest.raises(ValueError, match="read-only"):
        mobility.transition(0)[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        Mobility(sparse.csr_array(TWO)).transition(0).data[0] = 1.0


def test_gaussian_mobility_falls_off_as_the_paper_says() -> None:
    grid = Grid(3, 3, cell_size=2.0)
    row = Mobility.gaussian(grid, sigma=1.5).transition(0)[4]
    expected = np.exp(-(grid.distances[4] ** 2) / (2 * 1.5**2))
    np.testing.assert_allclose(row, expected / expected.sum(), rtol=1e-14)


def test_samples_follow_the_model() -> None:
    mobility = Mobility([TWO, OTHER], initial=[0.25, 0.75])
    paths = np.array([mobility.sample(3, seed=seed) for seed in range(4000)])
    assert (paths[:, 0] == 0).mean() == pytest.approx(0.25, abs=0.03)
    at_zero = paths[paths[:, 1] == 0]
    assert (at_zero[:, 2] == 0).mean() == pytest.approx(0.5, abs=0.05)
    assert (paths[paths[:, 1] == 1][:, 2] == 1).all()
    np.testing.assert_array_equal(mobility.sample(3, seed=7), mobility.sample(3, seed=7))
    sparse_path = Mobility(sparse.csr_array(TWO)).sample(50, seed=1, initial=[0, 1])
    assert sparse_path[0] == 1


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        (
            [[0.5, 0.5], [0.5, 0.6]],
            "rows of the transition matrix must sum to 1: row 1 sums to 1.1",
        ),
        ([[0.5, 0.5], [0.0, 0.0]], "row 1 sums to 0.0; divide.*a row of zeros needs"),
        (
            [[np.nan, 0.5], [0.5, 0.5]],
            r"1 entries that are not finite; the first is nan at \(0, 0\)",
        ),
        ([[1.5, -0.5], [0.5, 0.5]], r"1 entries that are negative; the first is -0.5 at \(0, 1\)"),
        ([[0.5, 0.5]], r"must have shape \(1, 1\), got \(1, 2\)"),
        (sparse.csr_array([[0.5, 0.4], [0, 1]]), "row 0 sums to 0.9"),
        (sparse.csr_array([[1.5, -0.5], [0, 1]]), "stored entries .* negative"),
        ([TWO, np.eye(3)], "got list"),
        ([sparse.csr_array(TWO), sparse.eye_array(3)], r"step 1 must have shape \(2, 2\)"),
        ([1.0, 2.0], "2 or 3 dimensions"),
        ([], "2 or 3 dimensions"),
        (np.empty((0, 2, 2)), "has no matrices"),
        ("commute", "got str"),
    ],
)
def test_wrong_matrices_are_refused(transition: object, message: str) -> None:
    with pytest.raises(MobilityError, match=message):
        Mobility(transition)


def test_other_wrong_input_is_refused() -> None:
    with pytest.raises(MobilityError, match=r"one entry per cell \(2\), got 3"):
        Mobility(TWO, initial=[0.2, 0.3, 0.5])
    with pytest.raises(MobilityError, match="initial must sum to 1, its sum is 0.8"):
        Mobility(TWO, initial=[0.4, 0.4])
    with pytest.raises(MobilityError, match="step must be a whole number of at least 0, got -1"):
        Mobility(TWO).transition(-1)
    with pytest.raises(MobilityError, match="sigma must be a finite number above 0, got -1"):
        Mobility.gaussian(Grid(2, 2), sigma=-1)
    with pytest.raises(MobilityError, match="steps must be a whole number of at least 1, got 0"):
        Mobility(TWO).sample(0)
    with pytest.raises(MobilityError, match="must begin with the single cells"):
        Mobility(TWO, cell_of_state=[1, 0])
    with pytest.raises(MobilityError, match="one cell per state"):
        Mobility(TWO, cell_of_state=[0])


def test_a_mobility_says_what_it_is() -> None:
    assert repr(Mobility(TWO)) == "Mobility(2 cells, one matrix)"
    assert repr(Mobility([TWO, OTHER])) == "Mobility(2 cells, 2 matrices)"
    assert repr(Mobility(lambda _: TWO)) == "Mobility(2 cells, a function of the step)"


def test_rows_sum_to_one_to_the_last_digit_and_stay_as_they_are() -> None:
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.full(40, 0.1), 40) * (1 + random.uniform(-9e-10, 9e-10, (40, 1)))
    for given in (rows, sparse.csr_array(np.where(rows > 1e-12, rows, 0.0))):
        model = Mobility(given)
        matrix = model.transition(0)
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        for row in dense.tolist():
            missed = sum(map(Fraction, row), Fraction(-1))
            assert abs(missed) <= Fraction(1, 2**53)
        again = Mobility(matrix).transition(0)
        assert (again != matrix).sum() == 0


def test_what_rows_miss_of_one_does_not_pile_up_as_evidence() -> None:
    """Two thousand steps that reveal nothing leave everybody's odds where they were."""
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    rows *= 1 + np.array([[9e-10], [-9e-10]])
    losses = privacy_loss(at({0}, 1), Mobility(rows), [np.ones(2)] * 2000)
    assert losses[-1] < 1e-12
