"""Numbers that were published, or written down before the code was, come out again.

The worked example of the paper's appendix, the leak of its loop on a line of three cells, and what
the remap saves on a map of 10 × 10.
"""

from collections.abc import Iterator

import numpy as np

from priste import (
    AnyPrior,
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    Mobility,
    NoNoise,
    OptimalRemap,
    Protect,
    Protector,
    Retry,
    audit,
    presence,
    prior_probability,
)
from priste.mechanisms import Mechanism
from verification.report import Finding

MISTAKE = "one move of the example and the spread of movement are 0.001 off"


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare to as many digits as were written down."""
    off = 1e-3 * mistaken
    yield example(off)
    yield leak(off)
    if effort >= 1:
        yield from savings(off)


def example(off: float) -> Finding:
    """Compare the appendix: the chance of being in two cells at the third or fourth step."""
    moves = np.array([[0.1, 0.2, 0.7], [0.4, 0.1, 0.5], [0.0, 0.1, 0.9]])
    moves[2] += [off, -off, 0]
    event = presence({0, 1}, [2, 3])
    found = [prior_probability(event, Mobility(moves), start) for start in np.eye(3)]
    return compared("the worked example", found, [0.28, 0.298, 0.226], 1e-12)


def leak(off: float) -> Finding:
    """Compare the published loop: 0.5 is promised, and this is realised after 1 to 4 releases."""
    line = Grid(1, 3)
    guard = Protector(
        Mobility.gaussian(line, 1.0 + off), Exponential(line, 1.0),
        Protect(presence({0}, [1, 2]), 0.5), calibration=Retry(), prior=AnyPrior(),
    )  # fmt: skip
    found = audit(guard, 4).findings[0].realised.tolist()
    return compared("the leak of the published loop", found, [0.4571, 1.784, 2.66, 3.4031], 5e-5)


def savings(off: float) -> Iterator[Finding]:
    """Compare the expected error amid the event's time: remap, weaker noise, and a random cell."""
    grid = Grid(10, 10)
    belief = np.full(100, 1 / 100)
    protect = Protect(presence({0, 1, 10, 11}, range(3, 8)), 0.5)
    methods: list[tuple[str, Mechanism, EveryOutput | OptimalRemap, float]] = [
        ("optimal remap", NoNoise(grid), OptimalRemap(), 0.4),
        ("every output, budget 2 halved", Exponential(grid, 2.0), EveryOutput(), 4.9),
    ]
    for name, mechanism, calibration, written in methods:
        mobility = Mobility.gaussian(grid, 1.0 + off)
        guard = Protector(
            mobility, mechanism, protect, prior=KnownPrior(belief), calibration=calibration
        )
        state = guard.beginning().arrive()
        for cell in mobility.sample(5, seed=0).tolist():  # released: what is likeliest from there
            plan = calibration.plan(state.situation())
            likeliest = plan.emission[:, int(np.argmax(plan.emission[cell]))]
            state = state.observe(likeliest, plan.warm_start).arrive()
        now = state.situation()
        emission = calibration.plan(now).emission
        error = float((now.belief[:, None] * emission * grid.distances).sum())
        yield compared(f"error in cells, {name}", [error], [written], 0.05)
    yield compared("error in cells, a random cell", [float(grid.distances.mean())], [5.2], 0.05)


def compared(what: str, found: list[float], written: list[float], within: float) -> Finding:
    """Return whether numbers are those that were written down."""
    numbers = (
        f"{', '.join(f'{x:.6g}' for x in found)}; expected {', '.join(f'{x:g}' for x in written)}"
    )
    return Finding(what, numbers, bool(np.allclose(found, written, rtol=0, atol=within)))
