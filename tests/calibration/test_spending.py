"""How much of ε a step may use, beside the formulas written out for a loss that is enumerated."""

from dataclasses import replace

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    Mobility,
    Protect,
    Protector,
    presence,
)
from priste.calibration import Situation
from priste.calibration.spending import Spending, rationed
from priste.evidence import EventModel, Evidence
from priste.worst_case import worst_case
from tests.oracles import joint_by_enumeration, rising_loss_over_edges

GRID = Grid(1, 3)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
EVENT = presence({0}, [2, 4])
COLUMNS = [np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.3, 0.3])]


def after_two_releases(epsilon: float) -> Situation:
    """The situation at step 2, before its release."""
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 1.0),
        Protect(EVENT, epsilon),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    state = protector.beginning()
    for column in COLUMNS:
        state = state.arrive().observe(column, None)
    return state.arrive().situation()


def loss_so_far() -> float:
    transitions = [MOBILITY.transition(0)] * 4
    starts = list(np.eye(3))
    a, not_a = np.array([joint_by_enumeration(EVENT, transitions, s, []) for s in starts]).T
    b, d = np.array([joint_by_enumeration(EVENT, transitions, s, COLUMNS) for s in starts]).T
    return max(rising_loss_over_edges(a, not_a, b, d), rising_loss_over_edges(not_a, a, d, b))


SPENT = loss_so_far()


@pytest.mark.parametrize("epsilon", [2 * SPENT, 10 * SPENT])
@pytest.mark.parametrize("spending", ["all", "proportional", "rolling"])
def test_a_step_gets_its_share_of_what_is_planned_with(spending: Spending, epsilon: float) -> None:
    planned = 0.98 * epsilon
    share = {
        "all": planned,
        "proportional": planned * 3 / 5,  # step 2 is the third of five until the event ends
        "rolling": SPENT + (planned - SPENT) / 3,
    }[spending]
    (protection,) = rationed(after_two_releases(epsilon), spending).protections
    assert protection.epsilon == pytest.approx(share, rel=1e-9)
    assert protection.event is EVENT


@pytest.mark.parametrize("spending", ["all", "proportional", "rolling"])
def test_what_is_held_back_is_never_planned_with_for_the_belief_in_the_middle(
    spending: Spending,
) -> None:
    now = after_two_releases(10 * SPENT)
    allowed = rationed(now, spending, margin=0.3)
    (anybody,) = rationed(now, spending).protections  # the start may be anywhere
    middle = replace(now, evidence=(now.evidence[0].middle(),))
    (known,) = rationed(middle, spending, margin=0.3).protections  # one belief, nothing else
    assert [p.epsilon for p in allowed.protections] == [anybody.epsilon, known.epsilon]
    assert [len(e.a) for e in allowed.evidence] == [3, 1]
    if spending == "all":
        assert known.epsilon == pytest.approx(7 * SPENT, rel=1e-9)


def test_less_than_the_reserve_cannot_be_held_back() -> None:
    now = after_two_releases(10 * SPENT)
    for margin in (0.0, 0.01, 0.02):
        (protection,) = rationed(now, "all", margin).protections
        assert protection.epsilon == pytest.approx(9.8 * SPENT, rel=1e-9)


def test_the_share_of_an_event_that_is_tracked_late_counts_from_there() -> None:
    now = after_two_releases(1.0)
    late = EventModel(presence({0}, [8]), MOBILITY, first=6)
    evidence = Evidence.start(late, AnyPrior())
    later = Situation(now.mechanism, now.protections, (evidence,), now.belief)
    (protection,) = rationed(later, "proportional").protections
    assert protection.epsilon == pytest.approx(0.98 / 3, rel=1e-9)  # the first of steps 6 to 8


def test_a_step_may_always_use_a_tenth_of_what_is_left() -> None:
    epsilon = 1.5 * SPENT  # in proportion there would be less than what is spent
    (protection,) = rationed(after_two_releases(epsilon), "proportional").protections
    assert protection.epsilon == pytest.approx(SPENT + 0.1 * (0.98 * epsilon - SPENT), rel=1e-9)


@pytest.mark.parametrize("spending", ["all", "proportional", "rolling"])
def test_once_the_event_has_ended_all_that_is_left_may_be_used(spending: Spending) -> None:
    now = after_two_releases(1.0)
    (evidence,) = now.evidence
    for _ in range(4):
        evidence = evidence.advance()
    later = Situation(now.mechanism, now.protections, (evidence,), now.belief)
    (protection,) = rationed(later, spending).protections
    assert protection.epsilon == pytest.approx(0.98, rel=1e-9)


@pytest.mark.parametrize("spending", ["all", "proportional", "rolling"])
def test_above_the_loss_so_far_there_is_a_little_room(spending: Spending) -> None:
    epsilon = SPENT * 1.01  # less than the reserve is left
    (protection,) = rationed(after_two_releases(epsilon), spending).protections
    assert protection.epsilon == pytest.approx(SPENT + 1e-6 * epsilon, abs=1e-12)


def test_odds_that_fell_earn_nothing_where_only_rising_counts() -> None:
    one_sided = Protect(EVENT, 0.5, sides="event")
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 1.0),
        one_sided,
        prior=KnownPrior(np.full(3, 1 / 3)),
        calibration=EveryOutput(),
    )
    now = protector.beginning().arrive()
    fallen = now.observe(np.array([0.1, 0.6, 0.9]), None).arrive().situation()
    assert worst_case(fallen.evidence[0].four_vectors(), sides="event").loss < -0.1
    (protection,) = rationed(fallen, "rolling").protections
    assert protection.epsilon == pytest.approx(0.49 / 4, rel=1e-9)  # steps 1 to 4


@pytest.mark.parametrize("spending", ["all", "proportional"])
def test_odds_that_only_must_not_rise_need_not_wait_for_their_share(spending: Spending) -> None:
    one_sided = Protect(EVENT, 10 * SPENT, sides="event")
    now = replace(after_two_releases(10 * SPENT), protections=(one_sided,))
    (protection,) = rationed(now, spending).protections
    assert protection.epsilon == pytest.approx(9.8 * SPENT, rel=1e-9)


@pytest.mark.parametrize("over", [0.0, 1e-12, 1e-9, 0.01])
@pytest.mark.parametrize("spending", ["all", "proportional", "rolling"])
def test_no_step_gets_more_than_epsilon(spending: Spending, over: float) -> None:
    epsilon = SPENT - over  # all of it is spent, or by rounding a little more
    (protection,) = rationed(after_two_releases(epsilon), spending).protections
    assert protection.epsilon == epsilon


def test_a_tiny_epsilon_leaves_room_for_rounding() -> None:
    mobility = Mobility(np.full((3, 3), 1 / 3))
    protector = Protector(
        mobility,
        Exponential(GRID, 1.0),
        Protect(presence({0}, [9]), 1e-6),
        prior=AnyPrior(),
        calibration=EveryOutput(),
        eta=0,
    )
    now = protector.beginning().arrive().situation()
    (protection,) = rationed(now, "proportional").protections
    assert protection.epsilon == pytest.approx(0.98e-7, rel=1e-9)
    (protection,) = rationed(
        Situation(
            now.mechanism, (Protect(now.protections[0].event, 5e-8),), now.evidence, now.belief
        ),
        "proportional",
    ).protections
    assert protection.epsilon == pytest.approx(1e-8, rel=1e-6)
