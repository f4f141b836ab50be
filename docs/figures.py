"""Draws the pictures of the documentation: `make figures`."""

import json
from pathlib import Path

import matplotlib.colors
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from page_figures import page_figures
from scaling_table import scaling_figure
from stream_figures import month, year

from priste import (
    Grid,
    KnownPrior,
    Mobility,
    NoNoise,
    OptimalRemap,
    Protect,
    Protector,
    presence,
)

IMAGES = Path(__file__).parent / "images"
INK, SECRET, TRUE, RELEASED = "#333333", "#c9403a", "#2b6ca3", "#e39b2d"
EPSILON = 0.5


def remap() -> None:
    """What two people report under the remap, and what is left of the signal."""
    city = Grid(12, 12)
    mobility = Mobility.gaussian(city, sigma=1.0)
    belief = np.full(city.n_cells, 1 / city.n_cells)
    region = [cell for cell in range(city.n_cells) if cell // 12 < 2 and cell % 12 < 2]
    protect = Protect(presence(region, range(3, 8)), EPSILON)
    guard = Protector(
        mobility, NoNoise(city), protect, prior=KnownPrior(belief), calibration=OptimalRemap()
    )
    emission = OptimalRemap().plan(guard.beginning().arrive().situation()).emission
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(13, 4.2), layout="constrained", width_ratios=[1, 1, 1.25]
    )
    for axes, cell, title in (
        (left, 13, "Inside the secret place: somewhere else"),
        (middle, 6 * 12 + 7, "Far away: mostly the truth"),
    ):
        shares = emission[cell].reshape(12, 12)
        image = axes.imshow(
            np.where(shares >= 1e-4, shares, np.nan),
            origin="lower",
            extent=(0, 12, 0, 12),
            cmap="YlOrBr",
            norm=matplotlib.colors.LogNorm(1e-4, 1),
        )
        axes.add_patch(plt.Rectangle((0, 0), 2, 2, fill=False, ec=SECRET, lw=2))
        axes.plot(*city.centres[cell], "o", color=TRUE, ms=8, mec="white")
        axes.set(title=title, xticks=range(0, 13, 4), yticks=range(0, 13, 4))
    figure.colorbar(image, ax=[left, middle], shrink=0.8, label="probability of each report")
    draw_utility(right)
    figure.savefig(IMAGES / "remap.png", dpi=120)


def draw_utility(axes: Axes) -> None:
    """Mean error against ε for the four calibrations, from the numbers in data/."""
    found = json.loads((IMAGES.parent / "data" / "utility.json").read_text())
    for method, color, style in (
        ("retry", "#999999", ":"),
        ("every output", SECRET, "-"),
        ("remap over noise", RELEASED, "-"),
        ("remap alone", TRUE, "-"),
    ):
        points = {}
        for key, (mean, half, _) in found.items():
            name, prior, sigma, epsilon = key.split("|")
            if (name, prior, sigma) == (method, "known", "1.0"):
                points[float(epsilon)] = mean, half
        if points:
            x = sorted(points)
            y, half = np.array([points[e] for e in x]).T
            label = f"{method} (no guarantee)" if method == "retry" else method
            axes.errorbar(x, y, half, color=color, ls=style, marker="o", ms=4, label=label)
    axes.set(xscale="log", xlabel="ε", title="Mean error in cells (20 × 20, σ = 1, known belief)")
    axes.set_xticks([0.1, 0.5, 1, 2], ["0.1", "0.5", "1", "2"])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    remap()
    scaling_figure()
    month(IMAGES / "month.png")
    year(IMAGES / "year.png")
    page_figures(IMAGES)
