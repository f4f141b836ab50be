"""Protected streams of one setting: their budgets, errors and losses, and the audited truth."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from priste.auditing import Audit, audit
from priste.errors import HistoriesLostError
from priste.priors import KnownPrior
from priste.protector import Protector
from priste.reproduce.kept import interval
from priste.reproduce.settings import EARLY, LATE, Setting, World, protector


def run_streams(
    setting: Setting, world: World, steps: int, seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Return one record per run."""
    plans: dict[tuple[int, ...], Any] = {}
    return [_run(setting, world, steps, seed, plans) for seed in seeds]


def _run(
    setting: Setting, world: World, steps: int, seed: int, plans: dict[tuple[int, ...], Any]
) -> dict[str, Any]:
    guard = protector(setting, world, seed, plans)
    releases = list(guard.stream(world.path(steps, seed)))
    between = world.grid.distances
    return {
        "seed": seed,
        "released": [r.cell for r in releases],
        "budgets": [r.private.budget for r in releases],
        "errors": [float(between[r.private.true_cell, r.cell]) for r in releases],
        "accounted": [max(r.private.losses) for r in releases],
    }


def audit_streams(
    setting: Setting, world: World, released: list[list[int]], ways: int, repeats: int
) -> dict[str, Any]:
    """Return what somebody who knows the algorithm learned from streams that were released.

    Each is followed to the end of its event; the worst of them counts. `realised` is exact, after
    as many releases as have no more than so many hidden `ways`. Where there are more, and ε held
    so far, what comes after is estimated.
    """
    steps = min(
        (LATE if setting.event in ("late", "both") else EARLY).stop, *(len(s) for s in released)
    )
    exact, releases = 0.0, steps
    estimates: list[tuple[float, float]] = []
    for sequence in released:
        guard = protector(setting, world)
        found = followed(guard, sequence, steps, ways)
        for finding in found.findings:
            exact = max(exact, float(finding.realised[: found.n_exact].max()))
        releases = min(releases, found.n_exact)
        if found.n_exact < steps and exact <= setting.epsilon and not found.worst.is_limit:
            with suppress(HistoriesLostError):
                estimates.append(estimated(guard, found, sequence, ways, repeats))
    return {
        "realised": exact,
        "streams": len(released),
        "releases": releases,
        "to the end": releases == steps,
        "estimate": max(estimates, key=lambda e: e[0] - e[1], default=None),
        "ways": ways,
        "repeats": repeats,
    }


def followed(guard: Protector, sequence: list[int], steps: int, ways: int) -> Audit:
    """Return the audit of a sequence as far as it can be followed by so many ways."""
    while True:
        try:
            return audit(guard, steps, sequences=[sequence], histories=ways, seed=0)
        except HistoriesLostError:
            steps -= 1


def estimated(
    guard: Protector, found: Audit, sequence: list[int], ways: int, repeats: int
) -> tuple[float, float]:
    """Return the loss of the worst belief that an audit found, and half its 99 % interval.

    That belief, the step and whether odds rise or fall are fixed, and the loss is estimated anew
    some times.
    """
    number = found.findings.index(found.worst)
    steps = int(np.argmax(found.realised)) + 1
    belief = KnownPrior(found.worst.belief)
    again = [
        audit(guard, steps, sequences=[sequence], prior=belief, histories=ways, seed=seed)
        for seed in range(1, repeats + 1)
    ]
    odds = np.array([found.worst.odds[steps - 1], *(a.findings[number].odds[-1] for a in again)])
    direction, *moved = np.log(odds[:, 1] / odds[:, 0])
    return interval(np.sign(direction) * np.array(moved), level=0.99)
