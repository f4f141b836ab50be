"""Beliefs carried along with the releases, beside enumeration of all paths."""

import math

import numpy as np
import pytest

from priste import (
    AnyPrior,
    AnyPriorOn,
    EmissionMatrix,
    EveryOutput,
    KnownPrior,
    Mobility,
    NearPrior,
    Protect,
    Protector,
    at,
    presence,
)
from priste.checks import Array
from priste.priors import Prior
from priste.stream.beliefs import Beliefs
from tests.oracles import all_paths, joint_by_enumeration, path_probabilities
from tests.strategies import random_stochastic

RANDOM = np.random.default_rng(4)
STEPS = 6
MOVES = 0.5 * random_stochastic(RANDOM, (STEPS, 3, 3)) + 0.5 / 3
MODEL = Mobility(MOVES)
COLUMNS = RANDOM.uniform(0.1, 1, (STEPS, 3))
PRIORS = [
    AnyPrior(),
    AnyPriorOn([0, 2]),
    NearPrior([0.2, 0.3, 0.5], 0.4),
    KnownPrior([0.1, 0.9, 0.0]),
]


def carried(prior: Prior, steps: int, model: Mobility = MODEL) -> Beliefs:
    """The beliefs at a step, before its release."""
    beliefs = Beliefs.start(model, prior)
    for column in COLUMNS[:steps]:
        beliefs = beliefs.observe(column).advance()
    return beliefs


def rows_by_enumeration(vertices: Array, steps: int) -> Array:
    """Pr(releases before a step, cell at the step) per vertex, over every path."""
    paths, rows = all_paths(3, steps + 1), []
    for vertex in vertices:
        weights = path_probabilities(paths, list(MOVES), vertex)
        for t in range(steps):
            weights = weights * COLUMNS[t][paths[:, t]]
        rows.append(np.bincount(paths[:, -1], weights, minlength=3))
    return np.array(rows)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_beliefs_are_those_of_all_paths(prior: Prior, steps: int) -> None:
    beliefs = carried(prior, steps)
    rows = rows_by_enumeration(prior.vertices(3), steps)
    found = beliefs.weights * np.exp2(beliefs.exponents)[:, None]
    np.testing.assert_allclose(found, rows, rtol=1e-12, atol=0)
    np.testing.assert_allclose(
        beliefs.normalised(), rows / rows.sum(axis=1, keepdims=True), rtol=1e-12, atol=0
    )
    assert beliefs.step == steps
    assert beliefs.charge == 0
    assert beliefs.are_one == isinstance(prior, KnownPrior)


def test_a_step_without_a_release_only_moves_them() -> None:
    np.testing.assert_allclose(
        Beliefs.start(MODEL, AnyPrior()).advance().weights, MOVES[0], rtol=1e-12, atol=0
    )


def test_long_streams_do_not_fade() -> None:
    beliefs = Beliefs.start(Mobility(MOVES[0]), AnyPrior())
    for _ in range(2000):
        beliefs = beliefs.observe(np.array([1e-3, 2e-3, 1e-3])).advance()
    assert np.isfinite(beliefs.weights).all()
    assert beliefs.weights.min() > 1e-100
    assert (beliefs.exponents < -10_000).all()


@pytest.mark.parametrize("prior", PRIORS[:3])
@pytest.mark.parametrize("steps", [2, 3])
def test_under_every_belief_odds_and_losses_are_within_the_charge(prior: Prior, steps: int) -> None:
    one = carried(prior, steps).merged(most=np.inf)
    assert one.are_one
    assert 0 < one.charge == 4 * one.distance
    rows = rows_by_enumeration(prior.vertices(3), steps)
    mixtures = np.vstack([rows, random_stochastic(RANDOM, (20, len(rows))) @ rows])
    centre, ahead, most = one.weights[0], list(MOVES[steps:]), 0.0
    event = presence({0}, [1, 2]) | (at({1}, 0) & at({2}, 2))  # seen from the step
    for _ in range(20):
        columns = list(RANDOM.random((3, 3)) ** 4)
        odds = []
        for belief in (centre, *(row / row.sum() for row in mixtures)):
            pairs = [joint_by_enumeration(event, ahead, belief, seen) for seen in ([], columns)]
            odds.append([math.log(b / d) for b, d in pairs])
        off = np.abs(np.array(odds[1:]) - odds[0])
        losses = np.diff(odds, axis=1)
        assert off.max() <= 2 * one.distance
        assert np.abs(losses[1:] - losses[0]).max() <= one.charge
        most = max(most, off.max())
    assert most > 0.3 * one.distance


def test_the_distance_is_that_of_the_worst_entry_and_stays_a_bound() -> None:
    beliefs = carried(AnyPrior(), 3)
    one = beliefs.merged(most=np.inf)
    rows = beliefs.normalised()
    ratios = np.log(rows / rows.mean(axis=0))
    assert one.distance == pytest.approx(np.ptp(ratios, axis=1).max() / 2, abs=2e-11)
    assert one.distance > np.ptp(ratios, axis=1).max() / 2
    for column in COLUMNS[3:5]:
        beliefs, one = (b.observe(column).advance() for b in (beliefs, one))
        ratios = np.log(beliefs.normalised() / one.normalised())
        assert np.ptp(ratios, axis=1).max() / 2 <= one.distance


def test_beliefs_merge_when_their_charge_allows_it() -> None:
    beliefs = carried(AnyPrior(), 3)
    charge = beliefs.merged(most=np.inf).charge
    assert beliefs.merged(charge * (1 - 1e-12)) is beliefs
    assert beliefs.merged(charge).charge == charge
    one = carried(KnownPrior([0.2, 0.3, 0.5]), 2)
    assert one.merged(most=np.inf) is one


def test_beliefs_that_exclude_different_cells_never_merge() -> None:
    still = Beliefs.start(Mobility(np.eye(3)), AnyPrior()).advance()
    assert still.merged(most=1e6) is still
    alike = Beliefs.start(Mobility([[0.4, 0.6, 0.0]] * 3), AnyPrior()).advance()
    assert alike.merged(most=1e-9).are_one


def test_beliefs_that_are_refuted_do_not_count() -> None:
    moves = Mobility([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    beliefs = Beliefs.start(moves, AnyPrior()).observe(np.array([1.0, 0.7, 0.0])).advance()
    assert beliefs.normalised().tolist() == [[0.5, 0.5, 0.0]] * 2
    assert beliefs.merged(most=1e-9).are_one


def test_a_release_that_all_deem_impossible_leaves_them() -> None:
    moves = Mobility([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4]])
    beliefs = Beliefs.start(moves, AnyPriorOn([0]))
    assert beliefs.observe(np.array([0.0, 0.0, 1.0])) is beliefs
    assert beliefs.observe(np.array([0.1, 0.0, 1.0])).released is not None


def test_a_stream_goes_on_after_a_release_that_nobody_deemed_possible() -> None:
    moves = Mobility([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4]])
    stream = Protector(
        moves,
        EmissionMatrix(np.eye(3)),
        Protect(presence({0}, [8, 9]), 1.0, name="home"),
        prior=AnyPriorOn([0]),
        calibration=EveryOutput(),
        eta=0.1,
        seed=1,
    )
    told = [stream.release(cell).cell for cell in (0, 1, 2, 0)]  # the event waits
    assert told == [0, 1, 2, 0]
    for cell in (1, 0, 1, 0, 0, 1):
        stream.release(cell)
    assert stream.account()["home"].moved <= 1.0
