"""qif: planar Laplace noise as points and as a matrix over a grid, and its planar geometric."""

from typing import Any

import numpy as np
from qif.mechanism import geo_ind

PACKAGE = "qif"


def works(given: Any) -> Any:
    budget, draws = float(given["budget"]), int(given["draws"])
    rows, columns = given["shape"].tolist()

    def points() -> Any:
        noise = (geo_ind.planar_laplace_sample(budget) for _ in range(draws))
        return np.array([(point.x, point.y) for point in noise])

    return {
        "points": points,
        "matrix": lambda: np.array(geo_ind.planar_laplace_grid(columns, rows, 1.0, budget)),
        "geometric": lambda: np.array(geo_ind.planar_geometric_grid(columns, rows, 1.0, budget)),
    }
