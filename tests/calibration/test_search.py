"""What the search certifies, whatever solver and repair say, beside enumeration of all paths."""

import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionMatrix,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    OptimalRemap,
    Prior,
    Protect,
    Protector,
    presence,
)
from priste.calibration import CertifiedPlan, Situation
from priste.calibration.bounds import Bound
from priste.calibration.effort import Effort
from priste.calibration.program import Program, SolverError
from priste.calibration.search import OnMap, Search, same_answer
from priste.calibration.shared_cuts import SharedCuts
from priste.calibration.warm_start import Belief, WarmStart
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.dyadic import dyadic
from tests.oracles import largest_loss_of_a_first_release

GRID = Grid(1, 4)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
EVENT = presence({0}, [0, 1])
EPSILON = 0.3
UNIFORM = np.full(4, 0.25)
PRIORS: list[Prior] = [KnownPrior(UNIFORM), NearPrior(UNIFORM, 0.3), AnyPrior()]


def first_step(prior: Prior, grid: Grid = GRID, mechanism: Array | None = None) -> Situation:
    return (
        Protector(
            Mobility.gaussian(grid, sigma=1.0),
            EmissionMatrix(np.eye(grid.n_cells) if mechanism is None else mechanism),
            Protect(EVENT, EPSILON),
            prior=prior,
            calibration=EveryOutput(),
        )
        .beginning()
        .arrive()
        .situation()
    )


def on_map(prior: Prior) -> OnMap:
    search = Search(Effort(0.01, 10, None, 10.0), first_step(prior), GRID.distances)
    return OnMap(search, np.arange(4))


def largest_loss(emission: Array, prior: Prior) -> float:
    transition, vertices = MOBILITY.transition(0), prior.vertices(4)
    return largest_loss_of_a_first_release(EVENT, transition, vertices, emission)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_remap_that_breaks_a_promise_is_not_certified(prior: Prior) -> None:
    tells_all, says_nothing = np.eye(4), np.full((4, 4), 0.25)
    assert largest_loss(tells_all, prior) > EPSILON
    with pytest.raises(SolverError, match="breaks a promise"):
        on_map(prior)._certified(tells_all)
    certified = on_map(prior)._certified(says_nothing)
    assert largest_loss(certified, prior) < 1e-12
    passed = 0
    for share in (0.02, 0.05, 0.1, 0.3):
        mixture = share * tells_all + (1 - share) * says_nothing
        if largest_loss(mixture, prior) <= EPSILON:
            assert largest_loss(on_map(prior)._certified(mixture), prior) <= EPSILON
            passed += 1
        else:
            with pytest.raises(SolverError, match="breaks a promise"):
                on_map(prior)._certified(mixture)
    assert 0 < passed < 4


@pytest.mark.parametrize("prior", PRIORS)
def test_a_solver_and_a_repair_that_lie_are_not_believed(
    prior: Prior, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Program, "solve", lambda program: np.eye(*program.cost.shape))
    monkeypatch.setattr(
        Bound, "failing", lambda _, columns, **__: np.zeros(columns.shape[1], dtype=bool)
    )
    plan = OptimalRemap(GRID.distances).plan(first_step(prior))
    assert "breaks a promise" in plan.remark
    assert largest_loss(plan.emission, prior) <= EPSILON


@pytest.mark.parametrize("prior", PRIORS)
def test_every_output_of_a_plan_is_within_epsilon_by_enumeration(prior: Prior) -> None:
    spent = []
    for calibration in (OptimalRemap(GRID.distances), EveryOutput()):
        plan = calibration.plan(first_step(prior))
        spent.append(largest_loss(plan.emission, prior))
    assert max(spent) <= EPSILON
    assert spent[0] > 0.95 * EPSILON  # the promise is not kept by saying nothing


def test_the_same_answer_is_the_one_that_is_nearest_in_the_mean() -> None:
    now = first_step(AnyPrior())
    plan = same_answer(now, GRID.distances, "why")
    expected = weights(now) @ GRID.distances
    assert plan.emission.tolist() == np.eye(4)[[int(np.argmin(expected))] * 4].tolist()
    assert plan.expected_loss == pytest.approx(expected.min(), rel=1e-12)
    assert (plan.remark, plan.budget) == ("why", 0.0)


LINE = Grid(1, 100)


