"""What everybody knows about a stream, beside enumeration of all paths."""

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionMatrix,
    EventError,
    Exponential,
    Grid,
    KnownPrior,
    LocationSet,
    Mechanism,
    Mobility,
    NearPrior,
    Protect,
    at,
    presence,
)
from priste.calibration import WarmStart
from priste.calibration.warm_start import Belief
from priste.checks import Array
from priste.errors import ProtectionError
from priste.stream import PublicState
from priste.stream.account import Entry
from tests.oracles import all_paths, joint_by_enumeration, path_probabilities
from tests.strategies import random_stochastic

GRID = Grid(1, 3)
RANDOM = np.random.default_rng(5)
TRANSITIONS = list(random_stochastic(RANDOM, (4, 3, 3)))
INITIAL = np.array([0.5, 0.3, 0.2])
MODEL = Mobility(TRANSITIONS, INITIAL)
COLUMNS = list(RANDOM.random((4, 3)))
NOISE = Exponential(GRID, 1.0)
ASKED = [Protect(presence({0}, [1, 2]), 0.5), Protect(at({2}, 1), 0.3)]


def start(mechanism: Mechanism = NOISE) -> PublicState:
    return PublicState.start([MODEL], mechanism, ASKED, AnyPrior())


def beliefs_by_enumeration(initial: Array) -> list[Array]:
    """Where the user is before and after each release, over every path."""
    paths = all_paths(3, 4)
    weights, found = path_probabilities(paths, TRANSITIONS, initial), []
    for step, column in enumerate(COLUMNS):
        for seen in (np.ones(3), column):
            weights = weights * seen[paths[:, step]]
            belief = np.bincount(paths[:, step], weights, minlength=3)
            found.append(belief / belief.sum())
    return found


@pytest.mark.parametrize("initial", [INITIAL, np.array([0.1, 0.1, 0.8])])
def test_the_belief_and_the_evidence_are_those_of_enumeration(initial: Array) -> None:
    is_set = initial is not INITIAL  # a location set brings the belief that it follows
    state = start(LocationSet(NOISE, 0.2, initial) if is_set else NOISE)
    expected = beliefs_by_enumeration(initial)
    assert state.step == -1
    for step, column in enumerate(COLUMNS):
        state = state.arrive()
        assert state.step == step
        np.testing.assert_allclose(state.situation().belief, expected[2 * step], rtol=1e-12)
        assert abs(state.whereabouts.by_model[0].sum() - 1) < 1e-15
        warm = WarmStart()
        state = state.observe(column, warm)
        assert state.situation().warm_start is warm
        np.testing.assert_allclose(
            state.whereabouts.by_model[0], expected[2 * step + 1], rtol=1e-12
        )
        for protection, evidence in zip(state.protections, state.evidence, strict=True):
            vectors = evidence.four_vectors()
            for v, vertex in enumerate(np.eye(3)):
                joint = joint_by_enumeration(
                    protection.event, TRANSITIONS, vertex, COLUMNS[: step + 1]
                )
                assert (vectors.b[v], vectors.d[v]) == pytest.approx(joint, rel=1e-12)


def test_a_release_that_the_belief_deems_impossible_leaves_it() -> None:
    sure = Mobility(np.full((3, 3), 1 / 3), [1.0, 0.0, 0.0])
    state = PublicState.start([sure], NOISE, ASKED, AnyPrior()).arrive()
    after = state.observe(np.array([0.0, 0.4, 0.5]), None)
    assert after.whereabouts.by_model[0].tolist() == [1.0, 0.0, 0.0]
    faint = state.observe(np.array([1e-200, 0.4, 0.5]), None)
    assert faint.whereabouts.by_model[0].tolist() == [1.0, 0.0, 0.0]


def test_rounding_does_not_add_up_over_a_long_silence() -> None:
    thirds = Mobility([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], INITIAL)
    state = PublicState.start([thirds], NOISE, ASKED[:1], AnyPrior())
    for _ in range(200):
        state = state.arrive()
    assert state.whereabouts.by_model[0].sum() == pytest.approx(1, abs=1e-14)


def test_a_location_set_follows_the_belief_and_other_mechanisms_stay() -> None:
    state = (
        start(LocationSet(NOISE, 0.4, INITIAL)).arrive().observe(np.array([0.0, 0.0, 1.0]), None)
    )
    assert state.situation().mechanism.emission().any(axis=0).tolist() == [False, False, True]
    assert start().arrive().situation().mechanism is NOISE


def test_the_models_of_one_protection_stand_together() -> None:
    models = [MODEL, Mobility(np.full((3, 3), 1 / 3))]
    state = PublicState.start(models, EmissionMatrix(np.eye(3)), ASKED, AnyPrior(), eta=0)
    found = [
        (p, e.model.event, e.model.mobility)
        for p, e in zip(state.protections, state.evidence, strict=True)
    ]
    assert found == [(p, p.event, m) for p in ASKED for m in models]
    np.testing.assert_array_equal(state.whereabouts.by_model[0], INITIAL)


