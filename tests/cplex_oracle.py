"""Theorem IV.1 by CPLEX's global solver for nonconvex quadratic programs."""

from typing import Any

import cplex
import numpy as np

from priste.checks import Array


class NoOptimum(Exception):
    """CPLEX ran out of time or failed."""


def smallest_value(form: Array, linear: Array | None = None, *, seconds: float = 60.0) -> float:
    """The global minimum of x·form·x + linear·x over the probability simplex."""
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
    """The left sides of the theorem's two inequalities, negated: (quadratic, linear) each."""
    e = np.exp(epsilon)
    first = -((e - 1) * np.outer(a, b) - e * np.outer(a, c)), -b
    second = -((e - 1) * np.outer(a, b) + np.outer(a, c)), e * b
    return first, second


def balanced_form(a: Array, not_a: Array, b: Array, d: Array, epsilon: float) -> Array:
    """The first inequality as one quadratic form, cells weighed so that a solver can see them all.

    Substituting π_i = x_i / √(b_i + d_i) changes no sign. Entries beyond what decides a sign are
    cut off at a million, for the solver's sake.
    """
    total = b + d
    unit = np.sqrt(np.where(total > 0, total, 1.0))
    p, q, beta, delta = a / unit, not_a / unit, b / unit, d / unit
    rising = np.exp(epsilon) * np.outer(p, delta) - np.outer(beta, q)
    return np.asarray(np.clip((rising + rising.T) / 2, -1e6, 1e6))
