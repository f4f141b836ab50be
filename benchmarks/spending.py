"""How much of ε a step should use: mean error of the ways to spend it.

`python -m benchmarks spending` tries a little; `spending=40,FILE.json` takes 40 streams for each
setting with a known belief, half of that for a near one, and keeps the numbers.
"""

import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
from reproduction.cached_remap import CachedRemap, Plans

from benchmarks.utility import interval
from priste import (
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    NoNoise,
    Protect,
    Protector,
    presence,
)
from priste.calibration.spending import Spending

GRID = Grid(10, 10)
EVENT = presence([0, 1, 10, 11], range(3, 8))
STEPS = 14
WAYS: tuple[Spending, ...] = ("all", "proportional", "rolling")


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("spending=")]
    streams, _, file = (words[0] if words else "3").partition(",")
    print(f"Spending: mean error in cells, {streams} streams of {STEPS} steps each")
    found: dict[str, tuple[float, float, int, float, float]] = {}
    for belief, sigma, epsilon in product(("known", "near"), (1.0, 3.0), (0.2, 1.0)):
        n = int(streams) if belief == "known" else max(int(streams) // 2, 2)
        greedy: list[float] = []
        for way in WAYS:
            plans: Plans = {}
            errors = [error(belief, sigma, epsilon, way, seed, plans) for seed in range(n)]
            greedy = greedy or errors
            more = interval([e - g for e, g in zip(errors, greedy, strict=True)])
            (mean, half), (gap, around) = interval(errors), more
            found[f"{belief}|{sigma:g}|{epsilon:g}|{way}"] = (mean, half, n, *more)
            print(
                f"  {belief}, σ = {sigma:g}, ε = {epsilon:g}, {way}: {mean:.2f} ± {half:.2f}, "
                f"more than all at once on the same paths by {gap:.2f} ± {around:.2f}",
                flush=True,
            )
            if file:
                Path(file).write_text(json.dumps(found, indent=1) + "\n")


def error(
    belief: str, sigma: float, epsilon: float, way: Spending, seed: int, plans: Plans
) -> float:
    uniform = np.full(GRID.n_cells, 1 / GRID.n_cells)
    prior = KnownPrior(uniform) if belief == "known" else NearPrior(uniform, 0.1)
    mobility = Mobility.gaussian(GRID, sigma)
    remap = CachedRemap(plans, spending=way)
    guard = Protector(
        mobility, NoNoise(GRID), Protect(EVENT, epsilon), prior=prior, calibration=remap, seed=seed
    )
    path = mobility.sample(STEPS, seed=1000 + seed).tolist()
    return float(np.mean([GRID.distances[r.private.true_cell, r.cell] for r in guard.stream(path)]))
