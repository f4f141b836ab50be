"""The published loop with a real solver under a time limit, and with our test in its place.

"Conservative release": a check that is not decided within the threshold counts as failed, so the
budget is halved. Our test decides every check and needs no threshold.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from priste.calibration.calibration import Situation
from priste.calibration.retry import Retry
from priste.checks import Array
from priste.events import presence
from priste.evidence import FourVectors
from priste.grid import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import Mobility
from priste.priors import AnyPrior
from priste.progress import Progress
from priste.protection import Protect
from priste.protector import Protector
from reproduction.experiments import Mode
from reproduction.quadratic import NoOptimum, smallest_value, theorem_checks
from reproduction.settings import EARLY

TOLERANCE = 1e-6
"""How far below zero the solver's minimum may lie: its own absolute tolerance."""

NEVER = 60.0
"""Seconds that stand for no threshold."""

_STEPS, _EPSILON = EARLY.stop + 2, 0.5

_FAST, _FULL = (0.01, 0.1, None), (0.01, 0.1, 1.0, 2.0, 5.0, NEVER, None)
"""Thresholds; None is our exact test."""


@dataclass(frozen=True)
class Timed(Retry):
    """The published loop, its checks made by CPLEX within `seconds` each.

    `undecided` collects the steps with a check that was not decided.
    """

    seconds: float = 1.0
    undecided: set[int] = field(default_factory=set)
    is_guarantee: ClassVar[bool] = False

    def passes(self, situation: Situation, column: Array) -> bool:
        """Tell whether CPLEX says in time that an output passes."""
        verdict = self.verdict(situation, column)
        if verdict is None:
            self.undecided.add(situation.evidence[0].step)
        return verdict is True

    def verdict(self, situation: Situation, column: Array) -> bool | None:
        """Tell whether an output passes; None if CPLEX does not decide in time."""
        for protection, evidence in zip(situation.protections, situation.evidence, strict=True):
            a, b, c = _scaled(evidence.observe(column).four_vectors())
            for check in theorem_checks(a, b, c, protection.epsilon):
                try:
                    if smallest_value(*check, seconds=self.seconds) < -TOLERANCE:
                        return False
                except NoOptimum:
                    return None
        return True


def _scaled(vectors: FourVectors) -> tuple[Array, Array, Array]:
    """Return a, b and c, the last two as well scaled for the solver as one factor can make them."""
    a, _, b, d, exponents = vectors
    scale = np.exp2(exponents - exponents.max())
    unit = float(((b + d) * scale).max())
    return a, b * scale / unit, (b + d) * scale / unit


def measure(mode: Mode, progress: Progress, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows so far, one per threshold: time, undecided checks, budget and distance.

    The last row is our exact test in the same loop, with the same draws as far as both agree.
    Rows `known` from an earlier call are not measured again.
    """
    side, runs, plan = (12, 3, _FAST) if mode.is_fast else (20, 15, _FULL)
    about = {"runs": runs, "side": side, "steps": _STEPS, "never": NEVER, "epsilon": _EPSILON}
    rows = known.get("rows", []) if {k: known.get(k) for k in about} == about else []
    if len(rows) < len(plan):
        _row(0.01, 1, 3)  # load and warm up the solver
    for threshold in plan[len(rows) :]:
        rows.append(_row(threshold, runs, side))
        progress(len(rows) / len(plan))
        yield about | {"rows": rows}


def _row(threshold: float | None, runs: int, side: int) -> dict[str, Any]:
    grid = Grid(side, side)
    mobility, noise = Mobility.gaussian(grid, 10.0), PlanarLaplace(grid, 1.0)
    row: dict[str, Any] = {name: [] for name in ("seconds", "undecided", "budget", "error")}
    accounted = 0.0
    for seed in range(runs):
        loop = Retry() if threshold is None else Timed(seconds=threshold)
        guard = Protector(
            mobility,
            noise,
            Protect(presence(range(max(side // 2, 1)), EARLY), _EPSILON),
            prior=AnyPrior(),
            calibration=loop,
            seed=seed,
        )
        path = mobility.sample(_STEPS, seed=10_000 + seed).tolist()
        start = time.perf_counter()
        releases = list(guard.stream(path))
        row["seconds"].append(time.perf_counter() - start)
        row["undecided"].append(len(loop.undecided) if isinstance(loop, Timed) else 0)
        row["budget"].append(float(np.mean([r.private.budget for r in releases])))
        between = [grid.distances[r.private.true_cell, r.cell] for r in releases]
        row["error"].append(float(np.mean(between)))
        accounted = max(accounted, *(loss for r in releases for loss in r.private.losses.values()))
    return {"threshold": threshold, "accounted": accounted, **row}