def test_an_event_that_is_decided_under_one_model_is_refused() -> None:
    models = [MODEL, Mobility(np.eye(3))]
    with pytest.raises(EventError, match="cannot happen"):
        PublicState.start(models, NOISE, [Protect(at({2}, 1), 0.5)], KnownPrior([0.5, 0.5, 0.0]))


def test_a_warm_start_stays_with_its_events_when_an_exchange_wakes_another() -> None:
    mixing, lazy = Mobility(np.full((3, 3), 1 / 3)), Mobility(0.4 * np.eye(3) + 0.2)
    state = PublicState.start([mixing], NOISE, [Protect(at({0}, 9), 1.0)], AnyPrior(), eta=0.3)
    state = state.adding(Protect(at({1}, 0), 1.0)).arrive()
    assert [w.name for w in state.live] == ["event 2"]
    found = (Belief(0, 1, 0.5, rising=True),)
    state = state.observe(np.array([0.5, 0.4, 0.4]), WarmStart({0: {0: found}}))
    woken = state.exchanged([Mobility(0.79 * np.eye(3) + 0.07)])
    assert [w.name for w in woken.live] == ["event 1", "event 2"]
    assert woken.warm_start is not None
    assert woken.warm_start.beliefs == {1: {0: found}}
    asleep = state.exchanged([lazy])
    assert [w.name for w in asleep.live] == ["event 2"]


def test_beliefs_do_not_merge_as_long_as_nothing_is_protected() -> None:
    state = PublicState.start([MODEL], NOISE, [], AnyPrior())
    for _ in range(2):
        state = state.arrive()
    assert len(state.beliefs[0].weights) == 3
    assert len(state.adding(Protect(at({0}, 3), 0.5)).live) == 1


SLOW = Mobility(0.7 * np.eye(3) + 0.1, INITIAL)
STILL = Mobility(np.full((3, 3), 1 / 3), INITIAL)  # where one is says nothing about the next step
TELLING = np.array([0.9, 0.2, 0.1])


def test_the_account_is_that_of_the_next_step() -> None:
    state = start()
    assert [state.account().step, state.arrive().account().step] == [0, 1]


def test_an_event_is_asked_for_before_its_first_step() -> None:
    state = start().arrive().arrive()
    assert state.step == 1
    later = Protect(presence({0}, [2, 3]), 9.0, name="later")
    assert [w.name for w in state.adding(later).watched][-1] == "later"
    for steps in ([1], [1, 3], [0, 1]):
        with pytest.raises(ProtectionError, match="the next release is that of step 2"):
            state.adding(Protect(presence({0}, steps), 9.0))


@pytest.mark.parametrize("model", [SLOW, STILL])
def test_with_eta_0_nothing_waits_merges_or_settles(model: Mobility) -> None:
    asked = [Protect(at({0}, 2), 0.5, name="one"), Protect(at({0}, 6), 0.5, name="other")]
    state = PublicState.start([model], NOISE, asked, AnyPrior(), eta=0)
    assert len(state.live) == 2
    for _ in range(12):
        state = state.arrive()
    assert [(entry.state, entry.beliefs) for entry in state.account()] == [("live", 3)] * 2
    assert len(state.beliefs[0].weights) == 3
    assert state.settled == ()


