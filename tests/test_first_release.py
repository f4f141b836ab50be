"""The bound of a first release that benchmarks compare with, beside remaps on small maps."""

import numpy as np
import pytest
from benchmarks.first_release import first_bound

from priste import (
    AnyPrior,
    Grid,
    Mobility,
    NearPrior,
    NoNoise,
    OptimalRemap,
    Protect,
    Protector,
    presence,
)
from priste.calibration import CertifiedPlan
from priste.calibration.spending import rationed
from priste.priors import Prior

GRID = Grid(3, 4)
MOBILITY = Mobility.gaussian(GRID, 1.0)


@pytest.mark.parametrize(
    ("prior", "epsilon", "near"),
    [
        (NearPrior(MOBILITY.initial, 0.1), 0.5, 0.03),
        (NearPrior(MOBILITY.initial, 0.4), 1.0, 0.1),
        (AnyPrior(), 0.3, 0.01),
        (AnyPrior(), 2.0, 0.2),
    ],
)
def test_no_remap_goes_below_it_and_the_best_comes_near(
    prior: Prior, epsilon: float, near: float
) -> None:
    guard = Protector(
        MOBILITY,
        NoNoise(GRID),
        Protect(presence({0, 1}, [1, 2]), epsilon),
        prior=prior,
        calibration=OptimalRemap(gap=1e-3),
        seed=1,
    )
    plan = guard.plan()
    assert isinstance(plan, CertifiedPlan)
    now = rationed(guard.state.arrive().situation(), "all")
    bound = first_bound(now, GRID.distances)
    assert plan.expected_loss * (1 - near) <= bound <= plan.expected_loss * (1 + 1e-9)


def test_later_releases_are_refused() -> None:
    guard = Protector(
        MOBILITY, NoNoise(GRID), Protect(presence({0}, [3]), 1.0), prior=AnyPrior(), eta=0, seed=1
    )
    guard.release(5)
    with pytest.raises(ValueError, match="more than one cell"):
        first_bound(guard.state.arrive().situation(), np.asarray(GRID.distances))
