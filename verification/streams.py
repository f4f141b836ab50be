"""Whole streams reveal what the accounting says: the odds among millions of people, counted.

People move by the model, each stream goes through the algorithm with draws of its own, and we count
who was at the secret place among those with equal releases. `Retry` is simulated from its
description in the paper; its leak must show.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from tests.oracles import all_paths, path_probabilities, sequence_probabilities, truths

from priste import (
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    Mobility,
    OptimalRemap,
    Protect,
    Protector,
    Retry,
    audit,
    presence,
)
from priste.auditing import Finding as Audited
from priste.calibration import Calibration, Situation
from priste.calibration.schedule import weaker_and_weaker
from priste.checks import Array
from priste.dyadic import TICKETS, winner
from priste.stream import PublicState
from verification.report import Finding, times
from verification.statistics import ALARM, agree, noticeable, nudged, shown, surprise

MISTAKE = "a probability of 0.001 moved from the likeliest outcome of a stream to the least likely"
GRID = Grid(1, 3)
MOBILITY = Mobility.gaussian(GRID, 1.0)
EVENT, EPSILON = presence({0}, [1, 2]), 0.5
BELIEF = np.array([0.2, 0.3, 0.5])
STEPS = 3
PEOPLE = 20_000_000
CALIBRATIONS: dict[str, Calibration] = {
    "EveryOutput": EveryOutput(),
    "OptimalRemap": OptimalRemap(GRID.distances),
    "Retry": Retry(),
}

Sequence = tuple[int, ...]


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare every sequence of releases, with and without the event, and the worst of them."""
    for name, calibration in CALIBRATIONS.items():
        seen = streams(name, effort)
        exact = nudged(seen.exact, noticeable(effort)) if mistaken else seen.exact
        yield agree(
            f"{name}: releases with and without the event, every path enumerated",
            seen.counted,
            exact,
        )
        yield accounted_odds(name, seen, is_true=calibration.is_guarantee)
        yield worst_sequence(name, seen)
        yield promise(name, seen.counted, exact)


def accounted_odds(name: str, seen: "Seen", *, is_true: bool) -> Finding:
    """Compare the odds that the calibration itself accounts for, after every stream."""
    p = surprise(seen.happened, seen.chance, seen.people)
    numbers = f"{len(seen.people)} distinct histories, {shown(p)}"
    if is_true:
        return Finding(f"{name}: the odds by its own accounting", numbers, p >= ALARM)
    return Finding(
        f"{name}: the odds by its own accounting are not the true ones", numbers, p < ALARM
    )


def worst_sequence(name: str, seen: "Seen") -> Finding:
    """Compare the odds after the sequence that the audit calls the worst."""
    sequence, after = seen.audited.sequence, seen.audited.odds[-1][1]
    happened, failed = seen.counted[code(sequence)]
    expected = float(seen.exact[code(sequence)].sum() * seen.counted.sum())
    p = surprise(np.array([happened]), np.array([after / (1 + after)]), int(happened + failed))
    numbers = (
        f"{happened:,} people with the event and {failed:,} without ({expected:,.3g} expected in "
        f"all), odds of {after:.4f} by the audit, {shown(p)}"
    )
    return Finding(f"{name}: after the worst sequence {sequence}", numbers, p >= ALARM)


def promise(name: str, counted: NDArray[np.int64], exact: Array) -> Finding:
    """Tell whether the counts refute that no odds change by more than e^ε."""
    a = exact[:, 0].sum()
    prior, totals = a / (1 - a), counted.sum(axis=1)
    most, least = (prior * math.exp(sign * EPSILON) for sign in (1, -1))
    too_many = binom.sf(counted[:, 0] - 1, totals, most / (1 + most)).min()
    too_few = binom.cdf(counted[:, 0], totals, least / (1 + least)).min()
    p = min(1.0, 2 * len(counted) * float(min(too_many, too_few)))
    common = counted[counted.min(axis=1) >= 100]  # for reading; the verdict takes all of them
    moved = np.abs(np.log(common[:, 0] / common[:, 1] / prior))
    numbers = f"largest change {max(moved):.4f} nats, over {len(common)} sequences, {shown(p)}"
    if CALIBRATIONS[name].is_guarantee:
        return Finding(f"{name}: no odds change by more than ε = {EPSILON}", numbers, p >= ALARM)
    return Finding(f"{name}: leaks more than its ε = {EPSILON}, as it must", numbers, p < ALARM)


class Seen(NamedTuple):
    """What was counted and what was computed.

    `counted` and `exact` are people and probabilities per sequence of releases, with the event and
    without. Per history, hidden draws included, there are its `people`, in how many of them the
    event `happened`, and the `chance` of it by the calibration's own accounting.
    """

    counted: NDArray[np.int64]
    exact: Array
    people: NDArray[np.int64]
    happened: NDArray[np.int64]
    chance: Array
    audited: Audited


