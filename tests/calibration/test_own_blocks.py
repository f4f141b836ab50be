"""Blocks of lines with an entry of their own, beside the same lines written out."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import worst_case
from priste.calibration.blocks import Blocks, Index
from priste.calibration.interior import Interior
from priste.calibration.own_blocks import OwnBlocks, work_of_a_step
from priste.checks import Array

SEEDS = st.integers(0, 2**32 - 1)


def written_out(h: Array, shared: Array) -> Array:
    """Return lines as rows over all entries."""
    rows = h[:, 2:] @ shared
    rows[np.arange(len(h)), h[:, 0].astype(int)] += h[:, 1]
    return np.asarray(rows)


def random_blocks(seed: int) -> tuple[OwnBlocks, Blocks, Index, Array, Array]:
    """The same blocks twice; whose lines are, the lines, and the rows that they share."""
    random = np.random.default_rng(seed)
    n_columns, size = int(random.integers(1, 20)), int(random.integers(2, 9))
    n_rows, n_shared = int(random.integers(1, size + 1)), int(random.integers(1, 4))
    shared = random.normal(size=(n_shared, size))
    column = np.sort(random.integers(0, n_columns, random.integers(0, 30 * n_columns)))
    h = random.normal(size=(len(column), 2 + n_shared))
    h[:, 0] = random.integers(0, size, len(column))
    own, plain = OwnBlocks(n_columns, shared, n_rows), Blocks(n_columns, size, n_rows)
    own.give(column, h)
    plain.give(column, written_out(h, shared))
    return own, plain, column, h, shared


@settings(max_examples=120)
@given(SEEDS)
def test_all_is_as_with_lines_that_are_written_out(seed: int) -> None:
    own, plain, column, h, shared = random_blocks(seed)
    random = np.random.default_rng(seed)
    x, square = np.exp(random.normal(size=(2, *own.shape)))
    prices = np.exp(random.normal(size=len(column)))
    np.testing.assert_allclose(own.along(x), plain.along(x), atol=1e-10)
    np.testing.assert_allclose(own.of_lines(prices), plain.of_lines(prices), atol=1e-10)
    values, sizes = own.values(h, column, x)
    np.testing.assert_allclose(values, own.along(x), atol=1e-10)
    assert (sizes >= plain.values(written_out(h, shared), column, x)[1] * (1 - 1e-12)).all()
    twice = written_out(own.scaled(h, np.full(len(h), 2.0)), shared)
    np.testing.assert_allclose(twice, 2 * written_out(h, shared), atol=1e-12)
    (solve, sums), (expected, of_plain) = (b.inverse(square, prices) for b in (own, plain))
    for found, wanted in zip(solve(x, -prices), expected(x, -prices), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(sums, of_plain, rtol=1e-6, atol=1e-8)


def test_the_number_of_cores_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(worst_case, "CORES", cores)
        own, _, column, _, _ = random_blocks(7)
        square = np.exp(np.random.default_rng(7).normal(size=own.shape))
        prices = np.linspace(0.1, 2.0, len(column))
        solve, sums = own.inverse(square, prices)
        results.append([*solve(square, prices), sums])
    for others in results[1:]:
        assert all((a == b).all() for a, b in zip(results[0], others, strict=True))


@settings(max_examples=30)
@given(SEEDS)
def test_a_program_comes_to_the_same_optimum(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_rows, n_columns, n_lines = (int(n) for n in random.integers(2, 7, 3))
    shared = random.normal(size=(2, n_rows))
    h = random.normal(size=(n_lines, 4))
    h[:, 0] = random.integers(0, n_rows, n_lines)
    h[:, 1] -= written_out(h, shared).sum(axis=1) + random.uniform(0.05, 1.0, n_lines)
    rows, cost = written_out(h, shared), random.random((n_rows, n_columns))
    found = []
    for lines, blocks in ((h, OwnBlocks(n_columns, shared, n_rows)), (rows, None)):
        program = Interior(cost, np.empty(0), partial(np.take, lines, axis=0), 0.02, blocks)
        program.add_to_all(np.arange(n_lines))
        for _ in range(60):
            if program.centrality < 1e-6:
                break
            program.step()
        found.append(float((cost * program.columns).sum()))
    assert found[0] == pytest.approx(found[1], rel=1e-4, abs=1e-5)


def test_more_of_anything_is_more_work() -> None:
    assert work_of_a_step(24, 100, 8) < work_of_a_step(25, 100, 8)
    assert work_of_a_step(24, 100, 8) < work_of_a_step(24, 101, 8)
    assert work_of_a_step(24, 100, 8) < work_of_a_step(24, 100, 9)
