"""What intervals decide, and what they leave undecided."""

import math

import numpy as np
import pytest
from reproduction.findings import (
    Estimate,
    Finding,
    above,
    all_of,
    any_of,
    coefficient,
    interval,
    less,
    mostly,
    positive,
    within,
)

from priste.checks import Array

FAILS, UNDECIDED, HOLDS = Finding


@pytest.mark.parametrize(
    ("mean", "finding"), [(2.0, HOLDS), (0.5, UNDECIDED), (-0.5, UNDECIDED), (-2.0, FAILS)]
)
def test_an_interval_that_contains_the_boundary_decides_nothing(
    mean: float, finding: Finding
) -> None:
    assert positive(Estimate(mean, 1.0)) is finding


@pytest.mark.parametrize(
    ("mean", "finding"), [(0.3, HOLDS), (-0.3, HOLDS), (0.9, UNDECIDED), (-2.0, FAILS)]
)
def test_closeness_needs_the_whole_interval(mean: float, finding: Finding) -> None:
    assert within(Estimate(mean, 0.5), 1.0) is finding


def test_one_failure_refutes_all_and_one_success_proves_any() -> None:
    assert all_of([HOLDS, UNDECIDED, FAILS]) is FAILS
    assert all_of([HOLDS, UNDECIDED]) is UNDECIDED
    assert any_of([FAILS, UNDECIDED, HOLDS]) is HOLDS
    assert any_of([FAILS, UNDECIDED]) is UNDECIDED


def test_runs_are_compared_seed_by_seed() -> None:
    luck = np.array([0.0, 5.0, 9.0, 2.0])
    gain = np.array([1.0, 1.1, 0.9, 1.0])
    assert less(luck, luck + gain) is HOLDS
    assert less(luck + gain, luck) is FAILS
    assert less(luck, (luck + gain)[::-1]) is UNDECIDED


@pytest.mark.parametrize(("runs", "finding"), [(1, UNDECIDED), (5, UNDECIDED), (6, HOLDS)])
def test_equal_runs_decide_as_a_sign_test_does(runs: int, finding: Finding) -> None:
    assert above(np.ones(runs), 0.9) is finding


def test_more_comparisons_need_more_evidence() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert interval(values, 5).half > interval(values).half
    assert above(values, 0.0) is HOLDS
    assert above(values, 0.0, 20) is UNDECIDED


@pytest.mark.parametrize(
    ("hits", "runs", "finding"), [(4, 4, UNDECIDED), (64, 100, HOLDS), (1, 12, FAILS)]
)
def test_a_majority_must_be_beyond_chance(hits: int, runs: int, finding: Finding) -> None:
    assert mostly(hits, runs) is finding


def test_a_coefficient_has_the_interval_of_textbooks() -> None:
    x: Array = np.arange(1.0, 6.0)
    y = np.array([2.2, 2.8, 3.6, 4.5, 5.1])
    found = coefficient([x], y)
    assert found.mean == pytest.approx(0.75, rel=1e-12)
    residual = y - 3.64 - 0.75 * (x - 3)
    spread = math.sqrt(residual @ residual / 3 / 10)
    assert found.half == pytest.approx(3.182446 * spread, rel=1e-6)
    assert coefficient([x[:2]], y[:2]).half == math.inf
