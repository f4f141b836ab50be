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
    Protect,
    at,
    presence,
)
from priste.calibration import WarmStart
from priste.calibration.warm_start import Belief
from priste.checks import Array
from priste.stream import PublicState
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
