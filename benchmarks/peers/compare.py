"""What every comparison does: the same work in turn, ours and theirs, values before speed."""

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import seconds
from benchmarks.peers.install import Unavailable
from benchmarks.peers.talk import Answer, Conversation
from priste.checks import Array

Row = dict[str, Any]
"""One line of results, ready for JSON."""


class Found(NamedTuple):
    rows: list[Row]
    laws: list[Row]
    """What was measured of the noise itself; nothing for other comparisons."""


class Turns(NamedTuple):
    """Seconds of each round, our value, and theirs of each round."""

    ours: list[float]
    theirs: list[float]
    value: Any
    their_values: list[Any]

    @property
    def apart(self) -> Array:
        """How far their last value is from ours, entry by entry."""
        return differences(self.value, self.their_values[-1])


def in_turn(
    peer: Conversation, work: str, ours: Callable[[], Any], *, rounds: int = 7, repeats: int = 1
) -> Turns:
    """Let both do the work once to warm up and then in turn, ours `repeats` times a round."""
    turns = Turns([], [], ours(), [])
    _done(peer, work)
    for _ in range(rounds):
        turns.ours.append(seconds(ours, repeats))
        answer = _done(peer, work)
        turns.theirs.append(answer.seconds)
        turns.their_values.append(answer.value)
    return turns


def _done(peer: Conversation, work: str) -> Answer:
    answer = peer.ask(work)
    if answer.error:
        raise Unavailable(f"its work failed: {answer.error}")
    return answer


def row(
    work: str, ours: list[float], theirs: list[float], agreement: str, *, at_least: bool = False
) -> Row:
    """Return a line of results; with `at_least` the peer did not finish all of its work."""
    line: Row = {"work": work, "agreement": agreement, "rounds": len(ours)}
    if not ours:
        return line
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    spreads = {"ours": ours, "theirs": theirs, "ratio": ratios}
    return (
        line | {name: spread(values) for name, values in spreads.items()} | {"at_least": at_least}
    )


def spread(values: list[float]) -> dict[str, float]:
    """Return median, smallest and largest."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def differences(ours: Any, theirs: Any) -> Array:
    """Return how far apart the entries are, infinities of one sign being equal."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    with np.errstate(invalid="ignore"):
        return np.where(ours == theirs, 0.0, np.abs(ours - theirs))
