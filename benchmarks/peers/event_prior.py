"""The prior of an event, from every start, beside a model checker."""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.paper_run import EVENT, GRID
from benchmarks.peers.compare import Found, in_turn, row
from benchmarks.peers.talk import Conversation
from priste import Event, Mobility, at, at_least
from priste.checks import Array
from priste.evidence import EventModel

REGION = range(10)
LAST = EVENT.steps[-1]
TWICE = at_least(2, [at(REGION, step) for step in range(LAST + 1)])
MOBILITY = Mobility.gaussian(GRID, 1.0)


@cache
def problem() -> dict[str, Any]:
    """Return the chain of the cells, and its product with a count of visits: 0, 1, 2 or more."""
    n = GRID.n_cells
    inside = np.isin(np.arange(n), REGION)
    move = MOBILITY.transition(0)
    stay, count, none = move * ~inside, move * inside, 0 * move
    return {
        "transition": move,
        "region": inside,
        "window": np.array([EVENT.steps[0], LAST]),
        "product": np.block([[stay, count, none], [none, stay, count], [none, none, move]]),
        "twice": np.arange(3 * n) >= 2 * n,
        "starts": np.arange(n) + n * inside,
    }


def chances(event: Event) -> Array:
    """Return the probability of the event from each cell at the start."""
    return EventModel(event, MOBILITY).prior[0]


def compare(peer: Conversation) -> Found:
    works = {
        "presence": (EVENT, "a visit within a window of time, as a bounded property of the cells"),
        "twice": (TWICE, "two visits or more, on the product chain"),
    }
    rows = []
    for work, (event, words) in works.items():
        turns = in_turn(peer, work, lambda event=event: chances(event), repeats=5)  # type: ignore[misc]
        agreement = f"the same probabilities to {turns.apart.max():.0e}"
        what = f"prior of an event from each of {GRID.n_cells} cells: {words}"
        rows.append(row(what, turns.ours, turns.theirs, agreement))
    return Found(rows, [])
