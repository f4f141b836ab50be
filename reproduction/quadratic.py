"""Theorem IV.1 by CPLEX's global solver for nonconvex quadratic programs, as in the paper.

CPLEX is optional: `is_installed()` tells whether it is installed.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np

from priste.checks import Array


class NoOptimum(Exception):
    """CPLEX ran out of time or failed."""


def is_installed() -> bool:
    """Tell whether CPLEX is installed."""
    return find_spec("cplex") is not None


def smallest_value(form: Array, linear: Array | None = None, *, seconds: float = 60.0) -> float:
    """Return the global minimum of x·form·x + linear·x over the probability simplex."""
    import cplex

    n = len(form)
    problem: Any = cplex.Cplex()
    for silence in (
        problem.set_log_stream,
        problem.set_results_stream,
        problem.set_warning_stream,
        problem.set_error_stream,
    ):
        silence(None)
    problem.parameters.optimalitytarget.set(3)  # the global optimum, convex or not
    problem.parameters.threads.set(1)
    problem.parameters.timelimit.set(seconds)
    problem.objective.set_sense(problem.objective.sense.minimize)
    costs = [0.0] * n if linear is None else linear.tolist()
    problem.variables.add(obj=costs, lb=[0.0] * n, ub=[1.0] * n)
    total = cplex.SparsePair(list(range(n)), [1.0] * n)
    problem.linear_constraints.add(lin_expr=[total], senses="E", rhs=[1.0])
    symmetric = form + form.T  # CPLEX minimises half of x·Q·x
    problem.objective.set_quadratic(
        [cplex.SparsePair(list(range(n)), row.tolist()) for row in symmetric]
    )
    try:
        problem.solve()
        status = problem.solution.get_status_string()
    except cplex.exceptions.CplexSolverError as failure:
        status = str(failure)
    if "optimal" not in status:
        raise NoOptimum(f"CPLEX stopped with: {status}")
    return float(problem.solution.get_objective_value())


def theorem_checks(
    a: Array, b: Array, c: Array, epsilon: float
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the left sides of the theorem's two inequalities, negated: (quadratic, linear)."""
    e = np.exp(epsilon)
    first = -((e - 1) * np.outer(a, b) - e * np.outer(a, c)), -b
    second = -((e - 1) * np.outer(a, b) + np.outer(a, c)), e * b
    return first, second