def search_on_a_line(
    prior: Prior, outputs: int | None = None, time_limit: float = 60.0, n_cells: int = 100
) -> Search:
    line = Grid(1, n_cells)
    effort = Effort(0.01, 10, outputs, time_limit)
    return Search(effort, first_step(prior, line), line.distances)


def served(search: Search, outputs: Array) -> float:
    """How far the nearest of some outputs is, in the mean."""
    return float(search.weights @ search.losses[:, outputs].min(axis=1))


Ending = float | SolverError


@pytest.fixture
def maps(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Let searches on maps end as they are told to, and note what they were given."""

    def end(*endings: Ending) -> list[Any]:
        given: list[Any] = []

        class Told:
            def __init__(self, search: Search, outputs: Array) -> None:
                assert isinstance(search, Search)
                self.outputs, self.paid = outputs, 0.0

            def plan(self, start: WarmStart) -> CertifiedPlan:
                ending = endings[len(given)]
                given.append((self.outputs, start))
                if isinstance(ending, SolverError):
                    raise ending
                note = WarmStart({len(given): {}})
                return CertifiedPlan(LINE.distances, 0.0, expected_loss=ending, warm_start=note)

        monkeypatch.setattr("priste.calibration.search.OnMap", Told)
        return given

    return end


def test_finer_maps_are_tried_as_long_as_that_is_worth_it(maps: Callable[..., list[Any]]) -> None:
    given = maps(3e-9, 1e-9, 2e-9, 2e-9)
    plan = search_on_a_line(AnyPrior())._by_cuts()
    assert [len(outputs) for outputs, _ in given] == [16, 32, 64, 100]
    assert [list(start.beliefs) for _, start in given] == [[], [1], [2], [3]]
    assert plan.expected_loss == 1e-9
    coarse, _ = given[0]
    enough = served(search_on_a_line(AnyPrior()), coarse) / 0.4
    for loss, sizes in ((1.01 * enough, [16]), (0.99 * enough, [16, 32])):
        given = maps(loss, 1e9)
        assert search_on_a_line(AnyPrior())._by_cuts().expected_loss == loss
        assert [len(outputs) for outputs, _ in given] == sizes


def test_one_map_is_enough_where_its_size_is_given_or_the_program_is_linear_or_time_is_up(
    maps: Callable[..., list[Any]],
) -> None:
    known = KnownPrior(np.full(100, 0.01))
    for search, size in (
        (search_on_a_line(AnyPrior(), outputs=10), 10),
        (search_on_a_line(AnyPrior(), outputs=500), 100),
        (search_on_a_line(known), 100),
        (search_on_a_line(AnyPrior(), time_limit=1e-9), 16),
        (search_on_a_line(AnyPrior(), n_cells=32), 32),
    ):
        given = maps(1e-9)
        search._by_cuts()
        assert [len(outputs) for outputs, _ in given] == [size]


def test_a_solver_that_fails_on_a_finer_map_leaves_the_coarser_one(
    maps: Callable[..., list[Any]],
) -> None:
    maps(2e-9, SolverError("no"))
    assert search_on_a_line(AnyPrior())._by_cuts().expected_loss == 2e-9
    maps(SolverError("no"))
    with pytest.raises(SolverError, match="no"):
        search_on_a_line(AnyPrior())._by_cuts()


def test_the_outputs_of_a_coarser_map_are_chosen_one_by_one_to_serve_best() -> None:
    search = search_on_a_line(AnyPrior())
    random = np.random.default_rng(0)
    search.losses = random.random((100, 100))
    search.possible = np.sort(random.choice(100, 70, replace=False))
    chosen: list[int] = []
    for size in (1, 2, 5, 9):
        while len(chosen) < size:
            left = [o for o in search.possible.tolist() if o not in chosen]
            chosen.append(min(left, key=lambda o: served(search, np.array([*chosen, o]))))
        assert search.outputs(size).tolist() == sorted(chosen)
    assert search.outputs(70).tolist() == search.possible.tolist()


def test_only_cells_that_the_mechanism_gives_are_released_where_it_gives_cells() -> None:
    gives = np.array([[1.0, 0, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 1.0, 0], [1.0, 0, 0, 0]])
    for mechanism, possible in ((gives, [0, 2]), (gives[:, [0, 2]], [0, 1, 2, 3])):
        now = first_step(AnyPrior(), mechanism=mechanism)
        search = Search(Effort(0.01, 10, None, 10.0), now, GRID.distances)
        assert search.possible.tolist() == possible


def test_on_a_coarser_map_each_cell_is_taken_for_the_output_that_serves_it() -> None:
    search = search_on_a_line(KnownPrior(np.full(6, 1 / 6)), n_cells=6)
    outputs = np.array([1, 4])
    coarse = OnMap(search, outputs)
    assert coarse.mechanism.tolist() == [[1, 0]] * 3 + [[0, 1]] * 3
    weighted = search.weights[:, None] * search.losses[:, outputs]
    np.testing.assert_allclose(coarse.cost, [weighted[:3].sum(axis=0), weighted[3:].sum(axis=0)])
    assert OnMap(search, np.arange(6)).mechanism.tolist() == np.eye(6).tolist()
    np.testing.assert_allclose(
        OnMap(search, np.arange(6)).cost, search.weights[:, None] * search.losses
    )
    mixed = search_on_a_line(AnyPrior(), n_cells=6)
    mixed.emission = 0.9 * np.eye(6) + 0.1 / 6
    np.testing.assert_allclose(
        OnMap(mixed, np.arange(6)).cost,
        mixed.emission.T @ (search.weights[:, None] * search.losses),
    )


def test_against_sets_of_beliefs_more_signals_are_told_apart_than_there_are_outputs() -> None:
    search = search_on_a_line(AnyPrior())
    for size, n_signals in ((16, 64), (40, 80), (64, 100)):
        outputs = search.outputs(size)
        signals, on_map = search.outputs(n_signals), OnMap(search, outputs)
        assert set(outputs) <= set(signals)
        taken_for = signals[on_map.mechanism.argmax(axis=1)]
        np.testing.assert_array_equal(taken_for, signals[LINE.distances[:, signals].argmin(axis=1)])
        weighted = search.weights[:, None] * search.losses[:, outputs]
        expected = [weighted[taken_for == signal].sum(axis=0) for signal in signals]
        np.testing.assert_allclose(on_map.cost, expected, rtol=1e-12, atol=0)
    told = search_on_a_line(AnyPrior(), outputs=16)  # as few as one asks for
    assert OnMap(told, told.outputs(16)).mechanism.shape == (100, 16)


def test_rows_start_with_their_cheapest_outputs_and_outputs_with_their_best_lenders() -> None:
    search = search_on_a_line(AnyPrior(), n_cells=20)
    place, random = OnMap(search, np.arange(20)), np.random.default_rng(1)
    place.cost = random.random((20, 20))
    few = np.where(np.arange(20) < 12, random.uniform(0.1, 1, 20), -1.0)
    few[15] = 0.0  # who says nothing has nothing to lend
    wanted = np.zeros((20, 20), dtype=bool)
    for row in range(20):
        wanted[row, np.argsort(place.cost[row])[:6]] = True
    wanted[:, 7] = True
    assert place._start(7, [[]]).tolist() == wanted.tolist()
    assert place._start(7, [[-np.ones(20)]]).tolist() == wanted.tolist()
    for output in range(20):
        prices = place.cost[:12, output] / few[:12]
        wanted[np.argsort(prices)[:8], output] = True
    assert place._start(7, [[], [np.ones(20), few]]).tolist() == wanted.tolist()


def test_beliefs_that_mattered_are_remembered_for_the_output_nearest_to_theirs() -> None:
    place = on_map(AnyPrior())
    near, far = Belief(0, 1, 0.5, True), Belief(2, 3, 2.0, False)
    start = WarmStart({0: {0: (near,), 3: (far, near)}, 1: {0: (far,)}})
    place.bounds = [place.bounds[0]]
    beliefs: dict[tuple[int, int], list[Belief]] = {}
    shared = SharedCuts((), 4, np.zeros((4, 4)))
    cuts = place._remembered(start, beliefs, shared)
    assert beliefs == {(0, 0): [near], (0, 1): [near], (0, 2): [far, near], (0, 3): [far, near]}
    assert [j for j, _ in cuts] == [0, 1, 2, 2, 3, 3]
    for (_, cut), belief in zip(cuts, [near, near, far, near, far, near], strict=True):
        np.testing.assert_array_equal(cut, place.bounds[0].cut(belief))
    assert place._remembered(WarmStart({0: {}}), {}, shared) == []
    place.bounds = [place.bounds[0]] * 2
    assert len(place._remembered(start, {}, shared)) == 10


def test_every_column_that_fails_is_cut_and_its_belief_noted() -> None:
    place = on_map(AnyPrior())
    says_nothing = np.full((4, 4), 0.25)
    remap = np.eye(4)[[0, 0, 2, 2]]
    remap[0, 1] = 1e-13  # what is not used is not looked at
    beliefs: dict[tuple[int, int], list[Belief]] = {(0, 0): [Belief(0, 1, 1.0, True)]}
    cuts = place._broken(remap, says_nothing, beliefs)
    assert {j for j, _ in cuts} == {0, 2}
    assert {key: len(found) for key, found in beliefs.items()} == {
        (0, 0): 1 + sum(j == 0 for j, _ in cuts),
        (0, 2): sum(j == 2 for j, _ in cuts),
    }
    for j, cut in cuts:
        assert cut @ (remap[:, j] + 0.25) > 0  # half way to the remap that passes
    assert place._broken(says_nothing, says_nothing, {}) == []


def test_on_the_way_to_a_remap_the_last_point_that_passes_is_taken() -> None:
    place = on_map(AnyPrior())
    telling, says_nothing = np.eye(4), np.full((4, 4), 0.25)
    reached = place._towards(telling, says_nothing)
    share = float(reached[0, 0] - reached[0, 1])
    assert place._all_pass(reached)
    assert 0 < share < 0.5
    further = share + 2.0**-11
    assert not place._all_pass(further * telling + (1 - further) * says_nothing)
    np.testing.assert_allclose(reached, share * telling + (1 - share) * says_nothing, rtol=1e-12)
    nearly = 0.5 * reached + 0.5 * says_nothing
    assert place._towards(nearly, says_nothing) is nearly
    place.is_linear = True  # a repaired optimum is hard to better
    assert place._towards(telling, says_nothing) is says_nothing


def test_rounding_that_hurts_is_mended_by_a_little_more_of_everything_used() -> None:
    place = on_map(AnyPrior())
    place.outputs = np.array([0, 3])
    place.mechanism = np.eye(4)[:, [0, 3]] + np.array([[0, 0], [0, 1], [1, 0], [0, 0]])
    tried: list[Array] = []
    serves = 3

    def forbid(emission: Array) -> int | None:
        tried.append(emission)
        return None if len(tried) == serves else 0

    place.situation = SimpleNamespace(forbidden_output=forbid)  # type: ignore[assignment]
    found = place._certified(np.eye(2))
    plain = np.eye(4)[[0, 3, 0, 3]]
    assert tried[0].tolist() == plain.tolist()
    bumped = plain + 1e-9 * np.array([1.0, 0, 0, 1.0])
    assert found.tolist() == dyadic(bumped / bumped.sum(axis=1, keepdims=True)).tolist()
    tried.clear()
    serves = 0  # none
    with pytest.raises(SolverError, match="rounding to whole tickets breaks a promise"):
        place._certified(np.eye(2))
    shares = [lottery[0, 3] for lottery in tried]
    np.testing.assert_allclose(shares, [0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6], rtol=1e-3)


def planned(
    place: OnMap, monkeypatch: pytest.MonkeyPatch, start: WarmStart | None = None
) -> CertifiedPlan:
    """Plan with as much time for the solver as it needs, whatever the deadline."""
    monkeypatch.setattr(
        "priste.calibration.search.Program", lambda cost, _: Program(cost, time_limit=60.0)
    )
    return place.plan(start or WarmStart())


def test_a_plan_says_why_it_ended_early(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(on_map(AnyPrior()), monkeypatch)
    assert plan.remark == ""
    assert plan.bound <= plan.expected_loss <= 1.01 * plan.bound + 1e-6
    late = on_map(AnyPrior())
    late.deadline = time.monotonic() - 1
    cut_short = planned(late, monkeypatch)
    assert cut_short.remark == (
        f"the time was up: what served has {cut_short.expected_loss:.3g}, "
        f"the bound is {cut_short.bound:.3g}"
    )
    few = on_map(AnyPrior())
    few.effort = few.effort._replace(rounds=1)
    assert planned(few, monkeypatch).remark.startswith("not within 0.01 of the bound: what served")
    for early in (cut_short, planned(few, monkeypatch)):
        assert early.bound <= plan.bound < plan.expected_loss <= early.expected_loss


def test_a_solver_that_stops_early_leaves_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    solve, runs = Program.solve, 0

    def tire(program: Program) -> Array:
        nonlocal runs
        runs += 1
        if runs == last:
            raise SolverError("tired")
        return solve(program)

    monkeypatch.setattr(Program, "solve", tire)
    last = 2
    plan = planned(on_map(AnyPrior()), monkeypatch)
    assert plan.remark.startswith("the solver stopped early (tired): what served has ")
    assert largest_loss(plan.emission, AnyPrior()) <= EPSILON
    last = runs + 1
    with pytest.raises(SolverError, match="tired"):
        planned(on_map(AnyPrior()), monkeypatch)


def test_a_plan_leaves_the_beliefs_of_each_output_or_the_variables_it_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = np.array([0, 1, 3])
    search = Search(Effort(0.001, 30, None, 10.0), first_step(AnyPrior()), GRID.distances)
    left = planned(OnMap(search, outputs), monkeypatch).warm_start
    assert left is not None
    assert left.used is None
    assert set(left.beliefs) == {0}
    assert set(left.beliefs[0]) <= {0, 1, 3}
    assert 3 in left.beliefs[0]
    many = WarmStart({0: {1: (Belief(0, 1, 1.0, True),) * 40}})
    kept = planned(OnMap(search, outputs), monkeypatch, many).warm_start
    assert kept is not None
    assert len(kept.beliefs[0][1]) == 12
    known = on_map(PRIORS[0])
    plan = planned(known, monkeypatch)
    assert plan.warm_start is not None
    assert plan.warm_start.used is not None
    assert plan.warm_start.used.tolist() == (plan.emission > 1e-6).tolist()
    again = planned(on_map(PRIORS[0]), monkeypatch, plan.warm_start)
    assert again.expected_loss == pytest.approx(plan.expected_loss, rel=1e-6)
    other = WarmStart(used=np.ones((3, 3), dtype=bool))  # from a map of another size
    assert planned(on_map(PRIORS[0]), monkeypatch, other).expected_loss == plan.expected_loss


def test_where_nothing_is_promised_each_row_gives_its_cheapest_output() -> None:
    situation = replace(first_step(KnownPrior(UNIFORM)), protections=(), evidence=())
    belief = np.array([0.1, 0.2, 0.3, 0.4])
    losses = np.random.default_rng(2).random((4, 4))
    effort = Effort(0.01, 10, None, 10.0)
    plan = Search(effort, replace(situation, belief=belief), losses).plan()
    weighed = weights(replace(situation, belief=belief))
    np.testing.assert_array_equal(plan.emission, np.eye(4)[losses.argmin(axis=1)])
    expected = sum(weighed[i] * losses[i].min() for i in range(4))
    assert plan.expected_loss == plan.bound == pytest.approx(expected)


def test_the_search_ends_at_its_time_limit_and_a_linear_one_at_a_tenth_of_the_gap() -> None:
    effort = Effort(0.01, 10, None, 10.0)
    search = Search(effort, first_step(KnownPrior(UNIFORM)), GRID.distances)
    assert search.deadline - time.monotonic() == pytest.approx(10.0, abs=1.0)
    assert OnMap(search, np.arange(4)).gap == pytest.approx(0.001)
    assert on_map(AnyPrior()).gap == pytest.approx(0.01)


def test_beliefs_of_promises_that_are_gone_do_not_hide_others() -> None:
    place = on_map(AnyPrior())
    near = Belief(0, 1, 0.5, True)
    shared = SharedCuts((), 4, np.zeros((4, 4)))
    some: dict[int, tuple[Belief, ...]] = {0: (near,)}
    for gone in (some, {}):
        start = WarmStart({5: gone, 0: some})
        assert len(place._remembered(start, {}, shared)) == 4


@pytest.mark.parametrize("sizes", [[12], [1, 2, 5, 12], [3, 2]])
def test_cells_to_release_are_chosen_greedily(sizes: list[int]) -> None:
    grid = Grid(3, 5)
    search = Search(
        Effort(0.01, 10, None, 60.0),
        first_step(NearPrior(np.full(15, 1 / 15), 0.3), grid),
        grid.distances,
    )
    search.possible = np.array([1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14])
    search.weights = np.random.default_rng(0).dirichlet(np.ones(15))
    chosen: list[int] = []
    while len(chosen) < 12:  # each time the cell with which the mean distance is least
        totals = {
            cell: search.weights @ grid.distances[:, [*chosen, cell]].min(axis=1)
            for cell in search.possible.tolist()
            if cell not in chosen
        }
        chosen.append(min(totals, key=lambda cell: totals[cell]))
    for size in sizes:
        assert search._ranked(size).tolist() == chosen[:size]
    assert sorted(search._ranked(99).tolist()) == search.possible.tolist()
