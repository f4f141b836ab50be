"""A picture of the map of a model: what it covers, and where the time was spent (private)."""

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from priste.report.blank_map import blank_map
from priste.tracks.model import Model
from priste.tracks.usual_area import one_a_step


def draw_model_map(model: Model, table: pd.DataFrame) -> Figure:
    """Draw the cells of a model's map, and the share of the time with fixes spent in each."""
    place, grid = model.place, model.place.grid
    moments = one_a_step(table, model.step)
    inside = moments[place.covers(moments["latitude"], moments["longitude"])]
    cells = place.cell_at(inside["latitude"], inside["longitude"])
    shares = np.bincount(cells, minlength=grid.n_squares)[: grid.n_squares] / len(moments)
    width, height = grid.columns * grid.cell_size, grid.rows * grid.cell_size
    figure, axes = blank_map(grid, room=(7.2, 1.4), above=True)
    image = axes.imshow(
        np.where(shares > 0, shares, np.nan).reshape(grid.rows, grid.columns),
        origin="lower",
        extent=(0, width, 0, height),
        cmap="YlGnBu",
        norm=LogNorm(min(1e-4, shares[shares > 0].min(initial=1.0)), 1),
    )
    figure.colorbar(
        image,
        ax=axes,
        shrink=0.8,
        format=lambda share, _: f"{100 * share:g} %",
        label="share of the time with fixes",
    )
    south, west, north, east = place.corners
    rest = "elsewhere" if grid.elsewhere else "not learned from"
    axes.set_title(
        f"{grid.rows} × {grid.columns} cells of {grid.cell_size:.3g} km, from {south:.3f}, "
        f"{west:.3f} to {north:.3f}, {east:.3f}\n{shares.sum():.1%} of the time is on the map, "
        f"{1 - shares.sum():.1%} {rest}",
        loc="left",
        fontsize=10,
    )
    return figure
