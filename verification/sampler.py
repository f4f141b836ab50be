"""What is drawn has exactly the probabilities that were certified.

Every calibration draws many times from one situation, in the middle of a stream; the frequencies
are compared with the matrix it certified, for `Retry` with every way its loop can end.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from priste import (
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
    presence,
)
from priste.calibration import Calibration, CertifiedPlan, GroupedPlan, Situation
from priste.checks import Array
from priste.dyadic import TICKETS, winner
from priste.randomness import Randomness
from verification.report import Finding, times
from verification.statistics import agree, noticeable, nudged

MISTAKE = "a probability of 0.001 moved from the likeliest output to the least likely"
GRID, TRUE_CELL = Grid(1, 5), 1
DRAWS, TICKETS_DRAWN = 1_000_000, 50_000_000


class Planned(OptimalRemap):
    """The remap, whose plan for the one situation here is made once."""

    def plan(self, situation: Situation) -> CertifiedPlan | GroupedPlan:
        """Return the plan of the first call."""
        known: CertifiedPlan | GroupedPlan | None = self.__dict__.get("known")
        if known is None:
            known = self.__dict__["known"] = super().plan(situation)
        return known


CALIBRATIONS: dict[str, Calibration] = {
    "Retry": Retry(),
    "EveryOutput": EveryOutput(),
    "OptimalRemap": Planned(GRID.distances),
}


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare each calibration, the operating system's randomness, and the lottery by itself."""
    by = noticeable(effort) if mistaken else 0.0
    for name in CALIBRATIONS:
        certified, counts = drawn(name, effort)
        yield agree(f"{name}, one draw at a time", counts, nudged(certified, by))
    row, counts = secure(effort)
    yield agree("the operating system's randomness", counts, nudged(row, by))
    row, counts = tickets(effort)
    yield agree("a lottery of 2^53 tickets", counts, nudged(row, by))


@cache
def situation() -> Situation:
    """Return the situation at step 1, after a first release."""
    event = presence({0}, [1, 2])
    protect = Protect(event, 0.5)
    belief = KnownPrior(np.full(GRID.n_cells, 1 / GRID.n_cells))
    mechanism = PlanarLaplace(GRID, 1.5)
    guard = Protector(
        Mobility.gaussian(GRID, 1.0), mechanism, protect, prior=belief, calibration=EveryOutput()
    )
    first = guard.beginning().arrive()
    return first.observe(mechanism.with_budget(0.2).lottery()[:, 2], None).arrive().situation()


@cache
def drawn(name: str, effort: float) -> tuple[Array, NDArray[np.int64]]:
    """Return the probabilities of a calibration's outputs, and how often each was drawn."""
    calibration, now = CALIBRATIONS[name], situation()
    certified = np.zeros(GRID.n_cells)
    plan = calibration.plan(now)
    for outcome in plan.outcomes():
        certified[outcome.output] += outcome.likelihood[TRUE_CELL]
    randomness = Randomness(seed=4)
    draw = lambda: plan.draw(TRUE_CELL, randomness).output  # noqa: E731
    return certified, counted(draw, times(DRAWS, effort))


@cache
def secure(effort: float) -> tuple[Array, NDArray[np.int64]]:
    """Return the same for the source that has no seed."""
    row, randomness = lottery(), Randomness()
    return row, counted(lambda: randomness.draw(row), times(DRAWS, effort))


@cache
def tickets(effort: float) -> tuple[Array, NDArray[np.int64]]:
    """Return the same for many tickets at once."""
    bits = np.random.default_rng(5).integers(TICKETS, size=times(TICKETS_DRAWN, effort))
    return lottery(), np.bincount(winner(lottery(), bits), minlength=GRID.n_cells)


def lottery() -> Array:
    """Return one row of the mechanism, as it is drawn from."""
    return np.asarray(PlanarLaplace(GRID, 1.0).lottery()[TRUE_CELL])


def counted(draw: Callable[[], int], draws: int) -> NDArray[np.int64]:
    """Return how often each output comes."""
    return np.bincount([draw() for _ in range(draws)], minlength=GRID.n_cells)
