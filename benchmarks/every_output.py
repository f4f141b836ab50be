"""Certifying every output beside the products it needs, and a stream of it beside `Retry`."""

import resource

import numpy as np

from benchmarks.measure import report, side_by_side
from benchmarks.paper_run import EPSILON, EVENT, GRID, STEPS
from priste import (
    AnyPrior,
    EveryOutput,
    Mobility,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
)
from priste.calibration import Calibration


def main() -> None:
    print(f"Every output: {GRID.n_cells} cells, any prior, both sides")
    certify()
    stream()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    report("peak memory of this process, GB", f"{peak:.2f}", "under 1", peak < 1)


def certify() -> None:
    """One candidate that passes, so that all 400 outputs are really looked at."""
    mobility = Mobility.gaussian(GRID, 3.0)
    guard = Protector(
        mobility,
        PlanarLaplace(GRID, 1.0),
        Protect(EVENT, EPSILON),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    for cell in mobility.sample(5, seed=0).tolist():
        guard.release(cell)
    situation = guard._left.arrive().situation()
    chosen, _ = EveryOutput().choose(situation)
    emission = chosen.lottery()
    true, false = situation.evidence[0].masses

    def certified() -> None:
        if situation.forbidden_output(emission) is not None:
            raise RuntimeError("the chosen mechanism must pass")

    def products() -> None:
        true @ emission, false @ emission

    for repeats, how in ((8, "eight in a row"), (1, "in turn, one by one")):
        times = side_by_side({"certify": certified, "products": products}, 15, repeats)
        ratio = times["certify"] / times["products"]
        what = f"all outputs over their two products, {how}"
        report(what, f"{ratio:.1f}", "at most 10", ratio <= 10)


def stream() -> None:
    for sigma in (1.0, 3.0, 10.0):
        mobility = Mobility.gaussian(GRID, sigma)
        path = mobility.sample(STEPS, seed=0).tolist()

        def run(
            calibration: Calibration, mobility: Mobility = mobility, path: list[int] = path
        ) -> list[float]:
            mechanism = PlanarLaplace(GRID, 1.0)
            guard = Protector(
                mobility,
                mechanism,
                Protect(EVENT, EPSILON),
                prior=AnyPrior(),
                calibration=calibration,
                seed=1,
            )
            return [release.private.budget for release in guard.stream(path)]

        times = side_by_side(
            {"every": lambda run=run: run(EveryOutput()), "retry": lambda run=run: run(Retry())},  # type: ignore[misc]
            rounds=3,
        )
        ratio = times["every"] / times["retry"]
        silent = float(np.mean(np.array(run(EveryOutput())) == 0))
        report(
            f"σ = {sigma}: {STEPS} steps over the same with Retry ({silent:.0%} of steps uniform)",
            f"{ratio:.1f}",
            "at most 30",
            ratio <= 30,
        )
