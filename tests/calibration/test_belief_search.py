"""The search against sets of beliefs, on maps small enough to enumerate all that can happen."""

from typing import Any

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    Mobility,
    NearPrior,
    NoNoise,
    OptimalRemap,
    PlanarLaplace,
    Prior,
    Protect,
    Protector,
    at,
    presence,
    worst_case,
)
from priste.calibration import CertifiedPlan, Situation
from priste.calibration import belief_program as belief_program_module
from priste.calibration import belief_search as belief_search_module
from priste.calibration import search as search_module
from priste.calibration.belief_cuts import BeliefCuts
from priste.calibration.belief_program import BeliefProgram
from priste.calibration.belief_search import BeliefSearch, Found
from priste.calibration.blocks import Blocks, work_of_a_step
from priste.calibration.broken_lines import BrokenLines
from priste.calibration.effort import Effort
from priste.calibration.interior import Interior
from priste.calibration.own_blocks import OwnBlocks
from priste.calibration.program import SolverError
from priste.calibration.search import Search
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.events import Event
from priste.mechanisms import Mechanism
from tests.oracles import largest_loss_of_a_first_release

GRID = Grid(3, 4)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
EVENT = presence({0, 1}, [0, 1])
EPSILON = 0.4
PRIORS: list[Prior] = [NearPrior(MOBILITY.initial, 0.3), AnyPrior()]
SILENT, NOISY = NoNoise(GRID), PlanarLaplace(GRID, 1.0)


@pytest.fixture(autouse=True)
def small_maps_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "_MANY", 4)
    monkeypatch.setattr(belief_search_module, "_ROUGH", (4, 8, 0.15))
    monkeypatch.setattr(belief_search_module, "_OUTPUTS", (4, 6))
    monkeypatch.setattr(belief_search_module, "_AFFORDABLE", 4)
    monkeypatch.setattr(belief_search_module, "_FAR", 10.0)  # whatever the loss
    monkeypatch.setattr(belief_search_module, "_HOPELESS", 10.0)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[CertifiedPlan | None]:
    """The plans that a search for beliefs made."""
    plans: list[CertifiedPlan | None] = []
    plan = BeliefSearch.plan

    def noted(search: BeliefSearch) -> CertifiedPlan | None:
        plans.append(plan(search))
        return plans[-1]

    monkeypatch.setattr(BeliefSearch, "plan", noted)
    return plans


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[Found]:
    """What the programs of a search found, one after the other."""
    found: list[Found] = []
    solve = BeliefSearch._solve

    def noted(search: BeliefSearch, *given: Any, **named: Any) -> Found:
        found.append(solve(search, *given, **named))
        return found[-1]

    monkeypatch.setattr(BeliefSearch, "_solve", noted)
    return found


def first_step(prior: Prior, mechanism: Mechanism = SILENT) -> Situation:
    guard = Protector(
        MOBILITY, mechanism, Protect(EVENT, EPSILON), prior=prior, calibration=EveryOutput()
    )
    return guard.beginning().arrive().situation()


def second_step(prior: Prior) -> Situation:
    """The step after a release that told next to nothing."""
    guard = Protector(
        MOBILITY, SILENT, Protect(EVENT, EPSILON), prior=prior, calibration=EveryOutput(), eta=0
    )
    state = guard.beginning().arrive().observe(np.linspace(0.5, 0.51, 12), None)
    return state.arrive().situation()


def largest_loss(emission: Array, prior: Prior, event: Event = EVENT) -> float:
    vertices = prior.vertices(GRID.n_cells)
    return largest_loss_of_a_first_release(event, MOBILITY.transition(0), vertices, emission)


