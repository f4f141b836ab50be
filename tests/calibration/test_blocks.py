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
def test_inverses_are_those_of_the_matrices(seed: int, most_lines: int) -> None:
    """By lines where these are few, and by entries where they are many."""
    blocks, column, h, square, weight = random_blocks(seed, most_lines)
    multiply, sums = blocks.inverse(square, weight)
    x = np.random.default_rng(seed).normal(size=square.shape)
    inverses = []
    for k in range(len(square)):
        mine = h[column == k]
        matrix = np.diag(1 / square[k]) + mine.T @ (weight[column == k, None] * mine)
        inverses.append(np.linalg.inv(matrix))
    expected = np.einsum("kij,kj->ki", inverses, x)
    np.testing.assert_allclose(multiply(x), expected, rtol=1e-7, atol=1e-9)
    n = blocks.n_rows
    np.testing.assert_allclose(sums, np.sum(inverses, axis=0)[:n, :n], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("most_lines", [1, 30])
def test_the_number_of_cores_changes_no_bit(
    most_lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(worst_case, "CORES", cores)
        blocks, _, _, square, weight = random_blocks(5, most_lines)
        multiply, sums = blocks.inverse(square, weight)
        results.append([multiply(square), sums, blocks.along(square), blocks.of_lines(weight)])
    for others in results[1:]:
        assert all((a == b).all() for a, b in zip(results[0], others, strict=True))


def test_more_of_anything_is_more_work() -> None:
    assert work_of_a_step(24, 100, 50) < work_of_a_step(25, 100, 50)
    assert work_of_a_step(24, 100, 50) < work_of_a_step(24, 101, 50)
    assert work_of_a_step(24, 100, 50) < work_of_a_step(24, 100, 51)
