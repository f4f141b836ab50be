import pytest
from reproduction.thresholds import Timed

from priste import AnyPrior, Grid, Mobility, PlanarLaplace, Protect, Protector, Retry, presence

GRID = Grid(3, 3)
MOBILITY = Mobility.gaussian(GRID, 2.0)


def guard(loop: Retry, seed: int) -> Protector:
    return Protector(
        MOBILITY,
        PlanarLaplace(GRID, 1.0),
        Protect(presence({0, 1}, [1, 2]), 0.5),
        calibration=loop,
        seed=seed,
        prior=AnyPrior(),
    )


@pytest.mark.parametrize("seed", range(3))
def test_with_patience_the_solver_releases_what_the_exact_test_does(seed: int) -> None:
    path = MOBILITY.sample(4, seed=seed).tolist()
    patient = Timed(seconds=30.0)
    solved, exact = (guard(loop, seed).stream(path) for loop in (patient, Retry()))
    for one, other in zip(solved, exact, strict=True):
        assert (one.cell, one.private.budget) == (other.cell, other.private.budget)
    assert not patient.undecided


def test_without_patience_nothing_passes() -> None:
    hasty = Timed(seconds=1e-9)
    releases = list(guard(hasty, 0).stream(MOBILITY.sample(3, seed=0).tolist()))
    assert [r.private.budget for r in releases] == [0.0] * 3
    assert hasty.undecided == {0, 1, 2}
