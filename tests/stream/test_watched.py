"""An event that waits, is live and settles, beside enumeration of all paths."""

from dataclasses import replace

import numpy as np
import pytest
from verification.observers import largest_changes

from priste import AnyPrior, KnownPrior, Mobility, NearPrior, Protect, at, presence
from priste.checks import Array
from priste.events import Event
from priste.priors import Prior
from priste.stream import Account, Entry
from priste.stream.beliefs import Beliefs
from priste.stream.watched import Watched
from tests.oracles import joint_by_enumeration
from tests.strategies import random_stochastic

STEPS = 7
EVENTS = [at({0}, 1), presence({0, 1}, [1, 2]), at({2}, 1) & ~at({0}, 2)]
PRIORS = [AnyPrior(), NearPrior([0.2, 0.3, 0.5], 0.3), KnownPrior([0.3, 0.3, 0.4])]


def model(random: np.random.Generator) -> tuple[list[Array], Mobility]:
    moves = 0.6 * random_stochastic(random, (STEPS, 3, 3)) + 0.4 / 3
    return list(moves), Mobility(moves)


def live(event: Event, epsilon: float, beliefs: Beliefs, columns: Array) -> Watched:
    """The event after the releases, at the step of the next."""
    watched = Watched(Protect(event, epsilon), "it", 0, 0).activated(beliefs)
    for step, column in enumerate(columns):
        watched = watched.observe(column).arrive(step + 1)
    return watched


def loss(event: Event, moves: list[Array], prior: Prior, columns: list[Array]) -> float:
    """The loss of the worst belief, over every path."""
    vertices = prior.vertices(3)
    before = [joint_by_enumeration(event, moves, vertex, []) for vertex in vertices]
    after = [joint_by_enumeration(event, moves, vertex, columns) for vertex in vertices]
    a, not_a = np.array(before).T
    rise, fall = largest_changes(a, not_a, np.array(after)[:, ::-1])
    return float(max(rise, fall))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("prior", PRIORS)
def test_it_is_settled_when_every_disclosure_keeps_the_promise(event: Event, prior: Prior) -> None:
    random, verdicts = np.random.default_rng(2), []
    for _ in range(8):
        moves, mobility = model(random)
        columns = random.uniform(0.6, 1, (STEPS - 1, 3))
        for step in range(event.steps[-1], STEPS - 1):
            told = [
                loss(event, moves, prior, [*columns[:step], disclosed]) for disclosed in np.eye(3)
            ]
            epsilon = float(random.choice([0.7, 1.0]))
            if max(told) < np.inf and random.random() < 0.5:
                epsilon = max(told) * float(random.choice([1 - 1e-6, 1 + 1e-6]))
            watched = live(event, epsilon, Beliefs.start(mobility, prior), columns[:step])
            assert watched.is_settled == (max(told) <= epsilon)
            verdicts.append(watched.is_settled)
            if watched.is_settled:  # then nothing later can break it
                later = random.random((STEPS - step, 3)) ** 8
                assert loss(event, moves, prior, [*columns[:step], *later]) <= epsilon
    assert set(verdicts) == {False, True}


def test_it_is_not_settled_before_it_is_over() -> None:
    mobility = Mobility([[0.5, 0.5], [0.5, 0.5]])
    beliefs = Beliefs.start(mobility, KnownPrior([0.5, 0.5]))
    settled = [live(at({0}, 2), 0.1, beliefs, np.ones((t, 2))).is_settled for t in range(4)]
    assert settled == [False, False, False, True]  # at step 2 its own cell would tell all


def test_what_was_charged_counts_when_it_settles() -> None:
    random = np.random.default_rng(3)
    moves, mobility = model(random)
    prior, columns = KnownPrior([0.3, 0.3, 0.4]), random.uniform(0.6, 1, (3, 3))
    told = max(loss(at({0}, 1), moves, prior, [*columns, cell]) for cell in np.eye(3))
    beliefs = Beliefs.start(mobility, prior)
    charged = Watched(Protect(at({0}, 1), told + 0.1), "it", 0, 0, activation=0.11)
    assert live(at({0}, 1), told + 0.1, beliefs, columns).is_settled
    charged = charged.activated(beliefs)
    for step, column in enumerate(columns):
        charged = charged.observe(column).arrive(step + 1)
    assert not charged.is_settled


