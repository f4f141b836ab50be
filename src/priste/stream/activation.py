"""How early an event must be tracked: as long as its spread is small, it can wait.

Let h(j) be the probability of the event from state j at some step before it begins. Whatever was
released until then, and whatever anybody believed at the start, leaves the odds on the event
between the smallest and the largest of h(j) / (1 − h(j)). So nobody's odds have moved by more than

    spread = max_j logit h(j) − min_j logit h(j),

which is charged to the event's ε once; nothing need be tracked before. Going back in time h is
averaged over more and more moves, so the spread only falls.
"""

from typing import NamedTuple

import numpy as np

from priste.checks import FAINTEST, Array
from priste.errors import EventError
from priste.events import Event
from priste.evidence import EventModel
from priste.mobility import Mobility


class Activation(NamedTuple):
    """The step from which an event is tracked, and what the releases before may have told."""

    step: int
    charge: float


def latest_activation(event: Event, mobility: Mobility, now: int, most: float) -> Activation:
    """Return the latest step, not before `now`, at which the spread is at most `most`.

    If there is none, it is `now` with the spread that the event has now: above `most`, and
    infinite where the event is certain or impossible from some states only.
    """
    step = event.steps[0]
    chances = EventModel(event, mobility, first=step).chances
    for chance, verdict in zip(chances, ("cannot happen", "cannot fail"), strict=True):
        if not chance.any():
            raise EventError(
                f"under this mobility the event {verdict}, so there is nothing to protect: "
                f"{event!r}"
            )
    while (charge := spread(*chances)) > most and step > now:
        step -= 1
        transition = mobility.transition(step)
        chances = (transition @ chances[0], transition @ chances[1])
    return Activation(step, charge)


def spread(true: Array, false: Array) -> float:
    """Return how far the log-odds of the states lie apart, rounded up.

    It is infinite where a chance is too faint to be followed once the event is live.
    """
    if min(true.min(), false.min()) < FAINTEST:
        return np.inf
    log_odds = np.log(true) - np.log(false)
    return float(np.ptp(log_odds)) + _ROUNDING


_ROUNDING = 1e-10  # more than floating point can have lost on the way
