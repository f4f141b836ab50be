"""Protected streams of one setting: budgets, distances, accounted losses, and audits."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from priste.auditing import Audit, audit
from priste.errors import HistoriesLostError
from priste.priors import KnownPrior
from priste.protector import Protector
from reproduction.cached_remap import Plans
from reproduction.findings import student
from reproduction.settings import EARLY, LATE, Dataset, Setting, protector


def run_streams(
    setting: Setting, dataset: Dataset, steps: int, seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Return one record per run."""
    plans: Plans = {}
    return [_run(setting, dataset, steps, seed, plans) for seed in seeds]


def _run(setting: Setting, dataset: Dataset, steps: int, seed: int, plans: Plans) -> dict[str, Any]:
    guard = protector(setting, dataset, seed, plans)
    releases = list(guard.stream(dataset.path(steps, seed)))
    between = dataset.grid.distances
    return {
        "seed": seed,
        "released": [r.cell for r in releases],
        "budgets": [r.private.budget for r in releases],
        "errors": [float(between[r.private.true_cell, r.cell]) for r in releases],
        "accounted": [max(r.private.losses.values()) for r in releases],
    }


def audit_streams(
    setting: Setting, dataset: Dataset, released: list[list[int]], ways: int, repeats: int
) -> dict[str, Any]:
    """Return the loss of released streams to an adversary who knows the algorithm.

    Each stream is followed to the end of its event; the worst counts. `realised` is exact, for the
    releases with at most `ways` hidden ways. If there are more, and ε held so far, the loss of the
    later releases is estimated.
    """
    steps = min(
        (LATE if setting.event in ("late", "both") else EARLY).stop, *(len(s) for s in released)
    )
    exact, releases = 0.0, steps
    estimates: list[tuple[float, float]] = []
    for sequence in released:
        guard = protector(setting, dataset)
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
    """Return the audit of a sequence, as far as this many ways can follow it."""
    while True:
        try:
            return audit(guard, steps, sequences=[sequence], histories=ways, seed=0)
        except HistoriesLostError:
            steps -= 1


def estimated(
    guard: Protector, found: Audit, sequence: list[int], ways: int, repeats: int
) -> tuple[float, float]:
    """Return the loss for the worst prior that an audit found, and half its 99 % interval.

    The prior, the step and the direction of the odds stay fixed; the loss is estimated `repeats`
    times.
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
    return student(np.sign(direction) * np.array(moved), level=0.99)
