"""Results that were never measured: by rule, or by chance."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from reproduction.experiments import FULL, experiments
from reproduction.results_store import Record, ResultsStore
from reproduction.settings import EARLY, LATE, Setting
from reproduction.verdicts import Results

from priste.checks import Array

Stream = Callable[[Setting, np.random.Generator], tuple[Array, Array]]
"""One run of a setting: the share of the budget left and the distance, at each step."""

SPREAD = 0.001


def filled(
    folder: Path,
    stream: Stream,
    *,
    runs: int,
    audit: dict[str, Any],
    accounted: float = 1.0,
    seconds: dict[str, Callable[[int], float]],
    thresholds: Callable[[int, str], Array],
    seed: int = 0,
) -> Results:
    """Results of the full mode with so many runs each; audits and accounts in units of ε."""
    random = np.random.default_rng(seed)
    store = ResultsStore(folder, FULL.steps, ["somebody"])
    every = tuple(experiments(FULL))
    for setting in dict.fromkeys(s for e in every for s in e.settings() if s.method == "retry"):
        loss = accounted * setting.epsilon
        records = [_run(setting, stream, random, loss) for _ in range(runs)]
        found = audit | {"realised": audit["realised"] * setting.epsilon}
        store._records[setting] = Record(records, found)
    points: dict[str, list[dict[str, Any]]] = {
        kind: [
            {kind: n, "ours": seconds["ours"](n), "naive": seconds[kind](n)} for n in range(5, 16)
        ]
        for kind in ("length", "width")
    }
    points["cells"] = [
        {"cells": m, "ours": seconds["cells"](m), "naive": None} for m in (100, 200, 400, 800)
    ]
    store.save("runtime", {"points": points})
    rows: list[dict[str, Any]] = [
        {
            "threshold": threshold,
            "accounted": accounted,
            **{
                name: thresholds(number, name).tolist()
                for name in ("undecided", "seconds", "budget", "error")
            },
        }
        for number, threshold in enumerate((0.1, 1.0, None))
    ]
    store.save("thresholds", {"rows": rows, "epsilon": 1.0})
    return Results(store, every, {})


def _run(
    setting: Setting, stream: Stream, random: np.random.Generator, accounted: float
) -> dict[str, Any]:
    shares, distances = stream(setting, random)
    return {
        "budgets": (setting.alpha * shares).tolist(),
        "errors": distances.tolist(),
        "accounted": [accounted] * FULL.steps,
    }


def by_rule(
    share: Callable[[Setting], tuple[float, float]], error: Callable[[Setting], float]
) -> Stream:
    """Streams from the share of the budget left during the event and otherwise, and the distance.

    Steps with a small budget have a larger distance, and chance plays a small part.
    """

    def stream(setting: Setting, random: np.random.Generator) -> tuple[Array, Array]:
        during, outside = share(setting)
        shares = np.full(FULL.steps, outside)
        windows = {"late": [LATE], "both": [EARLY, LATE]}.get(setting.event, [EARLY])
        for steps in windows:
            shares[steps.start : steps.stop] = during
        noisy = np.clip(shares * (1 - SPREAD * np.abs(random.normal(size=FULL.steps))), 0, 1)
        distances = error(setting) * (1 + SPREAD * random.normal()) * (6 - 5 * shares)
        return np.where(shares < 1, noisy, 1.0), distances

    return stream


def by_chance(_: Setting, random: np.random.Generator) -> tuple[Array, Array]:
    """A stream that depends on nothing: some lose all of their budget, at any of their steps."""
    lost = random.random() if random.random() < 0.3 else 0.0
    shares = np.where(random.random(FULL.steps) < lost, 0.0, 1.0)
    return shares, random.lognormal(sigma=4, size=FULL.steps)
