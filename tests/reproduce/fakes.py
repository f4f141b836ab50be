"""Results that were never measured, made to agree or disagree with the paper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from priste.reproduce.experiments import FAST, experiments
from priste.reproduce.kept import Kept, Record
from priste.reproduce.settings import EARLY, LATE, Setting
from priste.reproduce.verdicts import Results

Share = Callable[[Setting], tuple[float, float]]
"""The share of the budget that is kept during the event and at other times."""


def filled(
    folder: Path,
    share: Share,
    error: Callable[[Setting], float],
    *,
    realised: float = 0.9,
    accounted: float = 1.0,
    seconds: dict[str, Callable[[int], float]],
    thresholds: list[tuple[float, float, float, float]],
    spread: float = 0.001,
    seed: int = 0,
) -> Results:
    """Results of the fast mode, everything in them by rule, with chance of some spread."""
    random = np.random.default_rng(seed)
    kept = Kept(folder, FAST.steps, ["somebody"])
    every = tuple(experiments(FAST))
    for setting in dict.fromkeys(s for e in every for s in e.settings()):
        runs = [_run(setting, share, error, spread, random, k) for k in range(8)]
        audit = {"realised": realised * setting.epsilon, "to the end": True}
        kept._records[setting] = Record(runs, audit)
    points: dict[str, list[dict[str, Any]]] = {
        kind: [
            {kind: n, "ours": seconds["ours"](n), "naive": seconds[kind](n)} for n in range(5, 16)
        ]
        for kind in ("length", "width")
    }
    points["cells"] = [
        {"cells": m, "ours": seconds["cells"](m), "naive": None} for m in (100, 200, 400, 800)
    ]
    kept.measure("runtime", {"points": points})
    rows: list[dict[str, Any]] = [
        {
            "threshold": threshold,
            "accounted": accounted,
            **{
                name: (value * (1 + spread * random.normal(size=8))).tolist()
                for name, value in zip(
                    ("undecided", "seconds", "budget", "error"), values, strict=True
                )
            },
        }
        for threshold, values in zip((0.1, 1.0, None), thresholds, strict=True)
    ]
    kept.measure("thresholds", {"rows": rows, "epsilon": 1.0})
    return Results(kept, every, {})


def _run(
    setting: Setting,
    share: Share,
    error: Callable[[Setting], float],
    spread: float,
    random: np.random.Generator,
    seed: int,
) -> dict[str, Any]:
    during, outside = share(setting)
    course = np.full(FAST.steps, outside)
    for event, times in (("early", EARLY), ("late", LATE)):
        if setting.event in (event, "both") or (setting.event == "pattern" and event == "early"):
            course[times.start : times.stop] = during
    reduced = np.clip(course * (1 - spread * np.abs(random.normal(size=FAST.steps))), 0, 1)
    distances = error(setting) * (1 + spread * random.normal()) * (3 - 2 * course)
    return {
        "seed": seed,
        "released": [0] * FAST.steps,
        "budgets": (setting.alpha * np.where(course < 1, reduced, 1.0)).tolist(),
        "errors": distances.tolist(),
        "accounted": [setting.epsilon] * FAST.steps,
    }
