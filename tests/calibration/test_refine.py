"""Truth inside the cells of an output, beside the condition on all pairs of vertices."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import Grid, Mobility, NearPrior, NoNoise, OptimalRemap, Protect, Protector, presence
from priste.calibration import CertifiedPlan, refine
from priste.calibration.bounds import Bound
from priste.calibration.finish import certified, repaired
from priste.calibration.program import SolverError
from priste.calibration.refine import refined
from priste.checks import Array
from tests.oracles import condition_over_all_pairs

GRID = Grid(3, 4)
N_CELLS = GRID.n_cells


def random_bound(random: np.random.Generator) -> Bound:
    n_vertices = int(random.integers(1, 6))
    a = random.uniform(0.05, 0.6, n_vertices)
    true, false = (random.random((n_vertices, N_CELLS)) for _ in range(2))
    true *= a[:, None] / true.sum(axis=1, keepdims=True)
    false *= (1 - a)[:, None] / false.sum(axis=1, keepdims=True)
    return Bound(a, 1 - a, true, false, math.exp(random.uniform(0.05, 2.0)), both=True)


def keeps_promise(bound: Bound, column: Array) -> bool:
    b, d, factor = bound.true @ column, bound.false @ column, bound.factor * (1 + 1e-9)
    return condition_over_all_pairs(
        bound.a, bound.not_a, b, d, factor
    ) and condition_over_all_pairs(bound.not_a, bound.a, d, b, factor)


def test_whoever_tells_the_truth_breaks_no_promise_and_costs_less() -> None:
    gained = []

    @settings(max_examples=150)
    @given(st.integers(0, 2**32 - 1))
    def tell(seed: int) -> None:
        random = np.random.default_rng(seed)
        bounds = [random_bound(random) for _ in range(random.integers(1, 3))]
        outputs = random.choice(N_CELLS, int(random.integers(1, 4)), replace=False)
        told = np.eye(len(outputs))[GRID.distances[:, outputs].argmin(axis=1)]
        share = random.uniform(0, 1)
        remap = share * told + (1 - share) * random.dirichlet(np.ones(len(outputs)))
        remap = repaired(bounds, remap)
        mass = random.dirichlet(np.ones(N_CELLS))
        cost = mass[:, None] * GRID.distances
        possible = np.sort(random.choice(N_CELLS, int(random.integers(3, N_CELLS)), replace=False))
        possible = np.union1d(possible, outputs)
        columns, cells = refined(bounds, remap, outputs, cost, possible, mass)
        np.testing.assert_allclose(columns.sum(axis=1), 1.0, rtol=1e-12)
        assert (columns >= 0).all()
        assert set(cells.tolist()) <= set(possible.tolist())
        assert all(keeps_promise(bound, column) for bound in bounds for column in columns.T)
        before = (cost[:, outputs] * remap).sum()
        gained.append(before - (cost[:, cells] * columns).sum())
        assert gained[-1] >= -1e-12

    tell()
    assert np.mean(np.array(gained) > 0.01) > 0.5


def test_all_of_the_truth_is_told_where_nobody_minds() -> None:
    a = np.array([0.3])
    bound = Bound(a, 1 - a, np.full((1, 12), 0.3 / 12), np.full((1, 12), 0.7 / 12), 1.01, both=True)
    mass = np.full(N_CELLS, 1 / N_CELLS)
    columns, cells = refined(
        [bound],
        np.ones((N_CELLS, 1)),
        np.array([5]),
        mass[:, None] * GRID.distances,
        np.arange(N_CELLS),
        mass,
    )
    assert sorted(cells.tolist()) == list(range(N_CELLS))
    np.testing.assert_array_equal(columns[cells], np.eye(N_CELLS)[cells][:, cells])


def test_as_much_of_the_truth_is_told_as_the_promise_allows() -> None:
    a, factor = np.array([0.5]), 1.5
    true, false = np.array([[0.3, 0.2]]), np.array([[0.2, 0.3]])
    bound = Bound(a, 1 - a, true, false, factor, both=True)
    even, told = refine._parted([bound], np.ones(2), np.array([0, 1]), np.ones(2))
    np.testing.assert_array_equal(even, 0.5)
    first, second = told.T
    np.testing.assert_allclose(first + second, 1.0)
    odds = (true @ first) / (false @ first)
    assert factor * 0.97 < odds[0] <= factor
    tight = replace(bound, factor=1.2)
    _, tighter = refine._parted([tight], np.ones(2), np.array([0, 1]), np.ones(2))
    assert 0.5 < tighter[0, 0] < first[0] <= 1.0


def test_where_rounding_hurts_the_remap_serves_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    mobility = Mobility.gaussian(Grid(7, 7), 1.0)
    prior = NearPrior(mobility.initial, 0.1)

    def planned() -> CertifiedPlan:
        secret = Protect(presence({0, 1}, [1, 2]), 1.0)
        guard = Protector(
            mobility, NoNoise(Grid(7, 7)), secret, prior=prior, calibration=OptimalRemap(rounds=5)
        )
        plan = guard.plan()
        assert isinstance(plan, CertifiedPlan)
        return plan

    monkeypatch.setattr("priste.calibration.search._COARSE", 10.0)  # no finer map is tried
    finer, calls = planned(), []

    def stumble(*args: Any) -> Array:
        calls.append(args)
        if len(calls) == 1:
            raise SolverError("rounding to whole tickets breaks a promise")
        return certified(*args)

    monkeypatch.setattr(refine, "certified", stumble)
    plain = planned()
    assert len(calls) == 2
    assert finer.expected_loss is not None
    assert plain.expected_loss is not None
    assert finer.bound <= finer.expected_loss < plain.expected_loss
    assert np.count_nonzero(plain.emission.any(axis=0)) <= 32
