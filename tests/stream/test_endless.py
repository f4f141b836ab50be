"""Whole streams, audited by an observer who shares nothing with the package but its releases."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from verification.endless import ROUNDING, audited
from verification.endless_settings import (
    Setting,
    random_setting,
    tight_merging,
    tight_settings,
    tight_waiting,
)

from priste.stream import activation, watched
from priste.stream.beliefs import Beliefs
from priste.stream.watched import Watched
from priste.worst_case import survives_disclosure

TIGHT = 1e-6

KINDS: dict[str, Callable[[Setting], bool]] = {
    "the state is a history": lambda s: s.models[0].n_states > s.models[0].n_cells,
    "several models": lambda s: len(s.models) > 1,
    "the model is exchanged": lambda s: s.exchange is not None,
    "events are asked for later": lambda s: max(step for step, _ in s.asked) > 2,
    "three events": lambda s: len(s.asked) == 3,
    "anything may be believed": lambda s: len(s.vertices) == s.models[0].n_cells,
    "one belief": lambda s: len(s.vertices) == 1,
}


def settings(kind: str, count: int) -> Iterator[Setting]:
    random = np.random.default_rng(len(kind))
    while count:
        setting = random_setting(random)
        if KINDS[kind](setting):
            count -= 1
            yield setting


@pytest.mark.parametrize("kind", KINDS)
def test_no_odds_move_by_more_than_epsilon(kind: str) -> None:
    for setting in settings(kind, 2):
        audit = audited(setting, walks=3)
        assert audit.sequences > 0
        assert audit.excess <= ROUNDING
        assert audit.off_enumeration < 1e-12
        assert audit.scanned_above < 1e-12


@pytest.fixture
def nothing_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let releases use all that charges leave of ε, so that no fault hides in the reserve."""
    monkeypatch.setattr(
        Watched, "promise", property(lambda self: replace(self.protection, epsilon=self.left))
    )


@pytest.mark.usefixtures("nothing_held_back")
@pytest.mark.parametrize("falling", [False, True])
def test_what_waiting_may_tell_is_told_where_it_can_be(falling: bool) -> None:
    audit = audited(tight_waiting(falling=falling))
    assert audit.waited
    assert -TIGHT < audit.excess <= ROUNDING


def test_beliefs_that_merged_keep_the_promise_to_each() -> None:
    audit = audited(tight_merging())
    assert audit.merged
    assert audit.settled
    assert -0.1 < audit.excess <= ROUNDING


def too_small(rule: Callable[..., float]) -> Callable[..., float]:
    return lambda *numbers: 0.95 * rule(*numbers)


def settling(steps_after: int) -> property:
    """The rule of settlement against all of ε, from some steps after the event's last on."""

    def is_settled(self: Watched) -> bool:
        evidence = self.evidence
        if evidence is None or evidence.step < evidence.model.worlds.last_step + steps_after:
            return False
        return survives_disclosure(evidence, self.protection.epsilon)

    return property(is_settled)


MUTATIONS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "the spread is 5 % too small": lambda: patch.object(
        activation, "spread", too_small(activation.spread)
    ),
    "charges are not taken off": lambda: patch.object(
        Watched, "promise", property(lambda self: self.protection)
    ),
    "merging is not charged": lambda: patch.object(Beliefs, "charge", property(lambda _: 0.0)),
    "releases are not carried to the beliefs": lambda: patch.object(
        Beliefs, "observe", lambda self, _: self
    ),
    "an event settles when it is over": lambda: patch.object(
        watched, "survives_disclosure", lambda *_, **__: True
    ),
    "an event settles against all of its ε": lambda: patch.object(
        Watched, "is_settled", settling(0)
    ),
    "an event settles a step before its end": lambda: patch.object(
        Watched, "is_settled", settling(-1)
    ),
}


@pytest.mark.usefixtures("nothing_held_back")
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_audit_notices(mutation: str) -> None:
    with MUTATIONS[mutation]():
        assert max(audited(setting).excess for setting in tight_settings()) > 0.005
