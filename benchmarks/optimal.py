"""The time of a step of `OptimalRemap` beside the plain dense program given to HiGHS."""

import math
import resource
import time

import highspy
import numpy as np

from benchmarks.measure import report
from priste import (
    AnyPrior,
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    NoNoise,
    OptimalRemap,
    Protect,
    Protector,
    presence,
)
from priste.calibration import Situation
from priste.calibration.spending import rationed
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.priors import Prior
from priste.worst_case import GUARD

EVENT = presence(range(10), range(3, 8))
STEPS = 6


def main() -> None:
    print("Optimal remap: a step beside the plain dense program, 400 cells")
    known = {sigma: against_dense(sigma) for sigma in (1.0, 3.0, 10.0)}
    sets_of_priors(known[1.0])
    large()


def situations(grid: Grid, sigma: float, prior: Prior, steps: int) -> list[tuple[Situation, float]]:
    """The situations of a stream, and how long each step took."""
    mobility = Mobility.gaussian(grid, sigma)
    guard = Protector(
        mobility,
        NoNoise(grid),
        Protect(EVENT, 0.5),
        prior=prior,
        calibration=OptimalRemap(),
        seed=0,
    )
    found = []
    for cell in mobility.sample(steps, seed=0).tolist():
        now = guard._left.arrive().situation()
        start = time.perf_counter()
        guard.release(cell)
        found.append((now, time.perf_counter() - start))
    return found


def against_dense(sigma: float) -> float:
    grid = Grid(20, 20)
    prior = KnownPrior(np.full(400, 1 / 400))
    ratios, own = [], []
    situations(grid, sigma, prior, 1)  # compiled and warm
    for situation, ours in situations(grid, sigma, prior, STEPS):
        start = time.perf_counter()
        objective = dense(situation, grid.distances)
        theirs = time.perf_counter() - start
        bound = OptimalRemap().plan(situation).bound
        if abs(bound - objective) > 1e-6 * max(objective, 1e-3):
            raise RuntimeError(f"{bound} is not the optimum {objective}")
        ratios.append(ours / theirs)
        own.append(ours)
    ratio = float(np.mean(ratios))
    what = f"known prior, σ = {sigma:g}: a step over the dense program, mean of {STEPS} steps"
    report(what, f"{ratio:.2f} (worst {max(ratios):.2f})", "at most 0.2", ratio <= 0.2)
    return float(np.mean(own))


def sets_of_priors(known: float) -> None:
    grid = Grid(20, 20)
    uniform = np.full(400, 1 / 400)
    for name, prior in (("near, ρ = 0.1", NearPrior(uniform, 0.1)), ("any", AnyPrior())):
        times = [seconds for _, seconds in situations(grid, 1.0, prior, 3)]
        ratio = float(np.mean(times)) / known
        report(
            f"{name}, σ = 1: a step over one with a known prior", f"{ratio:.1f}", "it ends", True
        )


def large() -> None:
    grid = Grid(50, 50)
    prior = KnownPrior(np.full(2500, 1 / 2500))
    ((_, seconds),) = situations(grid, 1.0, prior, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    what = f"2,500 cells, known prior ({seconds:.0f} s a step here): peak memory, GB"
    report(what, f"{peak:.2f}", "under 4", peak < 4)


def dense(situation: Situation, losses: Array) -> float:
    """Solve the whole program at once."""
    allowed = rationed(situation, "all")
    (protection,), (evidence,) = allowed.protections, allowed.evidence
    (true,), (false,) = evidence.masses
    happens, fails = true / evidence.a[0], false / evidence.not_a[0]
    factor = math.exp(protection.epsilon - 3 * GUARD)
    cuts = [happens - factor * fails, fails - factor * happens]
    cuts = [cut / np.abs(cut).max() for cut in cuts]
    cost = weights(situation)[:, None] * losses
    n, m = cost.shape
    row, column = np.divmod(np.arange(n * m), m)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n * m, n + 2 * m
    program.col_cost_ = cost.ravel()
    program.col_lower_, program.col_upper_ = np.zeros(n * m), np.full(n * m, highspy.kHighsInf)
    program.row_lower_ = np.append(np.ones(n), np.full(2 * m, -highspy.kHighsInf))
    program.row_upper_ = np.append(np.ones(n), np.zeros(2 * m))
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(0, 3 * n * m + 1, 3)
    program.a_matrix_.index_ = np.column_stack([row, n + column, n + m + column]).ravel()
    entries = [np.ones(n * m), cuts[0][row], cuts[1][row]]
    program.a_matrix_.value_ = np.column_stack(entries).ravel()
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.passModel(program)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(highs.modelStatusToString(highs.getModelStatus()))
    return float(highs.getInfo().objective_function_value)
