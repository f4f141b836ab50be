"""Blocks in batches, beside the same matrices one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import worst_case
from priste.calibration.blocks import Blocks, Index, work_of_a_step
from priste.checks import Array


def random_blocks(seed: int, most_lines: int) -> tuple[Blocks, Index, Array, Array, Array]:
    """Blocks of columns with some lines each, some with none; x / z and price / slack."""
    random = np.random.default_rng(seed)
    n_columns, size = int(random.integers(1, 20)), int(random.integers(2, 9))
    blocks = Blocks(n_columns, size, int(random.integers(1, size + 1)))
    column = np.sort(random.integers(0, n_columns, random.integers(0, most_lines * n_columns + 1)))
    h = random.normal(size=(len(column), size))
    blocks.give(column, h)
    square = np.exp(random.normal(size=(n_columns, size)))
    weight = np.exp(random.normal(size=len(column)))
    return blocks, column.astype(np.intp), h, np.asarray(square), np.asarray(weight)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_lines_are_those_of_their_columns(seed: int) -> None:
    blocks, column, h, x, prices = random_blocks(seed, 5)
    np.testing.assert_allclose(blocks.along(x), (h * x[column]).sum(axis=1), atol=1e-12)
    expected = np.zeros(x.shape)
    np.add.at(expected, column, prices[:, None] * h)
    np.testing.assert_allclose(blocks.of_lines(prices), expected, atol=1e-12)


@settings(max_examples=120)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 30]))
def test_blocks_are_solved_for_as_their_matrices_are(seed: int, most_lines: int) -> None:
    """By lines where these are few, and by entries where they are many."""
    blocks, column, h, square, weight = random_blocks(seed, most_lines)
    random = np.random.default_rng(seed)
    pull, gain = random.normal(size=square.shape), random.normal(size=len(column))
    solve, sums = blocks.inverse(square, weight)
    x, price = solve(pull, gain)
    n, total = blocks.n_rows, np.zeros((square.shape[1],) * 2)
    for k in range(len(square)):
        mine, w, g = h[column == k], weight[column == k], gain[column == k]
        inverse = np.linalg.inv(np.diag(1 / square[k]) + mine.T @ (w[:, None] * mine))
        expected = inverse @ (pull[k] - mine.T @ g)
        np.testing.assert_allclose(x[k], expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(price[column == k], g + w * (mine @ expected), atol=1e-6)
        total += inverse
    np.testing.assert_allclose(sums, total[:n, :n], rtol=1e-7, atol=1e-9)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_prices_of_lines_with_hardly_any_slack_fit_their_entries(seed: int) -> None:
    """What is left of x / square is the pull less the prices, to the last digits."""
    blocks, column, h, square, weight = random_blocks(seed, 1)
    random = np.random.default_rng(seed)
    weight *= 10.0 ** random.integers(-12, 13, len(weight))
    pull, gain = random.normal(size=square.shape), random.normal(size=len(column))
    x, price = blocks.inverse(square, weight)[0](pull, gain)
    sizes = np.abs(pull)
    np.add.at(sizes, column, np.abs(price[:, None] * h))
    assert (np.abs(x / square - pull + blocks.of_lines(price)) <= 1e-14 * sizes).all()


@pytest.mark.parametrize("most_lines", [1, 30])
def test_the_number_of_cores_changes_no_bit(
    most_lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(worst_case, "CORES", cores)
        blocks, _, _, square, weight = random_blocks(5, most_lines)
        solve, sums = blocks.inverse(square, weight)
        solved = solve(square, weight)
        results.append([*solved, sums, blocks.along(square), blocks.of_lines(weight)])
    for others in results[1:]:
        assert all((a == b).all() for a, b in zip(results[0], others, strict=True))


def test_more_of_anything_is_more_work() -> None:
    assert work_of_a_step(24, 100, 50) < work_of_a_step(25, 100, 50)
    assert work_of_a_step(24, 100, 50) < work_of_a_step(24, 101, 50)
    assert work_of_a_step(24, 100, 50) < work_of_a_step(24, 100, 51)
