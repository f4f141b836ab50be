"""Maps so small that every sequence of releases is audited: the exact loss, not a lower bound."""

from typing import Any

from priste.auditing import audit
from priste.calibration import Calibration, EveryOutput, OptimalRemap, Retry
from priste.events import presence
from priste.grid import Grid
from priste.mechanisms import Exponential
from priste.mobility import Mobility
from priste.priors import AnyPrior
from priste.protection import Protect
from priste.protector import Protector
from reproduction.experiments import Mode

EPSILON = 0.5


def measure(mode: Mode) -> dict[str, Any]:
    """Return, per map and method, the worst loss after each release."""
    maps = {"a line of 3 cells": Grid(1, 3), "a line of 4 cells": Grid(1, 4)}
    rows = []
    for where, grid in list(maps.items())[: 1 if mode.is_fast else 2]:
        for name, calibration in _calibrations().items():
            guard = Protector(
                Mobility.gaussian(grid, 1.0),
                Exponential(grid, 1.0),
                Protect(presence({0}, [1, 2]), EPSILON),
                calibration=calibration,
                prior=AnyPrior(),
            )
            found = audit(guard, 4 if grid.n_cells == 3 else 3)
            rows.append(
                {
                    "map": where,
                    "method": name,
                    "realised": found.realised.tolist(),
                    "sequences": found.n_sequences,
                }
            )
    return {"rows": rows, "epsilon": EPSILON}


def _calibrations() -> dict[str, Calibration]:
    return {"retry": Retry(), "every output": EveryOutput(), "remap": OptimalRemap()}
