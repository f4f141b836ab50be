"""How long an event's joint probability takes: two worlds, beside adding up every trajectory.

PATTERN events with random regions on a map of 20 × 20 cells. The paper's naive algorithm (its
appendix) multiplies along each trajectory that satisfies the event. It is compiled here, as ours
is; the trajectories beyond a limit are not waited for.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.checks import Array
from priste.events import pattern
from priste.grid import Grid
from priste.mobility import Mobility
from priste.progress import Progress
from priste.quantify import joint_probability
from priste.reproduce.experiments import Effort

SIZES = range(5, 16)
"""Event lengths at a width of 5 cells, and widths at a length of 5, as in the paper."""

SIDES = (24, 32, 40, 48, 56)
"""Of maps, for events of length and width 5: where the products take longer than the calls."""

_PER_MOVE = 5e-9  # seconds for a move of a trajectory, roughly
_START = 1


@njit(cache=True)
def naive(transition: Array, before: Array, columns: Array, regions: NDArray[np.int64]) -> float:
    """Return Pr(releases, PATTERN), one trajectory after another.

    `before` are the chances of the cells at the first step, with its release; ``columns[t]`` and
    ``regions[t]`` belong to step t after it.
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


def measure(effort: Effort, progress: Progress) -> dict[str, Any]:
    """Return the median seconds of ours and of the naive way, by length, by width and by cells."""
    events = 4 if effort.is_fast else 100
    patience = 0.5 if effort.is_fast else 20.0  # seconds that one naive sum may be expected to take
    plan = [("length", size, _Size(length=size)) for size in SIZES]
    plan += [("width", size, _Size(width=size)) for size in SIZES]
    plan += [("cells", side**2, _Size(side=side)) for side in SIDES]
    points: dict[str, list[dict[str, Any]]] = {"length": [], "width": [], "cells": []}
    worst = 0.0
    for number, (kind, value, size) in enumerate(plan, start=1):
        point, error = _point(size, events, patience)
        points[kind].append({kind: value, **point})
        worst = max(worst, error)
        progress(number / len(plan))
    return {"points": points, "events": events, "largest relative difference": worst}


class _Size(NamedTuple):
    """How long and wide an event is, and how wide its map."""

    length: int = 5
    width: int = 5
    side: int = 20


def _point(size: _Size, events: int, patience: float) -> tuple[dict[str, Any], float]:
    length, width, side = size
    grid = Grid(side, side)
    mobility = Mobility.gaussian(grid, 10.0)
    transition = mobility.transition(0)
    initial = np.full(grid.n_cells, 1 / grid.n_cells)
    trajectories = width**length
    ours: list[float] = []
    theirs: list[float] = []
    worst = 0.0
    naive(transition, initial, initial[None], np.zeros((1, 1), dtype=np.int64))  # compiled
    for seed in range(events):
        random = np.random.default_rng([length, width, seed])
        regions = np.array(
            [random.choice(grid.n_cells, width, replace=False) for _ in range(length)]
        )
        columns = random.random((length + 1, grid.n_cells))
        event = pattern(regions.tolist(), _START)
        joint, taken = _timed(joint_probability, event, mobility, initial, columns)
        ours.append(taken)
        # some of the many events are enough for a time that hardly varies
        if trajectories * length * _PER_MOVE < patience and sum(theirs) < 2 * patience:
            total, taken = _timed(naive, transition, initial * columns[0], columns[1:], regions)
            theirs.append(taken)
            worst = max(worst, abs(total / joint[0] - 1))
    point = {
        "trajectories": trajectories,
        "ours": float(np.median(ours)),
        "naive": float(np.median(theirs)) if theirs else None,
    }
    return point, worst


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work(*arguments)
    return result, time.perf_counter() - start
