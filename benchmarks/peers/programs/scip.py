"""SCIP: spatial branch and bound, stopped where the sign is known."""

from typing import Any

from pyscipopt import Model, quicksum

from benchmarks.peers.programs.verdicts import SECONDS, TOLERANCE, Verdict, verdicts

PACKAGE = "pyscipopt"


def whole(form: Any) -> Verdict:
    model, x = _model(len(form))
    entries = (2 * form).tolist()
    mixed = (entries[i][j] * x[i] * x[j] for i in range(len(x)) for j in range(i))
    pure = (entries[i][i] / 2 * x[i] * x[i] for i in range(len(x)))
    return _verdict(model, quicksum(mixed) + quicksum(pure))


def factors(side: Any, bound: float) -> Verdict:
    model, x = _model(len(side[0]))
    sums = []
    for factor in side:
        sums.append(model.addVar(lb=0, ub=float(factor.max())))
        model.addCons(quicksum(c * v for c, v in zip(factor.tolist(), x, strict=True)) == sums[-1])
    return _verdict(model, bound * sums[0] * sums[3] - sums[1] * sums[2])


def _model(n: int) -> Any:
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", SECONDS)
    model.setParam("limits/primal", -TOLERANCE)
    model.setParam("limits/dual", -TOLERANCE)
    x = [model.addVar(lb=0, ub=1) for _ in range(n)]
    model.addCons(quicksum(x) == 1)
    return model, x


def _verdict(model: Any, form: Any) -> Verdict:
    value = model.addVar(lb=None)  # its objective must be linear
    model.addCons(form <= value)
    model.setObjective(value)
    model.optimize()
    if model.getNSols() and model.getObjVal() <= -TOLERANCE:
        return False
    return True if model.getDualbound() >= -TOLERANCE else None


def works(given: Any) -> Any:
    return verdicts(given, whole, factors)
