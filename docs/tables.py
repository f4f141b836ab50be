"""Writes the tables of the documentation from measurements: `make tables` (some minutes)."""

import re
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
    presence,
)
from priste.priors import Prior

PAGE = Path(__file__).parent / "guarantee.md"
CITY = Grid(20, 20)
EVENT = presence(range(10), range(3, 8))
STEPS, STREAMS, BUDGET = 50, 4, 1.0
SIGMAS, EPSILONS = (0.5, 1.0, 3.0, 10.0), (0.1, 0.5, 1.0, 2.0)
CALIBRATIONS = {"every output": EveryOutput(), "refined": EveryOutput(refine=6), "retry": Retry()}
PRIORS: dict[str, Prior] = {"any": AnyPrior(), "known": KnownPrior(np.full(400, 1 / 400))}


def mean_error(job: tuple[str, str, float, float]) -> float:
    """The mean distance between true and released cell, in cells, over some streams."""
    prior, calibration, sigma, epsilon = job
    mobility = Mobility.gaussian(CITY, sigma)
    mechanism = PlanarLaplace(CITY, BUDGET)
    errors = []
    for seed in range(STREAMS):
        guard = Protector(
            mobility,
            mechanism,
            Protect(EVENT, epsilon),
            PRIORS[prior],
            CALIBRATIONS[calibration],
            seed,
        )
        path = mobility.sample(STEPS, seed=seed).tolist()
        errors += [CITY.distances[r.private.true_cell, r.cell] for r in guard.stream(path)]
    return float(np.mean(errors))


def main() -> None:
    jobs = list(product(PRIORS, CALIBRATIONS, SIGMAS, EPSILONS))
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(jobs, pool.map(mean_error, jobs), strict=True))
    noise = float((CITY.distances * PlanarLaplace(CITY, BUDGET).emission()).sum(axis=1).mean())
    anywhere = float(CITY.distances.mean())
    lines = [
        f"Planar Laplace noise of budget {BUDGET:g} alone: {noise:.1f} cells. "
        f"Any cell, whatever the truth: {anywhere:.1f} cells.",
    ]
    for prior, title in (("any", "Any belief (`AnyPrior`)"), ("known", "One known belief")):
        lines += ["", f"**{title}**", "", "| σ | ε | `Retry` (not a guarantee) | `EveryOutput` | "]
        lines[-1] += "`EveryOutput(refine=6)` |"
        lines.append("|---|---|---|---|---|")
        for sigma, epsilon in product(SIGMAS, EPSILONS):
            cells = [found[prior, c, sigma, epsilon] for c in ("retry", "every output", "refined")]
            shown = " | ".join(f"{cell:.1f}" for cell in cells)
            lines.append(f"| {sigma:g} | {epsilon:g} | {shown} |")
    text = PAGE.read_text()
    marked = r"(<!-- measured by tables.py -->\n).*?(<!-- end -->)"
    replacement = "\\1\n" + "\n".join(lines) + "\n\n\\2"
    PAGE.write_text(re.sub(marked, replacement, text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
