import warnings
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from priste import Grid, Mobility, MobilityError, UnobservedRowsWarning, at, prior_probability
from priste.checks import Array, Matrix
from tests.strategies import generators


def dense(matrix: Matrix) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def test_without_smoothing_rows_are_observed_frequencies() -> None:
    mobility = Mobility.fit([[0, 1, 0, 0, 1, 2, 0]], n_cells=3, smoothing=0)
    expected = np.array([[1 / 3, 2 / 3, 0], [1 / 2, 0, 1 / 2], [1, 0, 0]])
    np.testing.assert_allclose(dense(mobility.transition(0)), expected, rtol=1e-15)
    np.testing.assert_allclose(mobility.initial, [4 / 7, 2 / 7, 1 / 7], rtol=1e-15)


def test_smoothing_counts_like_observed_moves_towards_the_base() -> None:
    uniform = Mobility.fit([[0, 1, 0, 1]], n_cells=2, smoothing=2.0)
    np.testing.assert_allclose(dense(uniform.transition(0)), [[1 / 4, 3 / 4], [2 / 3, 1 / 3]])
    base = Mobility([[1.0, 0.0], [0.5, 0.5]])
    towards = Mobility.fit([[0, 1, 0, 1]], n_cells=2, smoothing=2.0, base=base)
    np.testing.assert_allclose(dense(towards.transition(0)), [[2 / 4, 2 / 4], [2 / 3, 1 / 3]])


@pytest.mark.parametrize("smoothing", [0, 1.0])
def test_rows_never_observed_are_reported_and_never_zero(smoothing: float) -> None:
    with pytest.warns(UnobservedRowsWarning, match=r"2 of 4 cells were never left.*\(cells 2, 3\)"):
        mobility = Mobility.fit([[0, 1, 0, 2]], n_cells=4, smoothing=smoothing)
    assert mobility.unobserved == (2, 3)
    np.testing.assert_allclose(dense(mobility.transition(0))[2:], 0.25)


@settings(max_examples=40)
@given(generators(), st.integers(2, 4), st.integers(1, 3), st.sampled_from([0.0, 0.7]))
def test_a_history_predicts_as_counted_and_backs_off_to_the_longest_seen(
    random: np.random.Generator, n_cells: int, order: int, smoothing: float
) -> None:
    sequences = [random.integers(n_cells, size=random.integers(2, 30)).tolist() for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnobservedRowsWarning)
        mobility = Mobility.fit(sequences, n_cells, order=order, smoothing=smoothing)
    counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for sequence in sequences:
        for i in range(len(sequence) - 1):
            for length in range(1, min(order, i + 1) + 1):
                counts[tuple(sequence[i - length + 1 : i + 1])][sequence[i + 1]] += 1

    def expected(history: tuple[int, ...]) -> Array:
        """The next cell's distribution: what was counted, mixed with the shorter history's."""
        while len(history) > 1 and history not in counts:
            history = history[1:]
        belief = expected(history[1:]) if len(history) > 1 else np.full(n_cells, 1 / n_cells)
        counted = np.array([counts[history][c] for c in range(n_cells)], dtype=float)
        weight = smoothing if counted.any() or smoothing else 1.0
        return np.asarray((counted + weight * belief) / (counted.sum() + weight))

    matrix = dense(mobility.transition(0))
    for path in random.integers(n_cells, size=(10, 6)):
        state = np.zeros(mobility.n_states)
        state[path[0]] = 1.0  # a start without a past
        for t in range(1, len(path)):
            state = state @ matrix
            found = np.bincount(mobility.cell_of_state, weights=state, minlength=n_cells)
            history = tuple(path[max(0, t - order) : t].tolist())
            np.testing.assert_allclose(found, expected(history), rtol=1e-12, atol=0)
            if not found[path[t]]:
                break
            state = np.where(mobility.cell_of_state == path[t], state, 0) / found[path[t]]


