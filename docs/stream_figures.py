"""The pictures of a stream: a month of its secrets, and what a step costs over a year."""

import json
import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from priste import Grid, KnownPrior, Mobility, PlanarLaplace, Protect, Protector, presence
from priste.randomness import Randomness

DATA = Path(__file__).parent / "data" / "endless.json"
DAY, DAYS, EPSILON = 24, 30, 1.0
CITY = Grid(8, 8)
HOME, WORK = CITY.cell(1, 1), CITY.cell(6, 6)
CLINIC = CITY.disc(5.5, 2.5, radius=1.1)


def habits() -> Mobility:
    """Home by night, work by day, near moves otherwise."""
    matrices = []
    for hour in range(DAY):
        anchor = WORK if 8 <= hour < 17 else HOME
        moves = np.exp(-0.5 * CITY.distances**2) + 0.25 * np.exp(-CITY.distances[anchor])
        matrices.append(moves / moves.sum(axis=1, keepdims=True))
    return Mobility(matrices, repeat=True)


def month(path_of_picture: Path) -> None:
    """Draw the log-odds of each weekday's secret from when it goes live until it is settled."""
    mobility = habits()
    asked = [
        Protect(presence(CLINIC, range(day * DAY + 14, day * DAY + 17)), EPSILON, name=f"{day}")
        for day in range(DAYS)
        if day % 7 < 5
    ]
    prior = KnownPrior(mobility.initial)
    guard = Protector(mobility, PlanarLaplace(CITY, 1.0), asked, prior=prior)
    path, randomness = mobility.sample(DAY * DAYS, seed=4), Randomness(seed=4)
    lines: dict[str, list[tuple[int, float]]] = {}
    state = guard.beginning()
    for step, cell in enumerate(path.tolist()):
        state = state.arrive()
        plan = guard.calibration.plan(state.situation())
        state = state.observe(plan.draw(cell, randomness).column, plan.warm_start)
        for watched, evidence in zip(state.live, state.evidence, strict=True):
            a, not_a, b, d, _ = (float(values[0]) for values in evidence.four_vectors())
            lines.setdefault(watched.name, []).append((step, math.log(b / d) - math.log(a / not_a)))

    figure, axes = plt.subplots(figsize=(11, 3.4), layout="constrained")
    for number, (name, line) in enumerate(lines.items()):
        steps, moved = np.array(line).T
        hue = ("#2b6ca3", "#e39b2d")[number % 2]
        held = int(name) * DAY
        axes.fill_between(steps / DAY, -EPSILON, EPSILON, color=hue, alpha=0.12, lw=0)
        axes.axvspan((held + 14) / DAY, (held + 17) / DAY, 0.06, 0.94, color="#c9403a", alpha=0.5)
        axes.plot(steps / DAY, moved, color=hue, lw=1.3)
    for limit in (-EPSILON, EPSILON):
        axes.axhline(limit, color="#333333", lw=0.8, ls="--")
    axes.set(
        title="A month: each weekday's secret is live around its hours (red) and stays in its band",
        xlabel="day",
        ylabel="change of log-odds",
        xlim=(0, DAYS),
        ylim=(-1.25, 1.25),
        xticks=range(0, DAYS + 1, 7),
    )
    figure.savefig(path_of_picture, dpi=120)


def year(path_of_picture: Path) -> None:
    """Draw the time of a step and the live events, week by week, as the benchmark kept them."""
    curve = json.loads(DATA.read_text())
    weeks = np.arange(1, len(curve["seconds"]) + 1)
    figure, axes = plt.subplots(figsize=(11, 2.8), layout="constrained")
    axes.plot(
        weeks, 1000 * np.array(curve["seconds"]), "-o", color="#2b6ca3", ms=3, label="ms a step"
    )
    axes.step(weeks, curve["live"], where="mid", color="#e39b2d", label="live events at most")
    axes.set(title="A year of ten-minute steps on 400 cells: a step costs what it cost in week 2")
    axes.set(xlabel="week", yscale="log", yticks=[1, 2, 5, 10, 20, 50])
    axes.set_yticklabels(["1", "2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path_of_picture, dpi=120)
