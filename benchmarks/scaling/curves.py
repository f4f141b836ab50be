"""What is measured: a function that prepares a case of some size and returns the work on it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt

import numpy as np
from scipy import sparse

from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    PlanarLaplace,
    Prior,
    Protect,
    Protector,
    Retry,
    at,
    at_least,
    presence,
)
from priste.calibration import Calibration
from priste.checks import Array
from priste.events import Event
from priste.evidence import EventModel, Evidence, FourVectors
from priste.worlds import compile_event
from priste.worst_case import is_within, worst_case

Work = Callable[[], object]
RELEASES = 10
CELLS = (100, 225, 400, 900, 1600, 2500, 4900, 10_000)
STEPS = (10, 30, 100, 300, 1000, 2000, 5000, 10_000)
WORLDS = (2, 3, 5, 10, 20, 30, 50)
EVENTS = (1, 2, 5, 10, 20)


@dataclass(frozen=True)
class Curve:
    """A curve and its cost model: the exponents of time and memory in the size.

    `cost` is the model in words, `limit` says why the sizes end early where they do; `worse` and
    `better` explain an exponent that is not the model's.
    """

    axis: str
    setting: str
    sizes: tuple[int, ...]
    prepare: Callable[[int], Work]
    cost: str
    time: float
    memory: float
    smallest: int = 9
    releases: int = 1
    limit: str = ""
    worse: str = ""
    better: str = ""


# --- one step of quantification ---------------------------------------------------------------


def square(cells: int) -> Grid:
    return Grid(isqrt(cells), isqrt(cells))


def dense(grid: Grid) -> Mobility:
    return Mobility.gaussian(grid, 2.0)


def neighbours(grid: Grid) -> Mobility:
    """Stay, or move to one of the eight cells around: nine entries a row."""
    near = np.abs(np.subtract.outer(range(grid.rows), range(grid.rows))) <= 1
    line = sparse.csr_array(near, dtype=float)
    moves = sparse.csr_array(sparse.kron(line, line))
    return Mobility(sparse.diags_array(1 / moves.sum(axis=1)) @ moves)


def known(cells: int) -> Prior:
    return KnownPrior(np.full(cells, 1 / cells))


def anybody(cells: int) -> Prior:  # noqa: ARG001
    return AnyPrior()


def visit(cells: int, first: int = 3) -> Event:
    """A twentieth of the map in five steps, by default those of the paper."""
    return presence(range(max(cells // 20, 1)), range(first, first + 5))


def column(grid: Grid) -> Array:
    """What a release in the middle of the map tells, far away hardly anything."""
    away = np.hypot(*(grid.centres - grid.centres[grid.n_cells // 2]).T)
    return np.asarray(np.exp(-away) + 1e-3)


def step(
    mobility_on: Callable[[Grid], Mobility], prior_on: Callable[[int], Prior], cells: int
) -> Work:
    """The four vectors of one more release, while the event is going on."""
    grid = square(cells)
    model = EventModel(visit(cells, first=0), mobility_on(grid))
    return next_step(Evidence.start(model, prior_on(cells)), column(grid))


def next_step(evidence: Evidence, released: Array) -> Work:
    return lambda: evidence.observe(released).advance().four_vectors()


def step_of_worlds(prior_on: Callable[[int], Prior], cells: int, worlds: int) -> Work:
    """The same in the middle of an event that counts visits."""
    grid, visits = square(cells), worlds - 1
    event = counting(range(cells // 20), visits, 2 * visits + 1)
    evidence = Evidence.start(EventModel(event, dense(grid)), prior_on(cells))
    for _ in range(visits):
        evidence = evidence.advance()
    return next_step(evidence, column(grid))


def counting(cells: range, visits: int, steps: int) -> Event:
    """At least so many visits in so many steps: one world per number of visits, and one more."""
    return at_least(visits, [at(cells, step) for step in range(steps)])


# --- the worst belief -------------------------------------------------------------------------


def vectors(cells: int) -> FourVectors:
    """The four vectors of three releases against any belief, without the weights in between."""
    grid = square(cells)
    model = EventModel(visit(cells), neighbours(grid))
    move, told = model.mobility.transition(0), column(grid)
    b, d = model.ends_true(2)[0], model.ends_false(2)[0]
    for _ in range(2):
        b, d = move @ (told * b), move @ (told * d)
    a, not_a = model.prior
    return FourVectors(a, not_a, told * b, told * d, np.zeros(cells, dtype=np.int64))


def test(cells: int) -> Work:
    """The test for an ε that just passes: every pair that matters has to be looked at."""
    case = vectors(cells)
    epsilon = worst_case(case).loss * (1 + 1e-6)
    return partial(is_within, case, epsilon)


def loss(cells: int) -> Work:
    return partial(worst_case, vectors(cells))


def certify(cells: int) -> Work:
    """All outputs of a mechanism that passes."""
    grid = square(cells)
    protect = Protect(visit(cells), 0.5)
    guard = Protector(
        neighbours(grid),
        PlanarLaplace(grid, 1 / grid.rows),
        protect,
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    situation = guard.beginning().arrive().situation()
    emission = EveryOutput().plan(situation).emission
    return partial(situation.forbidden_output, emission)


# --- whole streams ----------------------------------------------------------------------------


def stream(
    calibration: Calibration,
    prior_on: Callable[[int], Prior],
    cells: int,
    *,
    releases: int = RELEASES,
    events: int = 1,
) -> Work:
    """A stream of releases, the mechanism and its weaker versions made beforehand."""
    grid = square(cells)
    mobility, mechanism = dense(grid), PlanarLaplace(grid, 1.0)
    width = max(cells // 20, 1)
    secrets = [
        Protect(presence(range(k * width, (k + 1) * width), range(3, 8)), 0.5)
        for k in range(events)
    ]
    path = np.random.default_rng(0).integers(cells, size=RELEASES).tolist()

    def run(releases: int = releases) -> None:
        guard = Protector(
            mobility, mechanism, secrets, prior=prior_on(cells), calibration=calibration, seed=1
        )
        for t in range(releases):
            guard.release(path[t % RELEASES])

    run(RELEASES)
    return run


def stream_of_steps(
    calibration: Calibration, prior_on: Callable[[int], Prior], cells: int, releases: int
) -> Work:
    return stream(calibration, prior_on, cells, releases=releases)


def stream_of_events(
    calibration: Calibration, prior_on: Callable[[int], Prior], cells: int, events: int
) -> Work:
    return stream(calibration, prior_on, cells, events=events)


def quantify(prior_on: Callable[[int], Prior], cells: int, releases: int) -> Work:
    """The loss after every release of a long stream."""
    grid = square(cells)
    model, told = EventModel(visit(cells), dense(grid)), column(grid)

    def run() -> None:
        evidence = Evidence.start(model, prior_on(cells)).observe(told)
        for _ in range(releases - 1):
            evidence = evidence.advance().observe(told)
            worst_case(evidence.four_vectors())

    return run


# --- events -----------------------------------------------------------------------------------


def compile_worlds(steps: int, worlds: int) -> Work:
    return partial(compile_event, counting(range(5), worlds - 1, steps), 100)


def long_event(steps: int) -> Work:
    """An event that lasts as long as the stream: its worlds, and its chances from each of them."""
    event, mobility = presence(range(5), range(steps)), dense(Grid(10, 10))
    return partial(EventModel, event, mobility)


def laplace(cells: int) -> Work:
    grid = square(cells)
    grid.distances  # noqa: B018  known beforehand, as to every mechanism on the map
    return lambda: PlanarLaplace(grid, 1.0).emission()


SPARSE = "two worlds, nine moves from each cell"
DENSE = "two worlds, a move from each cell to each"
KEPT = (
    "a mechanism and its weaker versions are kept, up to 12 matrices of n² numbers: "
    "with 10,000 cells that is more than the 12 GB allowed here"
)
MINUTES = "n³ for every release or candidate: more than a minute each with 10,000 cells"
LEAVES_CACHE = "what is worked on leaves the caches as it grows, and memory is slower"
SCHEDULE = (
    "matrices leave the caches as they grow, and a larger map needs weaker versions of the noise, "
    "which are kept"
)

CURVES = {
    "one step: known belief, dense moves": Curve(
        "cells", DENSE, CELLS, partial(step, dense, known), "K n²", 2, 2, worse=LEAVES_CACHE
    ),
    "one step: known belief, sparse moves": Curve(
        "cells", SPARSE, CELLS, partial(step, neighbours, known), "K nnz(M), nnz = 9 n", 1, 1,
        better="calls cost more than the numbers in them, up to thousands of cells",
    ),
    "one step: any belief, dense moves": Curve(
        "cells", DENSE, CELLS, partial(step, dense, anybody), "n beliefs, K n² each", 3, 2,
        better="what grows with n² (moving between worlds) is still seen",
    ),
    "one step: any belief, sparse moves": Curve(
        "cells", SPARSE, CELLS, partial(step, neighbours, anybody),
        "n beliefs, K nnz(M) each, nnz = 9 n", 2, 2, worse=LEAVES_CACHE,
    ),
    "worst belief: test for one ε": Curve(
        "cells", "any belief, three releases, an ε that just passes", CELLS, test,
        "n² pairs of beliefs", 2, 1, better="bounds on each row leave hardly a pair to look at",
    ),
    "worst belief: the loss": Curve(
        "cells", "any belief, three releases", CELLS, loss, "n² pairs of beliefs", 2, 1
    ),
    "worst belief: all outputs of a mechanism": Curve(
        "cells", "any belief, all pass", CELLS[:6], certify, "n outputs, n² pairs each", 3, 2,
        limit=MINUTES, better="pairs are ruled out as above, the products are a share of it only",
    ),
    "a release: planar Laplace matrix, once": Curve(
        "cells", "budget 1", CELLS, laplace, "n² entries", 2, 2, worse=LEAVES_CACHE,
        better="the integrals, of which there are only n, are still seen",
    ),
    "a release: Retry, known belief": Curve(
        "cells", DENSE, CELLS[:7], partial(stream, Retry(), known), "K n²", 2, 2,
        releases=RELEASES, limit=KEPT, worse=SCHEDULE,
    ),
    "a release: EveryOutput, known belief": Curve(
        "cells", DENSE, CELLS[:7], partial(stream, EveryOutput(), known),
        "K n² and n² per candidate", 2, 2, releases=RELEASES, limit=KEPT, worse=SCHEDULE,
    ),
    "a release: Retry, any belief": Curve(
        "cells", DENSE, CELLS[:6], partial(stream, Retry(), anybody), "n beliefs, K n² each", 3, 2,
        releases=RELEASES, limit=MINUTES, better="tests and draws, n² and less, are still seen",
    ),
    "a release: EveryOutput, any belief": Curve(
        "cells", DENSE, CELLS[:5], partial(stream, EveryOutput(), anybody),
        "n³ per candidate", 3, 2, releases=RELEASES, limit=MINUTES,
        better="pairs are ruled out, and most candidates fail at one of the first outputs",
    ),
    "a stream: Retry, any belief": Curve(
        "steps", "25 cells", STEPS, partial(stream_of_steps, Retry(), anybody, 25),
        "the same for each step", 1, 0, smallest=2,
    ),
    "a stream: EveryOutput, known belief": Curve(
        "steps", "100 cells", STEPS, partial(stream_of_steps, EveryOutput(), known, 100),
        "the same for each step", 1, 0, smallest=2,
    ),
    "a stream: losses, any belief": Curve(
        "steps", "100 cells", STEPS, partial(quantify, anybody, 100),
        "the same for each step", 1, 0, smallest=2,
    ),
    "a stream: an event of its length": Curve(
        "steps", "presence, 100 cells: its worlds and chances", STEPS, long_event,
        "K nnz(M) for each step", 1, 1, smallest=2,
    ),
    "worlds: compile an event": Curve(
        "worlds", "at least k visits in 100 steps", WORLDS, partial(compile_worlds, 100),
        "K for each step", 1, 1, smallest=2, better="steps cost something whatever the worlds",
    ),
    "worlds: a step, any belief": Curve(
        "worlds", "400 cells", WORLDS, partial(step_of_worlds, anybody, 400),
        "n beliefs, K n² each", 1, 1, smallest=2, worse=LEAVES_CACHE,
    ),
    "worlds: a step, known belief": Curve(
        "worlds", "1,600 cells", WORLDS, partial(step_of_worlds, known, 1600), "K n²", 1, 1,
        smallest=2, better="the matrix is read once, whatever the worlds, and fills most memory",
    ),
    "events: Retry": Curve(
        "events", "a release, 100 cells, any belief", EVENTS,
        partial(stream_of_events, Retry(), anybody, 100), "each event by itself", 1, 1,
        smallest=1, releases=RELEASES, better="what all events share is still seen",
    ),
    "events: EveryOutput": Curve(
        "events", "a release, 100 cells, any belief", EVENTS,
        partial(stream_of_events, EveryOutput(), anybody, 100), "each event by itself", 1, 1,
        smallest=1, releases=RELEASES, better="a candidate that fails one event is done with",
    ),
}  # fmt: skip