def test_order_two_keeps_only_histories_seen_and_events_still_speak_of_cells() -> None:
    # there and back: the next cell depends on where one came from
    mobility = Mobility.fit([[0, 1, 2, 1] * 50], n_cells=3, order=2, smoothing=0)
    assert mobility.n_cells == 3
    assert mobility.n_states == 3 + 4
    assert prior_probability(at(2, 2), mobility, [1, 0, 0]) == 1.0
    assert prior_probability(at(0, 2), mobility, [0, 0, 1]) == 1.0
    first_order = Mobility.fit([[0, 1, 2, 1] * 50], n_cells=3, smoothing=0)
    assert prior_probability(at(2, 2), first_order, [1, 0, 0]) == pytest.approx(0.5, abs=0.01)
    assert set(mobility.sample(40, seed=0, initial=[1, 0, 0]).tolist()) == {0, 1, 2}


def test_time_of_day_gives_each_phase_its_own_matrix() -> None:
    # stays at even steps, moves at odd ones
    mobility = Mobility.fit([[0, 0, 1, 1, 0, 0, 1, 1, 0]], n_cells=2, smoothing=0, period=2)
    np.testing.assert_array_equal(dense(mobility.transition(0)), np.eye(2))
    np.testing.assert_array_equal(dense(mobility.transition(3)), np.eye(2)[::-1])
    shifted = Mobility.fit(
        [[0, 0, 1, 1, 0, 0, 1, 1, 0]], n_cells=2, smoothing=0, period=2, starts=[1]
    )
    np.testing.assert_array_equal(dense(shifted.transition(1)), np.eye(2))
    np.testing.assert_allclose(mobility.initial, [3 / 5, 2 / 5])


def test_a_phase_without_data_is_that_of_all_phases() -> None:
    with pytest.warns(
        UnobservedRowsWarning, match="^4 of 6 rows, one per cell and phase, were never"
    ):
        mobility = Mobility.fit([[0, 1, 0]], n_cells=2, smoothing=0, period=3)
    np.testing.assert_array_equal(dense(mobility.transition(2)), np.eye(2)[::-1])


def test_a_fit_recovers_the_mobility_it_was_sampled_from() -> None:
    grid = Grid(3, 3)
    truth = Mobility.gaussian(grid, sigma=1.0)
    fitted = Mobility.fit([truth.sample(60_000, seed=1)], grid.n_cells, smoothing=1.0)
    np.testing.assert_allclose(fitted.transition(0), truth.transition(0), atol=0.025)


def test_large_sparse_fits_stay_sparse() -> None:
    path = np.arange(2_000) % 1_000
    mobility = Mobility.fit([path], n_cells=1_000, smoothing=0)
    assert sparse.issparse(mobility.transition(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sequences": []}, "no sequences to fit"),
        (
            {"sequences": [[0, 1], [0, 5]]},
            r"sequence 1 leaves the map at position\(s\) 1; .* 0 to 1",
        ),
        ({"sequences": [[0, -1]]}, "sequence 0 leaves the map"),
        ({"sequences": [[0.5, 1.0]]}, "whole numbers"),
        ({"sequences": [[]]}, "non-empty"),
        ({"sequences": [[0, 1]], "smoothing": -1}, "smoothing must be .* got -1"),
        ({"sequences": [[0, 1]], "smoothing": "a"}, "smoothing must be .* got 'a'"),
        ({"sequences": [[[0, 1], [0]]]}, "sequence 0 must be a non-empty list of cells"),
        ({"sequences": [[0, 1]], "starts": 0}, "one step per sequence, got 0"),
        ({"sequences": [[0, 1]], "base": np.eye(2)}, "base must be a Mobility, got ndarray"),
        ({"sequences": [[0, 1]], "base": Mobility([np.eye(2)] * 2)}, "one matrix for all steps"),
        ({"sequences": [[0, 1]], "order": 0}, "order must be .* at least 1, got 0"),
        ({"sequences": [[0, 1]], "order": 100}, "more histories than can be numbered"),
        ({"sequences": [[0, 1]], "period": 0}, "period must be .* at least 1, got 0"),
        ({"sequences": [[0, 1]], "starts": [0, 1]}, "starts has 2 entries for 1 sequences"),
        ({"sequences": [[0, 1]], "starts": [-1]}, r"starts\[0\] must be .* got -1"),
        ({"sequences": [[0, 1]], "base": Mobility(np.eye(3))}, "same 2 cells.*shape \\(3, 3\\)"),
    ],
)
def test_wrong_input_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(MobilityError, match=message):
        Mobility.fit(n_cells=2, **arguments)  # type: ignore[arg-type]
