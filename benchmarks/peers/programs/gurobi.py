"""Gurobi: nonconvex quadratic programs, stopped where the sign is known."""

from typing import Any

import gurobipy
import numpy as np

from benchmarks.peers.programs.verdicts import SECONDS, TOLERANCE, Verdict, verdicts

PACKAGE = "gurobipy"
SETTINGS = {
    "OutputFlag": 0,
    "Threads": 1,
    "TimeLimit": SECONDS,
    "BestObjStop": -TOLERANCE,
    "BestBdStop": -TOLERANCE,
    "FeasibilityTol": 1e-9,  # the least it allows; the others are no better for theirs
}
ENVIRONMENT = gurobipy.Env(params=SETTINGS)


def whole(form: Any) -> Verdict:
    model, x = _model(len(form))
    return _verdict(model, x @ form @ x)


def factors(side: Any, bound: float) -> Verdict:
    model, x = _model(len(side[0]))
    sums = model.addMVar(4)
    model.addConstr(np.array(side) @ x == sums)
    return _verdict(model, bound * sums[0] * sums[3] - sums[1] * sums[2])


def _model(n: int) -> Any:
    model = gurobipy.Model(env=ENVIRONMENT)
    x = model.addMVar(n, ub=1.0)
    model.addConstr(x.sum() == 1)
    return model, x


def _verdict(model: Any, form: Any) -> Verdict:
    model.setObjective(form)
    model.optimize()
    if model.SolCount and model.ObjVal <= -TOLERANCE:
        return False
    return True if model.ObjBound >= -TOLERANCE else None


def works(given: Any) -> Any:
    return verdicts(given, whole, factors)
