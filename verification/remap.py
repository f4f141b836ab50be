"""The optimal remap is the optimum of the whole program, as other solvers find it.

For one known belief the best remap is a linear program with a variable per cell and output. It is
written out in full and given to HiGHS by scipy and to CPLEX, which also stands for a second maker.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from tests.oracles import best_remap_loss

from priste import Grid, KnownPrior, Mobility, NoNoise, OptimalRemap, Protect, Protector, presence
from priste.calibration.spending import rationed
from priste.calibration.weighing import weights
from priste.checks import Array
from verification.report import Finding, times

MISTAKE = "the solvers are allowed an ε that is a thousandth larger"
GRID = Grid(5, 5)
ACCURACY = 1e-6
Solver = Callable[[Array, Sequence[Array]], float]
SETTINGS = ((0.5, 1.0), (0.1, 0.7), (2.0, 0.5), (1.0, 3.0))  # ε and σ


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare the steps of a few streams."""
    programs = list(stages(effort, mistaken=mistaken))
    solvers: dict[str, Solver] = {"HiGHS, the whole program": best_remap_loss}
    if find_spec("cplex"):
        solvers["CPLEX"] = by_cplex
    for name, solve in solvers.items():
        optima = [solve(cost, cuts) for cost, cuts, _, _ in programs]
        bounds = np.array([bound for _, _, bound, _ in programs])
        worst = float(np.max(np.abs(bounds - optima) / np.maximum(optima, 1e-3)))
        numbers = f"{len(programs)} steps, largest relative difference {worst:.1e}"
        yield Finding(f"{name}: the search's bound", numbers, worst <= ACCURACY)
        reached = np.array([loss for *_, loss in programs])
        above = max(0.0, float(np.max((reached - optima) / np.maximum(optima, 1e-3))))
        numbers = f"at most {above:.1e} above the optimum, relative"
        yield Finding(f"{name}: the certified plan", numbers, above <= 2e-3)
    if "CPLEX" not in solvers:
        yield Finding("CPLEX: the search's bound", "CPLEX is not installed", None)


def stages(effort: float, *, mistaken: bool) -> Iterator[tuple[Array, list[Array], float, float]]:
    """Yield the program of each step (cost and cuts), the search's bound and what it reached."""
    belief = np.full(GRID.n_cells, 1 / GRID.n_cells)
    event = presence({0, 1, 5, 6}, [2, 3, 4])
    for epsilon, sigma in SETTINGS[: times(len(SETTINGS), effort)]:
        mobility, remap = Mobility.gaussian(GRID, sigma), OptimalRemap()
        guard = Protector(
            mobility,
            NoNoise(GRID),
            Protect(event, epsilon),
            prior=KnownPrior(belief),
            calibration=remap,
            seed=1,
        )
        state = guard.beginning()
        for cell in mobility.sample(times(6, effort), seed=2).tolist():
            state = state.arrive()
            now = state.situation()
            plan = remap.plan(now)
            (protection,), (evidence,) = rationed(now, "all").protections, now.evidence
            (true,), (false,) = evidence.masses
            happens, fails = true / evidence.a[0], false / evidence.not_a[0]
            factor = math.exp(protection.epsilon * (1 + 1e-3 * mistaken))
            cuts = [happens - factor * fails, fails - factor * happens]
            cost = weights(now)[:, None] * GRID.distances
            yield cost, [cut / np.abs(cut).max() for cut in cuts], plan.bound, plan.expected_loss
            output = int(np.argmax(plan.emission[cell]))
            state = state.observe(plan.emission[:, output], plan.warm_start)


def by_cplex(cost: Array, cuts: Sequence[Array]) -> float:
    """Return the least of sum(cost * Q) over stochastic Q whose columns keep every cut."""
    import cplex

    n, m = cost.shape
    problem: Any = cplex.Cplex()
    for stream in ("log", "results", "warning", "error"):
        getattr(problem, f"set_{stream}_stream")(None)
    problem.variables.add(obj=cost.ravel().tolist())  # between 0 and infinity
    rows = [cplex.SparsePair(list(range(i * m, (i + 1) * m)), [1.0] * m) for i in range(n)]
    problem.linear_constraints.add(lin_expr=rows, senses="E" * n, rhs=[1.0] * n)
    kept = [
        cplex.SparsePair(list(range(o, n * m, m)), cut.tolist()) for cut in cuts for o in range(m)
    ]
    problem.linear_constraints.add(lin_expr=kept, senses="L" * len(kept), rhs=[0.0] * len(kept))
    problem.parameters.simplex.tolerances.feasibility.set(1e-9)
    problem.solve()
    return float(problem.solution.get_objective_value())
