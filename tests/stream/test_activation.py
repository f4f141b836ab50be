"""When an event must be tracked, beside enumeration of all paths."""

import math

import numpy as np
import pytest

from priste import EventError, Mobility, at, pattern, presence
from priste.checks import FAINTEST, Array
from priste.events import Event
from priste.stream.activation import latest_activation, spread
from tests.oracles import all_paths, joint_by_enumeration, path_probabilities, truths
from tests.strategies import random_stochastic

RANDOM = np.random.default_rng(8)
STEPS = 7
EVENTS = [
    at({0}, 4),
    presence({1}, [4, 5]),
    pattern([{0}, {2}], 5),
    at({0}, 3) & at({1}, 6),
    ~at({2}, 6),
]


def chances(event: Event, moves: Array, step: int) -> tuple[Array, Array]:
    """Pr(E) and Pr(¬E) from each cell at a step before the event begins, over every path."""
    length = event.steps[-1] + 1
    paths = all_paths(3, length)
    paths = paths[(paths[:, : step + 1] == paths[:, [step]]).all(axis=1)]  # one past for all
    holds = truths(event, paths)
    found = []
    for cell in range(3):
        weights = path_probabilities(paths[:, step:], list(moves[step:]), np.eye(3)[cell])
        found.append((weights[holds].sum(), weights[~holds].sum()))
    true, false = np.array(found).T
    return true, false


def mobility(mixing: float) -> tuple[Array, Mobility]:
    local = random_stochastic(RANDOM, (STEPS, 3, 3))
    moves = (1 - mixing) * local + mixing * random_stochastic(RANDOM, (STEPS, 1, 3))
    return moves, Mobility(moves)


def test_the_spread_is_that_of_the_log_odds() -> None:
    true = np.array([0.2, 0.5, 0.3])
    assert spread(true, 1 - true) == pytest.approx(math.log(4), abs=2e-10)
    assert spread(true, 1 - true) > math.log(4)
    assert spread(np.full(4, 0.7), np.full(4, 0.3)) == pytest.approx(0, abs=2e-10)
    assert spread(1e-40 * true, np.ones(3)) == pytest.approx(math.log(2.5), abs=2e-10)


@pytest.mark.parametrize("least", [0.0, FAINTEST / 2])
def test_the_spread_is_infinite_where_a_chance_cannot_be_followed(least: float) -> None:
    faint, sure = np.array([least, 0.5]), np.array([1.0, 0.5])
    assert spread(faint, sure) == math.inf
    assert spread(sure, faint) == math.inf
    assert spread(np.array([FAINTEST, FAINTEST]), np.ones(2)) < 1e-9


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("mixing", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("most", [0.02, 0.2, 1.0])
def test_the_latest_step_is_the_latest(event: Event, mixing: float, most: float) -> None:
    moves, model = mobility(mixing)
    spreads = [spread(*chances(event, moves, step)) for step in range(event.steps[0] + 1)]
    assert spreads == sorted(spreads)  # it only falls going back
    enough = [step for step, found in enumerate(spreads) if found <= most]
    for now in (0, 2):
        found = latest_activation(event, model, now, most)
        assert found.step == max([step for step in enough if step >= now], default=now)
        assert found.charge == pytest.approx(spreads[found.step], abs=1e-11)


@pytest.mark.parametrize("event", EVENTS)
def test_it_waits_as_soon_as_the_spread_is_small_enough(event: Event) -> None:
    moves, model = mobility(0.3)
    step = event.steps[0] - 1
    exact = spread(*chances(event, moves, step))
    assert latest_activation(event, model, 0, exact + 1e-9).step == step
    assert latest_activation(event, model, 0, exact - 1e-9).step == step - 1


@pytest.mark.parametrize("event", EVENTS)
def test_no_release_before_it_moves_anybodys_odds_by_more_than_the_charge(event: Event) -> None:
    moves, model = mobility(0.3)
    step, charge = latest_activation(event, model, 1, most=0.5)
    assert step >= 1
    moved = []
    for _ in range(40):
        columns = RANDOM.random((step, 3)) ** RANDOM.choice([1, 8])
        belief = random_stochastic(RANDOM, (3,), zeros=0.5)
        before = joint_by_enumeration(event, list(moves), belief, [])
        after = joint_by_enumeration(event, list(moves), belief, list(columns))
        moved.append(abs(math.log(after[0] / after[1]) - math.log(before[0] / before[1])))
    assert 0 < max(moved) <= charge


def test_the_charge_is_all_that_full_disclosure_tells() -> None:
    moving = np.array([[0.6, 0.4], [0.5, 0.5]])
    model = Mobility([np.eye(2), np.eye(2), moving])  # nobody moves until step 2
    step, charge = latest_activation(at({0}, 3), model, 0, most=0.5)
    nearly_sure = np.array([1e-9, 1 - 1e-9])
    before = joint_by_enumeration(at({0}, 3), [np.eye(2), np.eye(2), moving], nearly_sure, [])
    assert step == 2
    assert charge == pytest.approx(math.log(1.5) - math.log(before[0] / before[1]), abs=1e-8)


def test_an_event_from_which_every_state_is_decided_is_tracked_now() -> None:
    still = Mobility(np.eye(3))
    assert latest_activation(at({0}, 5), still, 2, most=0.5) == (2, math.inf)


@pytest.mark.parametrize(("cells", "verdict"), [({2}, "cannot happen"), ({0, 1}, "cannot fail")])
def test_an_event_that_the_model_decides_is_refused(cells: set[int], verdict: str) -> None:
    never = Mobility([[0.5, 0.5, 0.0]] * 3)
    with pytest.raises(EventError, match=verdict):
        latest_activation(at(cells, 4) & at({0, 1, 2}, 3), never, 3, most=0.1)
