"""Planar Laplace noise on a GPU: the same integrals, put together there."""

from typing import Any

import numpy as np

from priste.grid import Grid
from priste.mechanisms.planar_laplace import Axis, interval_masses


def snapped_laplace(xp: Any, grid: Grid, budget: float) -> Any:
    """Return the mass that noise around each cell's centre puts on each cell, on the device."""
    side = budget * grid.cell_size
    if not grid.elsewhere:
        return _endless_at_border(xp, grid.rows, grid.columns, side)
    ringed = _endless_at_border(xp, grid.rows + 2, grid.columns + 2, side)
    on_map = np.pad(np.ones((grid.rows, grid.columns), dtype=bool), 1).ravel()
    inside, outside = (xp.asarray(np.flatnonzero(each)) for each in (on_map, ~on_map))
    matrix = xp.empty((grid.n_cells, grid.n_cells))
    matrix[:-1, :-1] = ringed[inside[:, None], inside]
    matrix[:-1, -1] = ringed[inside[:, None], outside].sum(axis=1)
    likeness = xp.asarray(np.exp(-budget * grid.distances[:-1, -1:]))
    matrix[-1, :-1] = (likeness * matrix[:-1, :-1]).max(axis=0)
    matrix[-1, -1] = 1 - matrix[-1, :-1].sum()
    return matrix


def _endless_at_border(xp: Any, rows: int, columns: int, side: float) -> Any:
    """Return the masses on a map whose border cells reach as far as the plane."""
    across, down = Axis.of(columns), Axis.of(rows)
    masses = xp.asarray(np.pad(interval_masses(across, down, side), (0, 1)))
    (left, right), (below, above) = (
        tuple(xp.asarray(part) for part in axis.parts) for axis in (across, down)
    )
    by_row = masses[:, below] + masses[:, above]  # interval across, true row, output row
    boxes = by_row[left] + by_row[right]  # true column, output column, true row, output row
    matrix = boxes.transpose(2, 0, 3, 1).reshape(rows * columns, rows * columns)
    return matrix / matrix.sum(axis=1, keepdims=True)
