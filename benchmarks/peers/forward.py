"""The forward computation beside chains lifted to twice the states."""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.paper_run import GRID, STEPS
from benchmarks.peers.compare import Found, in_turn, row
from benchmarks.peers.talk import Conversation
from priste import AnyPrior, Mobility, PlanarLaplace, joint_probability, presence
from priste.checks import Array
from priste.evidence import EventModel, Evidence

REGION = range(10)
EVENT = presence(REGION, range(STEPS))  # at every step: the lifted matrix is the same throughout
MOBILITY = Mobility.gaussian(GRID, 1.0)


@cache
def columns() -> list[Array]:
    """Return the emission columns of the releases along a path."""
    return list(PlanarLaplace(GRID, 0.5).emission()[:, MOBILITY.sample(STEPS, seed=0)].T)


@cache
def problem() -> dict[str, Any]:
    """Return the lifted chain, ready made: world 0 (not yet) and then world 1 (happened)."""
    inside = np.isin(np.arange(GRID.n_cells), REGION)
    move = MOBILITY.transition(0)
    lifted = np.block([[move * ~inside, move * inside], [0 * move, move]])
    beliefs = np.vstack([MOBILITY.initial, np.eye(GRID.n_cells)])
    starts = np.hstack([beliefs * ~inside, beliefs * inside])
    return {
        "lifted": lifted,
        "likelihoods": np.tile(columns(), 2),
        "one": starts[:1],
        "every": starts[1:],
    }


def one() -> Array:
    """Return the logarithms of Pr(releases, ¬E) and Pr(releases, E) for one belief."""
    happened, failed = joint_probability(EVENT, MOBILITY, MOBILITY.initial, columns(), log=True)
    return np.array([[failed], [happened]])


def every() -> Array:
    """Return the same for somebody at each cell at the start, one column each."""
    evidence = Evidence.start(EventModel(EVENT, MOBILITY), AnyPrior())
    for step, column in enumerate(columns()):
        evidence = (evidence.advance() if step else evidence).observe(column)
    _, _, b, d, exponents = evidence.four_vectors()
    with np.errstate(divide="ignore"):  # who starts in the region cannot avoid it
        return np.asarray(np.log([d, b]) + exponents * np.log(2))


def compare(peer: Conversation) -> Found:
    works = {
        "one": (one, f"forward pass, {GRID.n_cells} cells, {STEPS} steps, one belief"),
        "every": (every, f"the same for {GRID.n_cells} beliefs at once"),
    }
    rows = []
    for work, (ours, words) in works.items():
        if work in peer.greeting["works"]:
            turns = in_turn(peer, work, ours, repeats=5 if work == "one" else 1)
            rows.append(row(words, turns.ours, turns.theirs, agreement(turns.apart)))
    return Found(rows, [])


def agreement(apart: Array) -> str:
    """Say how far logarithms of probabilities are apart."""
    if apart.max() < 1e-6:
        return f"the same probabilities to {apart.max():.0e} relative"
    largest, middle = np.exp([apart.max(), np.median(apart)])
    return f"off by a factor of up to {largest:.3g} (half of them by {middle:.3g} or less)"