@pytest.fixture(params=["lines", "cuts"])
def by_cuts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether cuts of beliefs serve, whatever first looks say, or lines for intervals of odds."""
    for limit in ("_CHEAP", "_BEARABLE"):
        monkeypatch.setattr(belief_search_module, limit, 1e9 if request.param == "cuts" else 0.0)
    return bool(request.param == "cuts")


@pytest.mark.parametrize("mechanism", [SILENT, NOISY])
@pytest.mark.parametrize("prior", PRIORS)
def test_every_output_is_within_epsilon_by_enumeration(
    prior: Prior, mechanism: Mechanism, by_cuts: bool, planned: list[CertifiedPlan | None]
) -> None:
    plan = OptimalRemap(GRID.distances).plan(first_step(prior, mechanism))
    assert planned == [plan] or by_cuts  # which few cells are not for
    spent = largest_loss(plan.emission, prior)
    assert (0.1 if by_cuts else 0.9) * EPSILON < spent <= EPSILON
    assert (plan.emission.sum(axis=1) == 1).all()


def belief_search(situation: Situation) -> BeliefSearch:
    cells = np.arange(GRID.n_cells)
    return BeliefSearch(
        Effort(1e-3, 100, None, 60.0),
        situation,
        weights(situation),
        GRID.distances,
        situation.mechanism.emission(),
        cells,
        cells,
    )


@pytest.mark.parametrize("mechanism", [SILENT, NOISY])
@pytest.mark.parametrize("prior", PRIORS)
def test_with_all_cells_it_comes_near_the_search_by_a_solver(
    prior: Prior, mechanism: Mechanism, by_cuts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = first_step(prior, mechanism)
    effort = Effort(1e-3, 300, GRID.n_cells, 60.0)
    exact = Search(effort, now, GRID.distances)._by_cuts()
    assert exact.expected_loss <= exact.bound * 1.002
    monkeypatch.setattr("priste.calibration.odds_lines._WIDTH", 0.1)
    monkeypatch.setattr("priste.calibration.odds_lines._MOST", 40)
    monkeypatch.setattr(belief_search_module, "_MOVES", ())
    search = belief_search(now)
    rough = search._solve(search.ranked, GRID.n_cells, 0.1, by_cuts=by_cuts)
    found = search._solve(search.ranked, GRID.n_cells, 1e-3, rough, by_cuts=by_cuts)
    plan = search._planned(found)
    assert exact.bound <= plan.expected_loss <= exact.expected_loss * 1.03
    assert plan.bound <= exact.expected_loss
    assert by_cuts or found.least == pytest.approx(exact.expected_loss, rel=0.05)


def program(outputs: list[int], possible: list[int]) -> BeliefProgram:
    """A program of all signals, as it begins."""
    search = belief_search(first_step(PRIORS[0]))
    bounds = [bound.after(search.emission) for bound in search.bounds]
    conditions = BeliefCuts(search.lines.sides, search.lines.sides)
    return BeliefProgram(
        search.cost, np.eye(12), np.array(outputs), np.array(possible), bounds, conditions
    )


def test_outputs_move_to_those_who_give_them() -> None:
    columns = np.zeros((12, 2))
    columns[[0, 1, 2], 0] = 1.0
    columns[11, 1] = 1.0
    assert program([0, 5], [*range(12)]).best_outputs(columns).tolist() == [1, 11]
    assert program([0, 5], [0, 10]).best_outputs(columns).tolist() == [0, 10]


def test_columns_keep_outputs_of_their_own() -> None:
    columns = np.zeros((12, 3))
    columns[[0, 1, 2], 0] = 1.0
    columns[[0, 1, 2], 1] = 2.0  # gains more by going to the same cell
    columns[11, 2] = 1.0
    moved = program([4, 8, 11], [*range(12)]).moved_apart(columns)
    assert moved.tolist() == [0, 1, 11] or moved.tolist() == [2, 1, 11]


def test_where_lines_are_too_strict_cuts_serve(
    monkeypatch: pytest.MonkeyPatch, planned: list[CertifiedPlan | None]
) -> None:
    usual = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
    monkeypatch.setattr(Interior, "least", lambda _: 1.1)  # of one answer for all, which passes
    plan = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
    assert planned == [usual]  # and no other
    assert plan.expected_loss < 1.1 * usual.expected_loss


def test_losses_of_nothing_are_no_obstacle(planned: list[CertifiedPlan | None]) -> None:
    plan = OptimalRemap(np.zeros((12, 12))).plan(first_step(PRIORS[0]))
    assert planned == [plan]
    assert plan.expected_loss == 0.0
    assert plan.remark == ""
    assert largest_loss(plan.emission, PRIORS[0]) <= EPSILON


def test_a_group_never_mixes_those_who_speak_for_the_event_and_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(belief_search_module, "_GROUPS_OF_OWN", (6, 140))
    search = belief_search(first_step(PRIORS[0]))
    groups = search._groups[6]
    assert sorted(np.concatenate(groups).tolist()) == list(range(12))
    speaks = search.bounds[0].central()[0] @ search.emission > 0
    assert all(len(set(speaks[members])) == 1 for members in groups)


def test_cuts_serve_where_what_they_lead_to_needs_little_mending(
    by_cuts: bool, solved: list[Found]
) -> None:
    search = belief_search(second_step(PRIORS[0]))
    assert search.plan() is not None
    kinds = [type(found.conditions) for found in solved]
    assert kinds == ([BeliefCuts] * 2 if by_cuts else [BeliefCuts, BrokenLines, BrokenLines])


@pytest.mark.parametrize("loses", [0.99, 1.01])
def test_where_mending_is_bearable_the_better_of_two_looks_serves(
    loses: float, monkeypatch: pytest.MonkeyPatch, solved: list[Found]
) -> None:
    monkeypatch.setattr(belief_search_module, "_CHEAP", 0.0)
    monkeypatch.setattr(belief_search_module, "_BEARABLE", 1e9)
    search = belief_search(second_step(PRIORS[0]))
    solve = search._solve
    loss = solve(*search._small).loss
    solved.clear()

    def as_told(*given: Any, **named: Any) -> Found:
        return solve(*given, **named)._replace(loss=loss * (loses if "by_cuts" in named else 1.0))

    monkeypatch.setattr(search, "_solve", as_told)
    assert search._first_look()[1] == (loses < 1)
    assert [type(found.conditions) for found in solved] == [BeliefCuts, BrokenLines]


def test_where_a_look_by_cuts_fails_lines_serve(
    monkeypatch: pytest.MonkeyPatch, solved: list[Found]
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise SolverError("no")

    monkeypatch.setattr(BeliefCuts, "add_first", failing)
    assert belief_search(first_step(PRIORS[0])).plan() is not None
    assert [type(found.conditions) for found in solved] == [BrokenLines] * 2


def test_where_cuts_do_not_suffice_after_all_lines_serve(
    monkeypatch: pytest.MonkeyPatch, solved: list[Found]
) -> None:
    monkeypatch.setattr(belief_search_module, "_CHEAP", 1e9)
    monkeypatch.setattr(belief_search_module, "_BEARABLE", 0.0)
    plan = belief_search(second_step(PRIORS[0])).plan()
    assert [type(found.conditions) for found in solved] == [BeliefCuts] * 2 + [BrokenLines] * 2
    assert plan is not None
    assert plan.expected_loss <= min(found.loss for found in solved) * (1 + 1e-9)


def test_where_there_is_nothing_left_to_keep_all_is_told() -> None:
    """Releases may rule the event out, and only its odds must not rise."""
    weights = np.where(GRID.distances <= 1.5, 1.0, 0.0)
    is_left = np.arange(12) % 4 < 2
    weights[is_left[:, None] != is_left] = 0.0
    guard = Protector(
        Mobility(weights / weights.sum(axis=1, keepdims=True)),
        SILENT,
        Protect(EVENT, EPSILON, sides="event"),
        prior=AnyPrior(),
        calibration=OptimalRemap(GRID.distances),
        eta=0.0,
    )
    guard.repeat(np.where(is_left, 0.0, 1.0))
    plan = guard.plan()
    assert isinstance(plan, CertifiedPlan)
    assert plan.expected_loss < 0.1


def test_mending_is_what_it_costs_to_keep_the_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    search = belief_search(first_step(PRIORS[0]))
    honest = search._solve(search.ranked[:4], 12, 0.15, by_cuts=True)
    assert 1.0 <= honest.mending < 1.5
    monkeypatch.setattr(BeliefCuts, "_add", lambda *_: None)  # whatever is broken
    bold = search._solve(search.ranked[:4], 12, 0.15, by_cuts=True)
    assert bold.mending > 1.2 * honest.mending


def test_secret_places_are_avoided(planned: list[CertifiedPlan | None]) -> None:
    plan = OptimalRemap(GRID.distances, avoid_secret=True).plan(first_step(PRIORS[0]))
    assert planned == [plan]
    assert not plan.emission[:, [0, 1]].any()


def test_a_finer_map_serves_where_outputs_are_far(
    monkeypatch: pytest.MonkeyPatch, planned: list[CertifiedPlan | None]
) -> None:
    monkeypatch.setattr(belief_search_module, "_FAR", 0.0)
    plan = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
    assert planned == [None]
    assert largest_loss(plan.emission, PRIORS[0]) <= EPSILON


def test_a_first_look_is_enough_where_nothing_can_be_told(
    monkeypatch: pytest.MonkeyPatch, solved: list[Found]
) -> None:
    monkeypatch.setattr(belief_search_module, "_HOPELESS", 0.0)
    OptimalRemap(GRID.distances).plan(first_step(PRIORS[1], NOISY))
    assert [len(found.outputs) for found in solved] == [4, 4]  # by cuts and by lines


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.usefixtures("by_cuts")
def test_a_solver_that_lies_is_not_believed(prior: Prior, monkeypatch: pytest.MonkeyPatch) -> None:
    tells_all = property(lambda program: np.eye(program.n_rows, program.n_columns) + 1e-9)
    monkeypatch.setattr(Interior, "columns", tells_all)
    monkeypatch.setattr(belief_program_module, "repaired", lambda _, remap, __: remap)
    plan = OptimalRemap(GRID.distances).plan(first_step(prior))
    assert largest_loss(plan.emission, prior) <= EPSILON


def test_a_solver_that_fails_leaves_what_was_found_or_the_search_to_cuts(
    monkeypatch: pytest.MonkeyPatch, planned: list[CertifiedPlan | None]
) -> None:
    step, taken, allowed = Interior.step, list[Interior](), [0]

    def failing(program: Interior) -> tuple[float, float]:
        taken.append(program)
        if taken.count(program) > allowed[0]:
            raise SolverError("no more")
        return step(program)

    monkeypatch.setattr(Interior, "step", failing)
    for allowed[0] in (0, 8):
        plan = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
        assert largest_loss(plan.emission, PRIORS[0]) <= EPSILON
        assert plan.expected_loss < 1.5
    found = planned[-1]
    assert found is not None
    assert "the search ended" in found.remark
    assert plan.expected_loss <= found.expected_loss  # cuts have tried, too


def test_a_search_that_is_too_much_work_ends_and_says_so(
    monkeypatch: pytest.MonkeyPatch, planned: list[CertifiedPlan | None]
) -> None:
    steps: list[Interior] = []
    step = Interior.step

    def noted(program: Interior) -> tuple[float, float]:
        steps.append(program)
        return step(program)

    monkeypatch.setattr(Interior, "step", noted)
    usual = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0], NOISY))
    rounds = [steps.count(program) for program in dict.fromkeys(steps)]
    assert usual.remark == ""
    monkeypatch.setattr(belief_search_module, "_MOST_WORK", 2e9)  # two rounds
    steps.clear()
    plan = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0], NOISY))
    first, *others = (steps.count(program) for program in dict.fromkeys(steps))
    assert first == 2
    assert set(others) == {1}  # all share what there is to do
    assert min(rounds) > 2
    assert planned[1] is not None
    assert "the search ended" in planned[1].remark
    assert largest_loss(plan.emission, PRIORS[0]) <= EPSILON


def test_what_has_settled_is_near_though_prices_do_not_prove_it(
    monkeypatch: pytest.MonkeyPatch, planned: list[CertifiedPlan | None]
) -> None:
    usual = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
    monkeypatch.setattr(Interior, "least", lambda _: -1.0)
    plan = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
    assert planned[1] is plan
    assert plan.remark == ""
    assert plan.expected_loss <= 1.02 * usual.expected_loss
    monkeypatch.setattr(Interior, "gap", 10.0)
    OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
    assert planned[2] is not None
    assert "the search ended" in planned[2].remark


def test_the_work_of_a_round_limits_outputs_and_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief_search_module, "_OUTPUTS", (2, 4, 8, 12))
    monkeypatch.setattr(belief_search_module, "_GROUPS", (6, 9, 12))
    search = belief_search(first_step(PRIORS[0], NOISY))
    rough = search._solve(search.ranked[:4], 8, 0.15)
    tight = np.mean([len(lines) for lines in rough.tight])
    sizes = []
    for limit in (0.0, 8.3e8, 1e12):
        monkeypatch.setattr(belief_search_module, "_WORK", limit)
        sizes.append(search._sizes(rough, 0.13))
        lines = float(0.13 * tight * np.sqrt(sizes[-1][1]))
        size = sizes[-1][0], sizes[-1][1] + search.lines.n_mus
        assert limit == 0.0 or work_of_a_step(*size, lines) <= limit
    assert sizes[0] == (2, 6)  # the least, where everything is too much
    assert sizes[0] < sizes[1] < sizes[2] == (12, 12)


def test_first_releases_without_noise_have_lines_with_entries_of_their_own(
    monkeypatch: pytest.MonkeyPatch, solved: list[Found]
) -> None:
    """They serve at once, and leave room for more groups."""
    monkeypatch.setattr(belief_search_module, "_GROUPS", (6, 9))
    monkeypatch.setattr(belief_search_module, "_GROUPS_OF_OWN", (6, 9, 12))
    for mechanism, has_own, n_groups in ((SILENT, True, 12), (NOISY, False, 9)):
        solved.clear()
        search = belief_search(first_step(PRIORS[0], mechanism))
        assert search.lines.has_own_entries == has_own
        assert search.plan() is not None
        lines = [found.conditions for found in solved if isinstance(found.conditions, BrokenLines)]
        assert isinstance(lines[0].blocks_of(3), OwnBlocks if has_own else Blocks)
        assert (len(lines) == len(solved)) == has_own
        rough = search._solve(*search._small)
        assert search._sizes(rough, 0.13)[1] == n_groups
    monkeypatch.setattr(belief_search_module, "_WORK_OF_OWN", 0.0)
    search = belief_search(first_step(PRIORS[0]))
    assert search._sizes(search._solve(*search._small), 0.13) == (4, 6)


def test_a_first_look_serves_where_the_rest_fails(
    monkeypatch: pytest.MonkeyPatch, planned: list[CertifiedPlan | None]
) -> None:
    solve = BeliefSearch._solve
    found: list[Found] = []

    def failing(search: BeliefSearch, *given: Any, **named: Any) -> Found:
        if found:
            raise SolverError("no more")
        found.append(solve(search, *given, **named))
        return found[-1]

    def nothing(_: Search) -> CertifiedPlan:
        raise SolverError("no time")

    monkeypatch.setattr(BeliefSearch, "_solve", failing)
    monkeypatch.setattr(Search, "_by_cuts", nothing)
    plan = OptimalRemap(GRID.distances).plan(first_step(PRIORS[0]))
    assert planned == [plan]  # although cuts found nothing
    assert "the search ended" in plan.remark
    assert plan.expected_loss <= found[0].loss * (1 + 1e-9)
    assert largest_loss(plan.emission, PRIORS[0]) <= EPSILON


def test_what_can_be_gained_is_seen_beside_answers_that_may_be_given(
    monkeypatch: pytest.MonkeyPatch, solved: list[Found]
) -> None:
    monkeypatch.setattr(belief_search_module, "_HOPELESS", 0.98)
    search = belief_search(first_step(PRIORS[0]))
    search.possible = search.ranked = np.array([0, 11])  # far from the middle
    rough = search._solve(search.ranked, 8, 0.15)
    middle, corner = (search.cost[:, cells].sum(axis=0).min() for cells in (range(12), [0, 11]))
    assert 0.98 * middle < rough.loss < 0.98 * corner
    solved.clear()
    assert search.plan() is not None
    assert len(solved) == 2


def test_larger_maps_may_be_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    search = belief_search(first_step(PRIORS[0]))
    monkeypatch.setattr(belief_search_module, "_MOST_WORK", 1e9)
    few = search._solve(search.ranked, 8, 1e-3)
    monkeypatch.setattr(belief_search_module, "_CELLS", 0.1)
    assert search._solve(search.ranked, 8, 1e-3).loss < few.loss


def test_time_that_is_up_is_told(planned: list[CertifiedPlan | None]) -> None:
    plan = OptimalRemap(GRID.distances, time_limit=1e-9).plan(first_step(PRIORS[0]))
    (found,) = planned
    assert found is not None
    assert "the time was up" in found.remark
    assert plan.expected_loss <= found.expected_loss  # cuts may have had a moment, too
    assert largest_loss(plan.emission, PRIORS[0]) <= EPSILON


@pytest.mark.usefixtures("by_cuts")
def test_several_promises_are_kept_at_once(planned: list[CertifiedPlan | None]) -> None:
    secrets = [Protect(EVENT, EPSILON), Protect(at({11}, 1), 0.1)]
    guard = Protector(
        MOBILITY, SILENT, secrets, prior=PRIORS[0], calibration=OptimalRemap(GRID.distances)
    )
    for plan in (guard.plan(), planned[0]):
        assert isinstance(plan, CertifiedPlan)
        for secret in secrets:
            spent = largest_loss(plan.emission, PRIORS[0], secret.event)
            assert 0.5 * secret.epsilon < spent <= secret.epsilon


def test_it_is_never_worse_than_one_answer_for_all(
    monkeypatch: pytest.MonkeyPatch, planned: list[CertifiedPlan | None]
) -> None:
    now = first_step(PRIORS[1])
    wrong_way = property(lambda program: np.eye(program.n_rows, program.n_columns)[::-1] + 1e-9)
    monkeypatch.setattr(Interior, "columns", wrong_way)
    OptimalRemap(GRID.distances).plan(now)
    one_answer = search_module.same_answer(now, GRID.distances, "").expected_loss
    assert planned[0] is not None
    assert planned[0].expected_loss <= one_answer * (1 + 1e-12)


@pytest.mark.usefixtures("by_cuts")
def test_a_plan_is_the_same_to_the_bit_however_many_cores_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(worst_case, "CORES", cores)
        plans.append(OptimalRemap(GRID.distances).plan(first_step(PRIORS[0], NOISY)).emission)
    assert all((plan == plans[0]).all() for plan in plans)
