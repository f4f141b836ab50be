"""The paper's setting at full size, shared by the benchmarks."""

from collections.abc import Iterator

import numpy as np

from priste import AnyPrior, Grid, Mobility, PlanarLaplace, Protect, Protector, Retry, presence
from priste.evidence import EventModel, Evidence, FourVectors

GRID = Grid(20, 20)
EVENT = presence(range(10), range(3, 8))
EPSILON = 0.5
STEPS = 50


def protector(sigma: float, budget: float, seed: int) -> Protector:
    return Protector(
        Mobility.gaussian(GRID, sigma),
        PlanarLaplace(GRID, budget),
        Protect(EVENT, EPSILON),
        prior=AnyPrior(),
        calibration=Retry(),
        seed=seed,
    )


def tested_vectors(sigma: float, budget: float, seed: int, steps: int) -> Iterator[FourVectors]:
    """The four vectors of the candidate outputs that a run of the published loop really tests."""
    guard = protector(sigma, budget, seed)
    path = guard.mobilities[0].sample(steps, seed=seed)
    evidence = Evidence.start(EventModel(EVENT, guard.mobilities[0]), guard.prior)
    random = np.random.default_rng(seed)
    for step, cell in enumerate(path.tolist()):
        evidence = evidence.advance() if step else evidence
        release = guard.release(cell)
        first = guard.mechanism.emission()
        drawn = first[:, random.choice(GRID.n_cells, p=first[cell])]
        yield evidence.observe(drawn).four_vectors()
        accounted = release.private.budget
        final = PlanarLaplace(GRID, accounted).emission() if accounted else first * 0 + 1 / 400
        evidence = evidence.observe(final[:, release.cell])
        yield evidence.four_vectors()
