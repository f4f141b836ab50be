"""The runtime of an event's joint probability: two worlds, and the sum over trajectories.

PATTERN events with random regions on a map of 20 × 20 cells. The paper's naive algorithm (its
appendix) multiplies along each trajectory that satisfies the event. It is compiled here, as ours
is, and skipped where it would take too long.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.checks import Array
from priste.events import pattern
from priste.grid import Grid
from priste.mobility import Mobility
from priste.progress import Progress
from priste.quantify import joint_probability
from reproduction.experiments import Mode

SIZES = range(5, 16)
"""Event lengths at a width of 5 cells, and widths at a length of 5, as in the paper."""

SIDES = (24, 32, 40, 48, 56)
"""Of maps, for events of length and width 5: where the products take longer than the calls."""

_PER_MOVE = 5e-9  # seconds for a move of a trajectory, roughly
_START = 1


@njit(cache=True)
def naive(transition: Array, before: Array, columns: Array, regions: NDArray[np.int64]) -> float:
    """Return Pr(releases, PATTERN), one trajectory after another.

    `before` are the probabilities of the cells at the first step, with its release;
    ``columns[t]`` and ``regions[t]`` belong to step t after it.
    """
    length, width = regions.shape
    arrived = before @ transition
    digits = np.zeros(length, dtype=np.int64)
    total = 0.0
    while True:
        cell = regions[0, digits[0]]
        probability = arrived[cell] * columns[0, cell]
        for t in range(1, length):
            following = regions[t, digits[t]]
            probability *= transition[cell, following] * columns[t, following]
            cell = following
        total += probability
        t = length - 1
        while t >= 0 and digits[t] == width - 1:
            digits[t] = 0
            t -= 1
        if t < 0:
            return float(total)
        digits[t] += 1


def measure(mode: Mode, progress: Progress) -> dict[str, Any]:
    """Return the median seconds of our and the naive algorithm, by length, by width and by cells.

    Events of all sizes take turns, so that a slow spell of the machine affects all of them.
    """
    events = 4 if mode.is_fast else 100
    patience = 0.5 if mode.is_fast else 20.0  # seconds that one naive sum may be expected to take
    plan = [("length", size, _Point(length=size)) for size in SIZES]
    plan += [("width", size, _Point(width=size)) for size in SIZES]
    plan += [("cells", side**2, _Point(side=side)) for side in SIDES]
    naive(np.eye(1), np.ones(1), np.ones((1, 1)), np.zeros((1, 1), dtype=np.int64))  # compiled
    for seed in range(events):
        for _, _, point in plan:
            point.run(seed, patience)
        progress((seed + 1) / events)
    points: dict[str, list[dict[str, Any]]] = {"length": [], "width": [], "cells": []}
    for kind, value, point in plan:
        points[kind].append({kind: value, **point.found()})
    worst = max(point.difference for _, _, point in plan)
    return {"points": points, "events": events, "largest relative difference": worst}


@cache
def _mobility(side: int) -> Mobility:
    return Mobility.gaussian(Grid(side, side), 10.0)


@dataclass
class _Point:
    """Events of one length and width on one map, and the seconds they took."""

    length: int = 5
    width: int = 5
    side: int = 20
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    difference: float = 0.0

    def run(self, seed: int, patience: float) -> None:
        """Time a random event, by the naive sum too if it is expected to end in time."""
        cells, mobility = self.side**2, _mobility(self.side)
        random = np.random.default_rng([self.length, self.width, self.side, seed])
        regions = np.array(
            [random.choice(cells, self.width, replace=False) for _ in range(self.length)]
        )
        columns = random.random((self.length + 1, cells))
        initial = np.full(cells, 1 / cells)
        inputs = pattern(regions.tolist(), _START), mobility, initial, columns
        joint_probability(*inputs)  # what was in the caches came from another size
        joint, taken = _timed(joint_probability, *inputs)
        self.ours.append(taken)
        # some of the many events are enough for a time that hardly varies
        expected = self.trajectories * self.length * _PER_MOVE
        if expected < patience and sum(self.theirs) < 2 * patience:
            transition, before = mobility.transition(0), initial * columns[0]
            total, taken = _timed(naive, transition, before, columns[1:], regions)
            self.theirs.append(taken)
            self.difference = max(self.difference, abs(total / joint[0] - 1))

    @property
    def trajectories(self) -> int:
        """How many satisfy the event."""
        return int(self.width**self.length)

    def found(self) -> dict[str, Any]:
        """Return the medians."""
        return {
            "trajectories": self.trajectories,
            "ours": float(np.median(self.ours)),
            "naive": float(np.median(self.theirs)) if self.theirs else None,
        }


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work(*arguments)
    return result, time.perf_counter() - start
