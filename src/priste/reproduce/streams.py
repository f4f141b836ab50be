"""Protected streams of one setting: their budgets, errors and losses, and the audited truth."""

from collections.abc import Sequence
from typing import Any

from priste.audit import audit
from priste.errors import AuditTooLarge
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
    setting: Setting, world: World, released: list[list[int]], limit: int
) -> dict[str, Any] | None:
    """Return what somebody who knows the algorithm learned from streams that were released.

    Each is followed to the end of its event, or as far as at most `limit` hidden states allow; the
    worst of them counts. The loss is that of these streams and a lower bound for the algorithm.
    """
    deepest = (LATE if setting.event in ("late", "both") else EARLY).stop
    followed = []
    for sequence in released:
        steps = min(deepest, len(sequence))
        try:
            found = audit(protector(setting, world), steps, sequences=[sequence], limit=limit)
        except AuditTooLarge as stopped:
            steps = stopped.releases
            if not steps:
                continue
            found = audit(protector(setting, world), steps, sequences=[sequence], limit=limit)
        followed.append((float(found.realised.max()), steps))
    if not followed:
        return None
    loss, _ = max(followed)
    least = min(steps for _, steps in followed)
    return {
        "realised": loss,
        "streams": len(followed),
        "releases": least,
        "to the end": least == deepest,
        "limit": limit,
    }
