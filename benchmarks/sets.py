"""What a set of eight models costs beside one: processor time of a release on 400 cells."""

import time

import numpy as np

from benchmarks.measure import report
from priste import (
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    OptimalRemap,
    PlanarLaplace,
    Prior,
    Protect,
    Protector,
    presence,
)

CITY = Grid(20, 20)
EVENT = presence([42, 43, 62, 63], range(6, 12))
STEPS = 12


def main() -> None:
    print("Sets: a release with eight models over one with a single model")
    belief = np.full(CITY.n_cells, 1 / CITY.n_cells)
    for name, prior in (("known", KnownPrior(belief)), ("near", NearPrior(belief, 0.1))):
        habits = _habits(8)
        path = habits[0].sample(STEPS, seed=1).tolist()
        _seconds(habits[:2], prior, path)  # compiled and warm
        one, eight = (_seconds(habits[:n], prior, path) for n in (1, 8))
        report(
            f"{name} belief: {eight:.2f} s over {one:.2f} s a release",
            f"{eight / one:.2f}",
            "at most 3",
            eight <= 3 * one,
        )


def _habits(count: int) -> list[Mobility]:
    """Models of one person: learned from samples of the same days, with more and less smoothing."""
    moves = Mobility.gaussian(CITY, 1.0)
    days = [moves.sample(60, seed=day).tolist() for day in range(30)]
    random, base = np.random.default_rng(0), Mobility.by_distance(CITY, days)
    return [
        Mobility.fit(
            [days[i] for i in random.choice(30, 30)], CITY.n_cells, smoothing=smoothing, base=base
        )
        for smoothing in np.geomspace(0.3, 10, count).tolist()
    ]


def _seconds(habits: list[Mobility], prior: Prior, path: list[int]) -> float:
    guard = Protector(
        habits,
        PlanarLaplace(CITY, 1.0),
        Protect(EVENT, 1.0),
        prior=prior,
        calibration=OptimalRemap(margin=0.5),
        seed=1,
    )
    begun = time.process_time()
    for cell in path:
        guard.release(cell)
    return (time.process_time() - begun) / len(path)
