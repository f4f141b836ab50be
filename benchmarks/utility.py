"""What is left of the signal: mean error of the calibrations at equal ε, on the paper's map.

`python -m benchmarks utility` tries a few streams; `utility=50,FILE.json` takes 50 streams for each
setting and keeps the numbers. What is in FILE.raw.json already is not computed again.
"""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from reproduction.cached_remap import CachedRemap, Plans

from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    NoNoise,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
    presence,
)

GRID = Grid(20, 20)
EVENT = presence(range(10), range(3, 8))
STEPS = 8
"""Up to the last step of the event: later ones are easier for everybody."""

METHODS = ("remap alone", "remap over noise", "every output", "retry")
SIGMAS, EPSILONS = (1.0, 3.0, 10.0), (0.5, 0.1, 1.0, 2.0)


class Setting(NamedTuple):
    method: str
    prior: str
    sigma: float
    epsilon: float


def errors(setting: Setting, seeds: range) -> list[float]:
    """The mean distance between true and released cell of each stream."""
    plans: Plans = {}
    return [error(setting, seed, plans) for seed in seeds]


def error(setting: Setting, seed: int, plans: Plans) -> float:
    """The mean distance between true and released cell of one stream."""
    mobility = Mobility.gaussian(GRID, setting.sigma)
    uniform = np.full(GRID.n_cells, 1 / GRID.n_cells)
    mechanism = NoNoise(GRID) if setting.method == "remap alone" else PlanarLaplace(GRID, 1.0)
    calibration = {"every output": EveryOutput(), "retry": Retry()}.get(
        setting.method, CachedRemap(plans)
    )
    guard = Protector(
        mobility,
        mechanism,
        Protect(EVENT, setting.epsilon),
        prior=KnownPrior(uniform) if setting.prior == "known" else AnyPrior(),
        calibration=calibration,  # type: ignore[arg-type]
        seed=seed,
    )
    path = mobility.sample(STEPS, seed=10_000 + seed).tolist()
    return float(np.mean([GRID.distances[r.private.true_cell, r.cell] for r in guard.stream(path)]))


def summary(kept: dict[str, Any]) -> dict[str, tuple[float, float, int]]:
    """The mean, half the width of its confidence interval and the number of streams."""
    return {key: (*interval(v["errors"]), len(v["errors"])) for key, v in kept.items()}


def interval(errors: list[float]) -> tuple[float, float]:
    """The mean and half the width of its 95 % confidence interval."""
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.inf
    return float(np.mean(errors)), float(1.96 * spread)


def settings(priors: tuple[str, ...] = ("known", "any")) -> Iterator[Setting]:
    for prior, epsilon, sigma, method in product(priors, EPSILONS, SIGMAS, METHODS):
        yield Setting(method, prior, sigma, epsilon)


def measured(streams: int, path: Path | None, wanted: list[Setting]) -> dict[str, Any]:
    """The errors of each setting, computed on all cores and kept in the file as they come."""
    known: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}
    missing = {}
    for setting in wanted:
        have = len(known.get("|".join(map(str, setting)), {}).get("errors", []))
        if have < streams:
            missing[setting] = range(have, streams)
    with ProcessPoolExecutor(int(os.environ.get("WORKERS", os.cpu_count() or 1))) as pool:
        running = {pool.submit(errors, *of_setting): of_setting for of_setting in missing.items()}
        for done in as_completed(running):
            key = "|".join(map(str, running[done][0]))
            kept = known.setdefault(key, {"errors": []})
            kept["errors"] += done.result()
            if path:
                path.write_text(json.dumps(known, indent=1))
            mean, half = interval(kept["errors"])
            print(f"  {key:45s} {mean:6.2f} ± {half:.2f}", flush=True)
    return known


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("utility=")]
    streams, _, file = (words[0] if words else "2").partition(",")
    print(f"Utility: mean error in cells, {streams} streams of {STEPS} steps each")
    if words:
        found = measured(int(streams), Path(file).with_suffix(".raw.json"), list(settings()))
        Path(file).write_text(json.dumps(summary(found), indent=1) + "\n")
    else:
        some = [s for s in settings(("known",)) if (s.sigma, s.epsilon) == (1.0, 0.5)]
        found = measured(2, None, some)
        remap, noise = (
            interval(found[f"{method}|known|1.0|0.5"]["errors"])[0]
            for method in ("remap alone", "every output")
        )
        from benchmarks.measure import report

        report(
            "remap alone over every output",
            f"{remap / noise:.3f}",
            "at most 0.2",
            remap <= noise / 5,
        )
