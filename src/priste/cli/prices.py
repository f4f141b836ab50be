"""What protection against stronger adversaries costs, on a small map."""

from typing import NamedTuple

import numpy as np

from priste.calibration import OptimalRemap
from priste.checks import whole
from priste.errors import GridError
from priste.events import presence
from priste.grid import Grid
from priste.mechanisms import NoNoise
from priste.mobility import Mobility
from priste.priors import AnyPrior, AnyPriorOn, KnownPrior, NearPrior, Prior
from priste.protection import Protect
from priste.protector import Protector


class Price(NamedTuple):
    """The least expected error of the first step against one adversary, in cells, to 1 %."""

    adversary: str
    error: float


def prices_of_adversaries(
    size: int = 6, sigma: float = 1.0, epsilon: float = 0.5
) -> tuple[list[Price], float]:
    """Return the price of each adversary, and the error of always releasing the same cell.

    The map is a square, people start anywhere, and the secret is having been in one corner of
    2 × 2 cells at steps 3 to 7.
    """
    grid = Grid(whole(size, "size", GridError, least=3), size)
    mobility = Mobility.gaussian(grid, sigma)
    belief = np.full(grid.n_cells, 1 / grid.n_cells)
    event = presence([0, 1, size, size + 1], range(3, 8))
    half = [cell for cell in range(grid.n_cells) if cell % size < size // 2]
    adversaries: dict[str, Prior] = {
        "known: believes exactly what the model says": KnownPrior(belief),
        "near, ρ = 0.01: a hundredth of the belief is free": NearPrior(belief, 0.01),
        "near, ρ = 0.1: a tenth is free": NearPrior(belief, 0.1),
        "near, ρ = 0.3: three tenths are free": NearPrior(belief, 0.3),
        "region: any belief within the western half": AnyPriorOn(half),
        "any: whatever they believe": AnyPrior(),
    }
    remap = OptimalRemap(outputs=grid.n_cells, rounds=200)
    prices = []
    for name, prior in adversaries.items():
        protector = Protector(
            mobility, NoNoise(grid), Protect(event, epsilon), prior=prior, calibration=remap
        )
        plan = remap.plan(protector.beginning().arrive().situation())
        if plan.remark:
            raise RuntimeError(f"{name}: {plan.remark}")
        prices.append(Price(name, plan.expected_loss))
    return prices, float((belief @ grid.distances).min())
