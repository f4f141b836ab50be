"""Results that were never measured, made to agree or disagree with the paper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from priste.reproduce.experiments import FAST, experiments
from priste.reproduce.kept import Kept
from priste.reproduce.settings import EARLY, LATE, Setting
from priste.reproduce.verdicts import Results

Share = Callable[[Setting], tuple[float, float]]
"""The share of the budget that is kept during the event and at other times."""


def filled(
    folder: Path,
    share: Share,
    error: Callable[[Setting], float],
    *,
    realised: float,
    seconds: dict[str, Callable[[int], float]],
    thresholds: list[tuple[float, float, float]],
    spread: Callable[[Setting], float] = lambda setting: 0.001 * setting.alpha,
) -> Results:
    """Results of the fast mode, everything in them by rule."""
    kept = Kept(folder, FAST.steps)
    for setting in {s for e in experiments(FAST) for s in e.settings()}:
        kept.add(setting, [_run(setting, share, error, spread, seed) for seed in range(3)])
        kept.add_audit(setting, {"realised": realised * setting.epsilon})
    points = {
        kind: [
            {kind: n, "ours": seconds["ours"](n), "naive": seconds[kind](n)} for n in range(5, 16)
        ]
        for kind in ("length", "width")
    }
    kept.measure("runtime", {"points": points})
    rows: list[dict[str, Any]] = [
        {"threshold": t, "undecided": u, "seconds": s, "budget": b}
        for t, (u, s, b) in zip((0.1, 1.0, None), thresholds, strict=True)
    ]
    kept.measure("thresholds", {"rows": rows})
    return Results(kept, {})


def _run(
    setting: Setting,
    share: Share,
    error: Callable[[Setting], float],
    spread: Callable[[Setting], float],
    seed: int,
) -> dict[str, Any]:
    during, outside = share(setting)
    course = np.full(FAST.steps, outside)
    for event, times in (("early", EARLY), ("late", LATE)):
        if setting.event in (event, "both") or (setting.event == "pattern" and event == "early"):
            course[times.start : times.stop] = during
    return {
        "seed": seed,
        "released": [0] * FAST.steps,
        "budgets": (setting.alpha * course + spread(setting) * (seed - 1)).tolist(),
        "errors": [error(setting) * (1 + 0.001 * (seed - 1))] * FAST.steps,
        "accounted": [setting.epsilon] * FAST.steps,
    }
