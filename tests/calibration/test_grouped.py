"""Remaps of large maps are found on groups; here the maps are small, so that all can be checked."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import (
    Grid,
    KnownPrior,
    Mobility,
    NoNoise,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    audit,
    presence,
)
from priste.calibration import CertifiedPlan, GroupedPlan, Situation, grouped
from priste.calibration.effort import Effort
from priste.calibration.grouped import GroupedSearch, OnGroups
from priste.calibration.groups import finer_groups, first_groups, split
from priste.calibration.prices import Market
from priste.calibration.program import SolverError
from priste.calibration.spending import rationed
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.events import Event
from priste.mechanisms import EmissionMatrix, Mechanism
from priste.randomness import Randomness
from priste.worst_case import is_beyond
from tests.oracles import best_remap_loss
from tests.strategies import generators

EFFORT = Effort(gap=0.01, rounds=100, outputs=None, time_limit=60.0)


@pytest.fixture(autouse=True)
def small_maps_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "LARGE", 8)


def situation(
    random: np.random.Generator, mechanism: Mechanism, grid: Grid, events: int = 1
) -> Situation:
    """A step of a stream with a few releases behind it, about places drawn at random."""
    mobility = Mobility.gaussian(grid, float(random.uniform(0.5, 3)))
    belief = random.dirichlet(np.full(grid.n_cells, 0.5))
    places = [random.choice(grid.n_cells, 2, replace=False).tolist() for _ in range(events)]
    wanted: list[Event] = [presence(cells, range(2, 5)) for cells in places]
    protections = [Protect(event, float(random.uniform(0.2, 2))) for event in wanted]
    guard = Protector(
        mobility,
        mechanism,
        protections,
        prior=KnownPrior(belief),
        calibration=OptimalRemap(spending="proportional"),
        eta=0,
        seed=1,
    )
    for _ in range(int(random.integers(4))):
        guard.release(int(random.integers(grid.n_cells)))
    return rationed(guard.state.arrive().situation(), "proportional")


def optimum(now: Situation, losses: Array) -> float:
    """The least expected loss of all remaps, from the whole program."""
    noise, cuts = now.mechanism.emission(), []
    for protection, evidence in zip(now.protections, now.evidence, strict=True):
        (true,), (false,) = (mass @ noise for mass in evidence.masses)
        true, false = true / evidence.a[0], false / evidence.not_a[0]
        factor = math.exp(protection.epsilon)
        for cut in (true - factor * false, false - factor * true):
            cuts.append(cut / np.abs(cut).max())
    cost = noise.T @ (weights(now)[:, None] * losses)
    return best_remap_loss(cost, cuts)


@settings(max_examples=40)
@given(generators(), st.booleans(), st.integers(1, 2))
def test_the_optimum_lies_between_the_bound_and_what_is_certified(
    random: np.random.Generator, noisy: bool, events: int
) -> None:
    grid = Grid(3, 4)
    mechanism: Mechanism = PlanarLaplace(grid, 1.5) if noisy else NoNoise(grid)
    now = situation(random, mechanism, grid, events)
    losses = grid.distances
    plan = GroupedSearch(EFFORT, now, weights(now), losses).plan()
    best = optimum(now, losses)
    assert plan.bound <= best * (1 + 1e-7) + 1e-9
    assert plan.expected_loss >= best * (1 - 1e-7) - 1e-6
    if not plan.remark:
        assert plan.expected_loss <= 1.02 * plan.bound + 1e-4
    expected = (weights(now)[:, None] * plan.emission * losses).sum()
    assert plan.expected_loss == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(max_examples=30)
@given(generators(), st.booleans())
def test_every_output_of_the_whole_matrix_keeps_every_promise(
    random: np.random.Generator, noisy: bool
) -> None:
    grid = Grid(3, 4)
    mechanism: Mechanism = PlanarLaplace(grid, 1.5) if noisy else NoNoise(grid)
    now = situation(random, mechanism, grid)
    plan = GroupedSearch(EFFORT, now, weights(now), grid.distances).plan()
    emission = plan.emission
    np.testing.assert_allclose(emission.sum(axis=1), 1, rtol=1e-12)
    occurring = emission[:, emission.any(axis=0)]
    for protection, evidence in zip(now.protections, now.evidence, strict=True):
        assert not is_beyond(evidence, occurring, protection.epsilon).any()
        b, d = plan.joint(evidence)
        order = plan.cells[plan.occurs]
        true, false = evidence.masses
        np.testing.assert_allclose(b, (true @ emission[:, order]).T, rtol=1e-11)
        np.testing.assert_allclose(d, (false @ emission[:, order]).T, rtol=1e-11)
    total = np.zeros(grid.n_cells)
    for outcome in plan.outcomes():
        np.testing.assert_array_equal(outcome.column, emission[:, outcome.output])
        total += outcome.likelihood
    np.testing.assert_allclose(total, 1, rtol=1e-12)


@pytest.mark.parametrize("mechanism", [NoNoise(Grid(3, 4)), PlanarLaplace(Grid(3, 4), 1.0)])
def test_draws_have_the_probabilities_of_the_columns(mechanism: Mechanism) -> None:
    now = situation(np.random.default_rng(3), mechanism, Grid(3, 4))
    plan = GroupedSearch(EFFORT, now, weights(now), Grid(3, 4).distances).plan()
    source, n = Randomness(0), 4000
    for cell in (0, 7):
        draws = [plan.draw(cell, source) for _ in range(n)]
        counts = np.bincount([draw.output for draw in draws], minlength=12)
        wanted = plan.emission[cell]
        assert np.abs(counts / n - wanted).max() < 5 * np.sqrt(0.25 / n)
        assert not counts[wanted == 0].any()
        for draw in draws[:20]:
            np.testing.assert_array_equal(draw.column, plan.emission[:, draw.output])


@settings(max_examples=60)
@given(generators(), st.integers(2, 9), st.integers(1, 4))
def test_at_any_prices_signals_pay_no_more_than_the_optimum(
    random: np.random.Generator, n: int, n_cuts: int
) -> None:
    losses, cuts = random.random((n, n)), random.normal(0, 1, (n, n_cuts))
    cuts -= np.maximum(cuts.sum(axis=0), 0) / n + 0.01  # constants keep them
    mass = random.random(n)
    market = Market(mass, losses, cuts, cuts.copy())
    best = best_remap_loss(mass[:, None] * losses, list(cuts.T))
    prices = random.exponential(1, (n, n_cuts)) * (random.random((n, n_cuts)) < 0.5)
    paid = market.paid(prices)
    for j in range(n):
        cheapest = min(mass[j] * losses[j, o] + prices[o] @ cuts[j] for o in range(n))
        assert paid[j] == pytest.approx(cheapest, rel=1e-12, abs=1e-15)
    risen, more = market.risen(prices, paid)
    assert (risen >= 0).all()
    assert np.isfinite(risen).all()
    assert (more >= paid - 1e-12).all()
    assert more.sum() <= best * (1 + 1e-9) + 1e-12
    firm = random.random(n) < 0.5
    settled = market.settled(prices, paid, firm)
    assert (settled >= 0).all()
    assert np.isfinite(settled).all()
    assert (market.paid(settled)[firm] >= paid[firm] - 1e-9).all()


@settings(max_examples=40)
@given(generators(), st.integers(1, 40))
def test_groups_part_the_outputs(random: np.random.Generator, size: int) -> None:
    far = Grid(5, 6).distances
    mass, need = random.dirichlet(np.ones(30)), random.normal(0, 1, (30, 2))
    groups = first_groups(far, mass, need, size)
    scaled = need / np.abs(need).sum(axis=0)
    kind = np.where((need > 0).any(axis=1), scaled.argmax(axis=1), -1)
    assert all(len(set(kind[members])) == 1 for members in groups)  # all need the same
    for found in (groups, split(groups, far, need / mass[:, None], np.ones(len(groups)), 25)[0]):
        assert sorted(np.concatenate(found).tolist()) == list(range(30))
        assert all(len(members) for members in found)
    finer, parent = split(groups, far, need / mass[:, None], random.random(len(groups)), 25)
    for members, origin in zip(finer, parent.tolist(), strict=True):
        assert set(members.tolist()) <= set(groups[origin].tolist())


def test_finer_groups_are_those_of_each_size() -> None:
    random = np.random.default_rng(3)
    far = Grid(5, 6).distances
    mass, need = random.dirichlet(np.ones(30)), random.normal(0, 1, (30, 2))
    sizes = (3, 8, 8, 21)
    for size, groups in zip(sizes, finer_groups(far, mass, need, sizes), strict=True):
        alone = first_groups(far, mass, need, size)
        assert [group.tolist() for group in groups] == [group.tolist() for group in alone]


def test_groups_end_where_cells_do() -> None:
    far = Grid(2, 3).distances
    groups = first_groups(far, np.full(6, 1 / 6), -np.ones((6, 2)), 100)
    assert sorted(len(members) for members in groups) == [1] * 6
    again, parent = split(groups, far, -np.ones((6, 2)), np.ones(6), 100)
    assert len(again) == 6
    assert parent.tolist() == list(range(6))
    alike = np.zeros((4, 4))  # nothing tells cells apart
    (one,) = first_groups(alike, np.full(4, 0.25), -np.ones((4, 2)), 4)
    assert one.tolist() == [0, 1, 2, 3]
    assert [len(part) for part in split([one], alike, np.ones((4, 2)), np.ones(1), 3)[0]] == [
        1,
        1,
        2,
    ]


def test_a_stream_on_groups_keeps_its_promise_against_the_auditor() -> None:
    grid = Grid(3, 3)
    guard = Protector(
        Mobility.gaussian(grid, 1.0),
        NoNoise(grid),
        Protect(presence({0}, [1, 2]), 0.7),
        prior=KnownPrior(np.full(9, 1 / 9)),
        calibration=OptimalRemap(),
        seed=0,
    )
    assert isinstance(guard.plan(), GroupedPlan)
    found = audit(guard, 3)
    assert found.is_exact
    assert 0.3 < found.realised.max() <= 0.7 + 1e-9


def test_what_is_avoided_is_never_released() -> None:
    grid = Grid(3, 4)
    guard = Protector(
        Mobility.gaussian(grid, 1.0),
        PlanarLaplace(grid, 1.0),
        Protect(presence({5, 6}, range(3)), 1.0),
        prior=KnownPrior(np.full(12, 1 / 12)),
        calibration=OptimalRemap(avoid_secret=True),
        seed=0,
    )
    plan = guard.plan()
    assert isinstance(plan, GroupedPlan)
    assert set(plan.cells.tolist()) == set(range(12)) - {5, 6}
    assert not plan.emission[:, [5, 6]].any()


def test_small_maps_and_several_beliefs_are_not_for_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid(3, 4)
    now = situation(np.random.default_rng(0), NoNoise(grid), grid)
    assert GroupedSearch.serves(EFFORT, now)
    assert not GroupedSearch.serves(EFFORT._replace(outputs=4), now)
    assert isinstance(OptimalRemap(outputs=4).plan(now), CertifiedPlan)
    assert not GroupedSearch.serves(EFFORT._replace(thrift=0.1), now)
    monkeypatch.setattr(grouped, "LARGE", 12)
    assert not GroupedSearch.serves(EFFORT, now)
    monkeypatch.setattr(grouped, "LARGE", 11)
    assert GroupedSearch.serves(EFFORT, now)
    anybody = Protector(
        Mobility.gaussian(grid, 1.0), NoNoise(grid), Protect(presence({0}, [1, 2]), 0.7)
    )
    assert not GroupedSearch.serves(EFFORT, anybody.state.arrive().situation())


def test_more_groups_come_nearer_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid(20, 20)
    now = situation(np.random.default_rng(5), NoNoise(grid), grid)
    losses = []
    for most in (40, 80, 400):
        monkeypatch.setattr(grouped, "_FIRST", 0.05)
        monkeypatch.setattr(grouped, "_LEAST_GROUPS", 20)
        monkeypatch.setattr(grouped, "_MOST", most)
        plan = GroupedSearch(EFFORT, now, weights(now), grid.distances).plan()
        losses.append(plan.expected_loss / plan.bound if plan.bound > 0 else math.inf)
        assert ("not within 0.02" in plan.remark) == (losses[-1] > 1.02)
    assert all(more <= less for less, more in pairwise(losses))
    assert losses[-1] <= 1.02


def test_when_time_is_up_what_was_found_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid(12, 12)
    now = situation(np.random.default_rng(2), NoNoise(grid), grid)
    search = GroupedSearch(EFFORT, now, weights(now), grid.distances)
    search.deadline = 0.0
    with pytest.raises(SolverError, match="Time limit"):
        search.plan()
    plan = OptimalRemap(time_limit=1e-6).plan(now)
    assert "the solver found no optimum" in plan.remark

    monkeypatch.setattr(grouped, "_LEAST_GROUPS", 20)
    rounds = iter(range(2))
    solve = OnGroups.solve

    def fails_later(self: OnGroups, time_limit: float) -> object:
        if next(rounds) > 0:
            raise SolverError("Time limit reached")
        return solve(self, time_limit)

    monkeypatch.setattr(OnGroups, "solve", fails_later)
    first = GroupedSearch(EFFORT._replace(gap=1e-9), now, weights(now), grid.distances)
    first.gap = 1e-9
    kept = first.plan()
    assert kept.remark.startswith("the solver stopped early (Time limit reached): what served has")
    assert kept.expected_loss < (weights(now) @ grid.distances).min()


@pytest.mark.parametrize("n_outputs", [5, 12, 20])
def test_a_mechanism_may_give_more_or_fewer_signals_than_there_are_cells(n_outputs: int) -> None:
    grid = Grid(3, 4)
    noise = EmissionMatrix(np.random.default_rng(0).dirichlet(np.ones(n_outputs), 12))
    guard = Protector(
        Mobility.gaussian(grid, 1.0),
        noise,
        Protect(presence({0}, [0, 1]), 1.0),
        prior=KnownPrior(np.full(12, 1 / 12)),
        calibration=OptimalRemap(grid.distances),
        seed=0,
    )
    plan = guard.plan()
    assert isinstance(plan, GroupedPlan)
    np.testing.assert_allclose(plan.emission.sum(axis=1), 1, rtol=1e-12)


def test_losses_of_the_right_answer_are_paid_as_well() -> None:
    grid, belief = Grid(3, 4), np.full(12, 0.02)
    belief[7] = 0.78
    plans = []
    for more in (0.0, 0.5):
        guard = Protector(
            Mobility.gaussian(grid, 1.0, belief),
            NoNoise(grid),
            Protect(presence({0}, [0, 1]), 1.0),
            prior=KnownPrior(belief),
            calibration=OptimalRemap(loss=grid.distances + more),
            seed=0,
        )
        plans.append(guard.plan())
    assert all(isinstance(plan, GroupedPlan) for plan in plans)
    near, far = (plan.expected_loss for plan in plans if isinstance(plan, GroupedPlan))
    assert far == pytest.approx(near + 0.5, rel=0.02)
