"""A map with nothing on it but its cells, to draw on."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from priste.grid import Grid


def blank_map(grid: Grid, *, room: tuple[float, float], above: bool = False) -> tuple[Figure, Axes]:
    """Return a figure with the cells of a map, under what is drawn there, or `above` it.

    `room` is the width of the figure, and the height that it needs besides the map.
    """
    width, height = grid.columns * grid.cell_size, grid.rows * grid.cell_size
    figure = Figure(figsize=(room[0], room[1] + 6.0 * min(max(height / width, 0.5), 1.4)))
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    lines = [[(x, 0), (x, height)] for x in np.arange(grid.columns + 1) * grid.cell_size]
    lines += [[(0, y), (width, y)] for y in np.arange(grid.rows + 1) * grid.cell_size]
    cells = LineCollection(lines, colors="#e8e8e8", linewidths=0.5, zorder=2 if above else 0)
    axes.add_collection(cells)
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.set(xlabel="kilometres east", ylabel="kilometres north")
    return figure, axes
