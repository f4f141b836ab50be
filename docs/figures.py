"""Draws the pictures of the documentation: `make figures`."""

import json
import math
from pathlib import Path

import matplotlib.colors
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scaling_table import scaling_figure
from stream_figures import month, year

from priste import (
    Grid,
    KnownPrior,
    Mobility,
    NoNoise,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    posterior_odds,
    presence,
    prior_odds,
)
from priste.wording import as_odds

IMAGES = Path(__file__).parent / "images"
INK, SECRET, TRUE, RELEASED = "#333333", "#c9403a", "#2b6ca3", "#e39b2d"
EPSILON = 0.5


def stream() -> None:
    """A person who was at the secret place: the map, and an observer's odds with and without us."""
    city = Grid(12, 12)
    mobility = Mobility.gaussian(city, sigma=1.5)
    region, steps = city.disc(3.0, 3.0, radius=1.5), range(10, 16)
    clinic, noise = presence(region, steps), PlanarLaplace(city, 1.0)
    path = next(p for p in (mobility.sample(30, seed=s) for s in range(99)) if clinic.holds(p))

    random = np.random.default_rng(3)
    emission = noise.emission()
    bare = [emission[:, random.choice(city.n_cells, p=emission[cell])] for cell in path]
    guard = Protector(mobility, noise, Protect(clinic, EPSILON), seed=3)
    releases = [guard.release(int(cell)) for cell in path]
    columns = [release.column for release in releases]
    before = prior_odds(clinic, mobility)
    unprotected = posterior_odds(clinic, mobility, bare)
    protected = posterior_odds(clinic, mobility, columns)

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    draw_map(left, city, region, path, [release.cell for release in releases])
    draw_odds(right, steps, before, unprotected, protected)
    figure.savefig(IMAGES / "stream.png", dpi=120)


def draw_map(
    axes: Axes, city: Grid, region: tuple[int, ...], path: np.ndarray, cells: list[int]
) -> None:
    mask = np.full(city.n_cells, np.nan)
    mask[list(region)] = 1
    axes.imshow(
        mask.reshape(city.rows, city.columns),
        origin="lower",
        extent=(0, city.columns, 0, city.rows),
        cmap="Reds",
        vmin=0,
        vmax=3,
    )
    axes.plot(*city.centres[path].T, "-o", color=TRUE, ms=3, lw=1, label="true path (private)")
    axes.plot(*city.centres[cells].T, "s", color=RELEASED, ms=6, mec="white", label="released")
    axes.fill([], [], color="#fc9f82", label="secret place")
    axes.set(
        title="A path and what was released of it", xlim=(0, city.columns), ylim=(0, city.rows)
    )
    axes.set(xticks=range(0, city.columns + 1, 3), yticks=range(0, city.rows + 1, 3))
    axes.legend(loc="upper right", framealpha=0.95, fontsize=8)


def draw_odds(
    axes: Axes, steps: range, before: float, unprotected: np.ndarray, protected: np.ndarray
) -> None:
    t = np.arange(len(protected))
    low, high = before * math.exp(-EPSILON), before * math.exp(EPSILON)
    axes.axvspan(steps[0] - 0.5, steps[-1] + 0.5, color="#f5eceb", label="the secret's time")
    axes.axhspan(low, high, color=TRUE, alpha=0.2, label=f"promised: ε = {EPSILON}")
    axes.plot(t, unprotected, color=SECRET, label="planar Laplace noise alone")
    axes.plot(t, protected, color=TRUE, label="protected")
    axes.set_yscale("log")
    ticks = [before / 100, before / 10, before, before * 10, before * 100, before * 1000]
    inside = [x for x in ticks if min(unprotected.min(), low) / 2 < x < unprotected.max() * 2]
    axes.set_yticks(inside, [as_odds(x) for x in inside])
    axes.minorticks_off()
    axes.set(title="An observer's odds that the person was there", xlabel="step")
    axes.legend(loc="upper left", framealpha=0.95, fontsize=8)


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
    stream()
    remap()
    scaling_figure()
    month(IMAGES / "month.png")
    year(IMAGES / "year.png")
