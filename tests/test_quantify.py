import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import (
    EventError,
    KnownPrior,
    Mobility,
    at,
    joint_probability,
    pattern,
    posterior_odds,
    presence,
    prior_odds,
    prior_probability,
    privacy_loss,
)
from priste.events import Event
from priste.worlds import compile_event
from tests.oracles import joints_by_enumeration, naive_pattern_joint
from tests.strategies import generators, random_event, random_stochastic


def test_random_boolean_events_agree_with_enumeration_at_every_prefix() -> None:
    compared: set[Event] = set()  # those to which at least two steps matter
    widest = []
    for seed in range(1_500):
        random = np.random.default_rng(seed)
        n_cells, n_steps = int(random.integers(2, 6)), int(random.integers(2, 7))
        event = random_event(random, n_cells, n_steps, depth=int(random.integers(1, 5)))
        transitions = random_stochastic(random, (n_steps + 1, n_cells, n_cells), zeros=0.4)
        initial = random_stochastic(random, (n_cells,), zeros=0.3)
        emissions = random.random((n_steps, n_cells)) * (random.random((n_steps, n_cells)) > 0.1)
        mobility = Mobility(transitions, initial)
        try:
            worlds = compile_event(event, n_cells)
        except EventError:
            continue  # true for every path or for none, see test_worlds
        expected = joints_by_enumeration(event, list(transitions), initial, list(emissions))
        prior = prior_probability(event, mobility)
        assert prior == pytest.approx(expected[0][0], rel=1e-12, abs=0)
        for seen in range(n_steps + 1):
            found = joint_probability(event, mobility, initial, list(emissions[:seen]))
            assert found == pytest.approx(expected[seen], rel=1e-12, abs=0)
        if len(worlds.moves) > 1 and event not in compared:
            compared.add(event)
            widest.append(worlds.width)
    assert len(compared) >= 500
    assert sum(width > 2 for width in widest) >= 150


@settings(max_examples=60)
@given(generators(), st.integers(2, 4), st.integers(1, 4))
def test_pattern_agrees_with_the_naive_algorithm_of_the_appendix(
    random: np.random.Generator, n_cells: int, length: int
) -> None:
    transition = random_stochastic(random, (n_cells, n_cells), zeros=0.2)
    initial = random_stochastic(random, (n_cells,))
    columns = random.random((length + 1, n_cells))
    columns[0] = 1.0  # nothing is released before the pattern starts
    regions = [
        sorted(random.choice(n_cells, size=random.integers(1, n_cells), replace=False).tolist())
        for _ in range(length)
    ]
    found, _ = joint_probability(
        pattern(regions, start=1), Mobility(transition), initial, list(columns)
    )
    expected = naive_pattern_joint(transition, initial, list(columns[1:]), regions)
    assert found == pytest.approx(expected, rel=1e-12, abs=0)


def test_odds_and_loss_of_a_known_prior_tell_the_same_story() -> None:
    random = np.random.default_rng(3)
    mobility = Mobility(random_stochastic(random, (4, 4)))
    initial = random_stochastic(random, (4,))
    event = presence({1, 2}, [2, 4])
    emissions = list(random.random((7, 4)))
    before = prior_odds(event, mobility, initial)
    after = posterior_odds(event, mobility, emissions, initial=initial)
    loss = privacy_loss(event, mobility, emissions, prior=KnownPrior(initial))
    np.testing.assert_allclose(loss, np.abs(np.log(after / before)), rtol=1e-12, atol=0)
    one_sided = privacy_loss(event, mobility, emissions, prior=KnownPrior(initial), sides="event")
    np.testing.assert_allclose(one_sided, np.log(after / before), rtol=1e-11, atol=0)


def test_a_release_that_tells_nothing_costs_nothing() -> None:
    mobility = Mobility(random_stochastic(np.random.default_rng(5), (5, 5)))
    losses = privacy_loss(presence({0}, [1, 3]), mobility, [np.full(5, 0.2)] * 6)
    np.testing.assert_allclose(losses, 0, atol=1e-14)


def test_logarithms_of_joint_probabilities_survive_long_streams() -> None:
    mobility = Mobility([[0.9, 0.1], [0.2, 0.8]])
    emissions = [[0.01, 0.02]] * 1000
    event = at(0, step=5)
    assert joint_probability(event, mobility, [0.5, 0.5], emissions) == (0.0, 0.0)
    logs = joint_probability(event, mobility, [0.5, 0.5], emissions, log=True)
    assert all(-5000 < value < -3000 for value in logs)
    short = joint_probability(event, mobility, [0.5, 0.5], emissions[:8])
    logs = joint_probability(event, mobility, [0.5, 0.5], emissions[:8], log=True)
    assert logs == pytest.approx([math.log(p) for p in short], rel=1e-12, abs=0)


def test_the_prior_defaults_to_the_initial_distribution_of_the_mobility() -> None:
    mobility = Mobility([[0.9, 0.1], [0.2, 0.8]], initial=[0.3, 0.7])
    assert prior_probability(at(0, step=0), mobility) == 0.3
    assert prior_odds(at(0, step=0), mobility) == pytest.approx(3 / 7, rel=1e-14)
