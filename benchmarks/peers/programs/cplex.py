"""CPLEX: the global optimum of a nonconvex quadratic program, cut off where the sign is known."""

from typing import Any

import cplex

from benchmarks.peers.programs.verdicts import SECONDS, TOLERANCE, Verdict, verdicts

PACKAGE = "cplex"


def whole(form: Any) -> Verdict:
    n = len(form)
    program = _program(n, [])
    columns = list(range(n))
    program.objective.set_quadratic(
        [cplex.SparsePair(columns, row) for row in (2 * form).tolist()]  # it minimises half of it
    )
    return _verdict(program)


def factors(side: Any, bound: float) -> Verdict:
    n = len(side[0])
    program = _program(n, [float(factor.max()) for factor in side])
    sums = [
        cplex.SparsePair([*range(n), n + k], [*factor.tolist(), -1.0])
        for k, factor in enumerate(side)
    ]
    program.linear_constraints.add(lin_expr=sums, senses="E" * 4, rhs=[0.0] * 4)
    program.objective.set_quadratic_coefficients([(n, n + 3, bound), (n + 1, n + 2, -1.0)])
    return _verdict(program)


def _program(n: int, upper: list[float]) -> Any:
    """Return the simplex of n variables, and further variables from 0 to `upper`."""
    program: Any = cplex.Cplex()
    for silence in (
        program.set_log_stream,
        program.set_results_stream,
        program.set_warning_stream,
        program.set_error_stream,
    ):
        silence(None)
    program.parameters.optimalitytarget.set(3)  # the global optimum, convex or not
    program.parameters.threads.set(1)
    program.parameters.timelimit.set(SECONDS)
    program.parameters.mip.limits.lowerobjstop.set(-TOLERANCE)
    program.parameters.mip.tolerances.uppercutoff.set(-TOLERANCE)
    count = n + len(upper)
    program.variables.add(obj=[0.0] * count, lb=[0.0] * count, ub=[1.0] * n + upper)
    total = cplex.SparsePair(list(range(n)), [1.0] * n)
    program.linear_constraints.add(lin_expr=[total], senses="E", rhs=[1.0])
    return program


def _verdict(program: Any) -> Verdict:
    program.solve()
    status = program.solution.get_status_string()
    if "infeasible" in status:  # nothing below the cutoff
        return True
    found = program.solution.is_primal_feasible()
    if found and program.solution.get_objective_value() <= -TOLERANCE:
        return False
    return True if "optimal" in status else None


def works(given: Any) -> Any:
    return verdicts(given, whole, factors)