@pytest.mark.parametrize("eta", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
def test_merging_costs_a_share_eta_of_epsilon_at_most_and_comes_as_soon_as_it_does(
    eta: float, epsilon: float
) -> None:
    state = PublicState.start([SLOW], NOISE, [Protect(at({0}, 40), epsilon)], AnyPrior(), eta=eta)
    tracked = PublicState.start([SLOW], NOISE, [Protect(at({0}, 0), 9.0)], AnyPrior(), eta=0)
    while not state.beliefs[0].are_one:
        before = tracked.beliefs[0] if tracked.step >= 0 else None
        state, tracked = state.arrive(), tracked.arrive()
        if before is not None and before.step > 0:
            assert len(before.merged(eta * epsilon).weights) == 3
    assert 0 < state.beliefs[0].charge <= eta * epsilon


def test_a_live_event_follows_one_belief_when_that_costs_a_share_eta_at_most() -> None:
    def at_the_first_step(epsilon: float) -> Entry:
        asked, near = Protect(presence({0}, [0, 1]), epsilon), NearPrior(INITIAL, 0.02)
        state = PublicState.start([SLOW], NOISE, [asked], near, eta=0.1).arrive()
        (entry,) = state.account()
        return entry

    charge = at_the_first_step(50.0).merging
    assert 0.1 < charge < 0.5
    assert at_the_first_step(10 * charge + 1e-9).merging == pytest.approx(charge)
    assert (
        at_the_first_step(10 * charge + 1e-9).beliefs == 2
    )  # the ends of the odds they began with
    assert at_the_first_step(10 * charge - 1e-9).merging == 0
    assert at_the_first_step(10 * charge - 1e-9).beliefs == 3


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("later", [1, 2, 3])
def test_an_event_asked_for_later_is_followed_with_the_odds_since_the_start(
    later: int, other: bool
) -> None:
    models = [MODEL, Mobility(TRANSITIONS[::-1], INITIAL)]
    asked = [Protect(at({1}, 0), 9.0)] if other else []
    state = PublicState.start(models, NOISE, asked, AnyPrior(), eta=0)
    event = presence({0}, [3])
    for step, column in enumerate(COLUMNS):
        if step == later:
            state = state.adding(Protect(event, 9.0, name="later"))
        state = state.arrive().observe(column, None)
    for watched in state.live[-2:]:
        assert watched.evidence is not None
        vectors = watched.evidence.four_vectors()
        transitions = [TRANSITIONS, TRANSITIONS[::-1]][watched.model]
        for v, vertex in enumerate(np.eye(3)):
            joint = joint_by_enumeration(event, transitions, vertex, COLUMNS)
            scale = 2.0 ** vectors.exponents[v]
            found = vectors.b[v] * scale, vectors.d[v] * scale
            assert found == pytest.approx(joint, rel=1e-12)


def test_what_was_told_before_an_event_was_asked_for_counts() -> None:
    state = PublicState.start([SLOW], NOISE, [], AnyPrior(), eta=0).arrive().observe(TELLING, None)
    event = at({0}, 1)
    told = state.adding(Protect(event, 99.0)).live[0].moved()
    assert 0.5 < told < 5
    state.adding(Protect(event, told + 1e-6))
    for epsilon in (told, told - 1e-6, told / 2):
        with pytest.raises(ProtectionError, match="cannot be protected with"):
            state.adding(Protect(event, epsilon))


def test_what_stands_for_all_beliefs_is_charged_to_events_asked_for_later() -> None:
    state = PublicState.start([SLOW], NOISE, [Protect(at({0}, 90), 9.0)], AnyPrior(), eta=0.3)
    while not state.beliefs[0].are_one:
        state = state.arrive()
    charge = state.beliefs[0].charge
    assert 0.5 < charge < 2.7
    far = at({0}, 80)
    state.adding(Protect(far, charge / 0.39))  # what may be charged for waiting is 0.3 of it
    with pytest.raises(ProtectionError, match="cannot be protected with"):
        state.adding(Protect(far, charge / 0.71))
    with pytest.raises(ProtectionError, match="cannot be protected with"):
        state.adding(Protect(far, charge / 3))


def test_models_are_exchanged_for_models_of_the_same_states_each() -> None:
    double = Mobility.fit([[0, 1, 2, 1, 0, 2, 2, 1, 0]], n_cells=3, order=2)
    state = PublicState.start([MODEL, MODEL], NOISE, ASKED, AnyPrior())
    with pytest.raises(ProtectionError, match="as many models as before, each over the same"):
        state.exchanged([MODEL, double])
    with pytest.raises(ProtectionError, match="as many models as before, each over the same"):
        state.exchanged([MODEL])
    assert state.exchanged([SLOW, MODEL]).mobilities == (SLOW, MODEL)


def test_an_exchange_before_the_first_step_leaves_the_stream_exact() -> None:
    state = PublicState.start([MODEL], NOISE, [], AnyPrior())
    assert not state.exchanged([SLOW]).was_exchanged
    assert state.arrive().exchanged([SLOW]).was_exchanged


def test_for_mixtures_everything_is_followed_under_no_single_model() -> None:
    state = PublicState.start([MODEL, SLOW], NOISE, ASKED, AnyPrior(), eta=0.2, mixtures=True)
    assert state.eta == 0
    assert [w.model for w in state.watched] == [-1, -1]
    assert len(state.live) == 2


def test_two_events_asked_for_at_once_are_followed_as_each_is_alone() -> None:
    state = PublicState.start([MODEL], NOISE, [], AnyPrior(), eta=0).arrive()
    state = state.observe(COLUMNS[0], None)
    one, other = (Protect(at({cell}, 2), 9.0, name=f"{cell}") for cell in (0, 1))
    alone = state.adding(other).live[0].evidence
    beside = state.adding(one).adding(other).live[1].evidence
    assert alone is not None
    assert beside is not None
    assert alone.step == beside.step == 1
    np.testing.assert_allclose(beside.tensor, alone.tensor, rtol=1e-14)


def test_after_an_exchange_beliefs_move_as_the_new_model_says() -> None:
    state = PublicState.start([MODEL], NOISE, ASKED, AnyPrior(), eta=0).arrive()
    state = state.observe(COLUMNS[0], None).exchanged([SLOW]).arrive()
    moved = np.diag(COLUMNS[0]) @ SLOW.transition(0)
    np.testing.assert_allclose(state.beliefs[0].weights, moved, rtol=1e-14)