@cache
def streams(name: str, effort: float) -> Seen:
    """Send many people through a protector, and compute what must come out."""
    guard = Protector(
        MOBILITY,
        Exponential(GRID, 1.0),
        Protect(EVENT, EPSILON),
        prior=KnownPrior(BELIEF),
        calibration=CALIBRATIONS[name],
    )
    happened, released, crowds = simulated(guard, times(PEOPLE, effort))
    counted = np.zeros((GRID.n_cells**STEPS, 2), dtype=np.int64)
    np.add.at(counted, (released, np.where(happened, 0, 1)), 1)
    vectors = [crowd.state.evidence[0].four_vectors() for crowd in crowds]
    return Seen(
        counted,
        enumerated(guard),
        np.array([len(crowd.members) for crowd in crowds]),
        np.array([int(happened[crowd.members].sum()) for crowd in crowds]),
        np.array([float(v.b[0] / (v.b[0] + v.d[0])) for v in vectors]),
        audit(guard, STEPS).findings[0],
    )


def code(sequence: Sequence) -> int:
    """Return the number of a sequence of releases."""
    return int(np.ravel_multi_index(sequence, (GRID.n_cells,) * len(sequence)))


def enumerated(guard: Protector) -> Array:
    """Return Pr(sequence, event) and Pr(sequence, no event), over every path."""
    paths = all_paths(GRID.n_cells, STEPS)
    weights = path_probabilities(paths, [MOBILITY.transition(0)] * STEPS, BELIEF)
    table = np.zeros((GRID.n_cells**STEPS, 2))
    for path, weight, happened in zip(paths, weights, truths(EVENT, paths), strict=True):
        for sequence, chance in sequence_probabilities(guard, path.tolist()).items():
            table[code(sequence), 0 if happened else 1] += weight * chance
    return table


class Crowd(NamedTuple):
    """People who cannot be told apart by the algorithm so far: its state, and who they are."""

    state: PublicState
    members: NDArray[np.intp]


def simulated(
    guard: Protector, people: int
) -> tuple[NDArray[np.bool_], NDArray[np.int16], list[Crowd]]:
    """Return who had the event, the number of everybody's sequence, and the crowds at the end."""
    random = np.random.default_rng(6)
    paths = np.empty((people, STEPS), dtype=np.int8)
    paths[:, 0] = random.choice(GRID.n_cells, people, p=BELIEF)
    for t in range(1, STEPS):
        paths[:, t] = draw(MOBILITY.transition(t - 1), paths[:, t - 1], random)
    released = np.zeros(people, dtype=np.int16)
    crowds = [Crowd(guard.beginning(), np.arange(people))]
    for t in range(STEPS):
        crowds = [
            after
            for crowd in crowds
            for after in one_step(guard.calibration, crowd, paths[:, t], released, random)
        ]
    return truths(EVENT, paths), released, crowds


def one_step(
    calibration: Calibration,
    crowd: Crowd,
    cells: NDArray[np.int8],
    released: NDArray[np.int16],
    random: np.random.Generator,
) -> Iterator[Crowd]:
    """Release a cell for everybody in a crowd; yield the crowds it falls into."""
    now = crowd.state.arrive()
    waiting = crowd.members
    for emission, passes in rounds(calibration, now.situation()):
        outputs = draw(emission, cells[waiting], random)
        for output in np.flatnonzero(passes).tolist():
            members = waiting[outputs == output]
            if len(members):
                released[members] = GRID.n_cells * released[members] + output
                # with no warm start, as in the enumeration: each step is planned afresh
                yield Crowd(now.observe(emission[:, output], None), members)
        waiting = waiting[~passes[outputs]]


def rounds(
    calibration: Calibration, situation: Situation
) -> Iterator[tuple[Array, NDArray[np.bool_]]]:
    """Yield what is drawn from in turn, and which outputs end the loop."""
    everything = np.ones(GRID.n_cells, dtype=bool)
    if isinstance(calibration, Retry):
        schedule = weaker_and_weaker(situation.mechanism, calibration.decay, calibration.weakenings)
        for mechanism in schedule:
            emission = mechanism.lottery()
            passing = [mechanism.budget == 0 or situation.allows(column) for column in emission.T]
            yield emission, np.array(passing)
    elif isinstance(calibration, EveryOutput | OptimalRemap):
        yield calibration.plan(situation).emission, everything


def draw(matrix: Array, cells: NDArray[np.int8], random: np.random.Generator) -> NDArray[np.intp]:
    """Return a draw from the row of each cell, by tickets where the row is made of them."""
    drawn = np.empty(len(cells), dtype=np.intp)
    for cell in range(len(matrix)):
        here = cells == cell
        bits = random.integers(TICKETS, size=int(here.sum()))
        try:
            drawn[here] = winner(matrix[cell], bits)
        except ValueError:
            drawn[here] = np.searchsorted(np.cumsum(matrix[cell])[:-1], bits / TICKETS)
    return drawn
