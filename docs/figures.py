"""Draws the pictures of the documentation: `make figures`."""

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from priste import (
    Grid,
    Mobility,
    PlanarLaplace,
    Protect,
    Protector,
    posterior_odds,
    presence,
    prior_odds,
)
from priste.odds import as_odds

IMAGES = Path(__file__).parent / "images"
INK, SECRET, TRUE, RELEASED = "#333333", "#c9403a", "#2b6ca3", "#e39b2d"
EPSILON = 0.5


def stream() -> None:
    """A person who was at the secret place: the map, and an observer's odds with and without us."""
    city = Grid(20, 20)
    mobility = Mobility.gaussian(city, sigma=2.0)
    region, steps = city.disc(5.0, 5.0, radius=2.0), range(10, 20)
    clinic, noise = presence(region, steps), PlanarLaplace(city, 1.0)
    path = next(p for p in (mobility.sample(40, seed=s) for s in range(99)) if clinic.holds(p))

    random = np.random.default_rng(3)
    bare = [noise.emission()[:, random.choice(400, p=noise.emission()[cell])] for cell in path]
    guard = Protector(mobility, noise, Protect(clinic, EPSILON), seed=3)
    releases = [guard.release(int(cell)) for cell in path]
    columns = [
        noise.with_budget(r.private.budget).emission()[:, r.cell]
        if r.private.budget
        else np.full(city.n_cells, 1 / city.n_cells)
        for r in releases
    ]
    before = prior_odds(clinic, mobility)
    unprotected = posterior_odds(clinic, mobility, None, bare)
    protected = posterior_odds(clinic, mobility, None, columns)

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
    axes.set(title="A path and what was released of it", xlim=(0, 20), ylim=(0, 20))
    axes.set(xticks=range(0, 21, 5), yticks=range(0, 21, 5))
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


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    stream()