def test_it_waits_until_its_step_and_is_charged_for_beliefs_that_merged() -> None:
    _, mobility = model(np.random.default_rng(5))
    beliefs = Beliefs.start(mobility, AnyPrior()).advance().advance().merged(most=np.inf)
    waiting = Watched(Protect(at({0}, 4), 1.0, name="it"), "it", 0, 2, 0.02, reserve=0.03)
    assert (waiting.entry().state, waiting.moved(), waiting.is_settled) == ("waiting", 0.02, False)
    assert waiting.observe(np.ones(3)) is waiting
    assert waiting.is_waiting
    assert waiting.arrive(1) is waiting
    now = waiting.activated(beliefs)
    assert now.arrive(2) is now
    entry = now.entry()
    assert (entry.state, entry.beliefs, entry.tracked_from) == ("live", 1, 2)
    assert entry.merging == beliefs.charge > 0
    assert now.left == pytest.approx(1 - 0.02 - beliefs.charge, abs=1e-15)
    assert now.promise.epsilon == pytest.approx(now.left - 0.03, abs=1e-15)
    assert now.moved() == pytest.approx(0.02 + beliefs.charge, abs=1e-12)
    assert now.entry(settled_at=6).state == "settled"


@pytest.mark.parametrize("prior", PRIORS[:2])
def test_one_past_bounds_what_every_belief_learns(prior: Prior) -> None:
    """Whatever is released later, no belief's loss exceeds that of the one by more than charged."""
    random, above = np.random.default_rng(4), []
    for event in (at({0}, 5), presence({0, 1}, [4, 5])):
        for _ in range(20):
            moves, mobility = model(random)
            full = live(event, 50.0, Beliefs.start(mobility, prior), random.random((2, 3)))
            one = full.merged(np.inf)
            assert (full.rows, one.rows) == (len(prior.vertices(3)), 2)
            assert one.evidence is not None
            assert one.evidence.has_one_past
            assert one.merging > 0
            assert one.promise.epsilon == 50 - one.merging
            assert one.merged(np.inf) is one
            assert full.merged(0.9 * one.merging) is full
            for step in range(3, STEPS):
                column = random.random(3) ** 3
                full, one = (each.observe(column).arrive(step) for each in (full, one))
                assert full.moved() <= one.moved() + 1e-12  # the charge is part of it
                above.append((full.moved() - one.moved() + one.merging) / one.merging)
    assert max(above) > 0.005  # without the charge it would not be a bound


def test_one_past_is_refused_where_no_room_is_left_for_its_charge() -> None:
    _, mobility = model(np.random.default_rng(6))
    full = live(at({0}, 5), 50.0, Beliefs.start(mobility, AnyPrior()), np.array([[0.2, 0.5, 1.0]]))
    tight = replace(full, protection=Protect(at({0}, 5), full.moved() + 1e-6))
    assert tight.is_kept
    assert tight.merged(np.inf) is tight


def test_the_account_says_what_is_tracked_for_how_many_beliefs() -> None:
    entries = (
        Entry("long", "settled", 1.0, 0.01, 0.0, 1.0, 3, 9),
        Entry("now", "live", 1.0, 0.0, 0.0, 0.5, 4, None, 9),
        Entry("soon", "waiting", 1.0, 0.0125, 0.0, 0.0125, 12),
    )
    account = Account(7, entries)
    assert str(account).splitlines() == [
        "event state   ε charged left   moved at most tracked",
        "long  settled 1 0.01    0.99   1             3 to 9",
        "now   live    1 0       1      0.5           from 4, for 9 beliefs",
        "soon  waiting 1 0.013   0.9875 0.0125        from 12",
    ]
    assert repr(account) == "<Account at step 7: 1 waiting, 1 live, 1 settled>"
    assert account["now"].left == 1.0
    assert [entry.name for entry in account.of("waiting")] == ["soon"]
    assert "<td>from 4, for 9 beliefs</td>" in account._repr_html_()
    with pytest.raises(KeyError, match="no event 'never'"):
        account["never"]
