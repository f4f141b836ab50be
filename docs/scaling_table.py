"""The table and the picture of how cost grows, from data/scaling.json.

`python -m benchmarks scaling=docs/data/scaling.json` measures what they show.
"""

import json
import math
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

DOCS = Path(__file__).parent
INK, GRID = "#333333", "#e6e6e6"
COLORS = ("#2b6ca3", "#e39b2d", "#c9403a", "#5a9a5a", "#8a6bb1")
UNITS = {"time": "s", "memory": "MB"}
FIT = ("exponent", "low", "high")
LEAST = {"time": 0.0, "memory": 0.1}  # what can be seen
TICKS = {
    "cells": (100, 1000, 10_000),
    "steps": (10, 100, 1000, 10_000),
    "worlds": (2, 5, 10, 20, 50),
    "events": (1, 2, 5, 10, 20),
}


def measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / "data" / "scaling.json").read_text())
    return found


def scaling_lines() -> list[str]:
    """A table for each thing that grows, then what is to be said about its rows."""
    found = measured()
    margin = next(iter(found.values()))["time"]["margin"]
    lines = [
        "Exponents are fitted, in logarithms, to the upper decade of sizes. In brackets: how far "
        "leaving out any one point moves them; in parentheses: the cost model's. Bold is worse "
        f"than the model by more than {margin:g}. One core; n cells, K worlds.",
        "",
    ]
    for axis, group in groupby(found.items(), key=lambda item: item[1]["axis"]):
        curves = dict(group)
        lines += [
            f"**Against {axis}**",
            "",
            f"| what | cost model | {axis} | time there | exponent (model) | memory there "
            "| exponent (model) |",
            "|---" * 7 + "|",
        ]
        lines += [row(name, curve) for name, curve in curves.items()]
        lines += ["", *remarks(curves), ""]
    return lines[:-1]


def row(name: str, curve: dict[str, Any]) -> str:
    size, seconds, megabytes = curve["points"][-1]
    cells = [
        f"{name} ({curve['setting']})",
        curve["cost"],
        f"{size:,}",
        amount(seconds, "time"),
        exponent(curve["time"]),
        amount(megabytes, "memory"),
        exponent(curve["memory"]),
    ]
    return f"| {' | '.join(cells)} |"


def amount(value: float, part: str) -> str:
    """Two digits, in a unit that suits."""
    scale = {"s": 1.0, "ms": 1e-3, "µs": 1e-6} if part == "time" else {"GB": 1e3, "MB": 1.0}
    unit = next((name for name, size in scale.items() if value >= size), list(scale)[-1])
    number = value / scale[unit]
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"


def exponent(fit: dict[str, Any]) -> str:
    """The exponent with its range, and the model's; in bold where it is worse."""
    if "exponent" not in fit:
        return f"{fit['verdict']} ({fit['model']:g})"
    found, low, high = (f"{fit[key]:.2f}".replace("-0.00", "0.00") for key in FIT)
    shown = f"{found} [{low}, {high}] ({fit['model']:g})"
    return f"**{shown}**" if fit["verdict"] == "worse" else shown


def remarks(curves: dict[str, Any]) -> list[str]:
    """Why an exponent is not the model's, and why a curve ends early; once for each reason."""
    said: dict[str, list[str]] = {}
    for name, curve in curves.items():
        for word in ("worse", "better"):
            parts = [part for part in UNITS if curve[part]["verdict"] == word]
            if parts and curve[word]:
                what = f"{name} ({' and '.join(parts)} {word} than the model)"
                said.setdefault(curve[word], []).append(what)
        if curve["limit"]:
            said.setdefault(curve["limit"], []).append(f"{name} (up to {curve['points'][-1][0]:,})")
    return [f"- {'; '.join(names)}: {reason}." for reason, names in said.items()]


def scaling_figure() -> None:
    """Time above memory for each group of curves, both logarithmic, with the exponents."""
    groups = groupby(measured().items(), key=lambda item: item[0].partition(": ")[0])
    figure, axes = plt.subplots(4, 3, figsize=(12, 13), layout="constrained")
    for place, (panel, curves) in enumerate((panel, list(curves)) for panel, curves in groups):
        top, column = 2 * (place // 3), place % 3
        for below, part in enumerate(UNITS):
            draw(axes[top + below, column], curves, part)
        axes[top, column].set_title(panel, color=INK, fontweight="bold")
    figure.savefig(DOCS / "images" / "scaling.png", dpi=120)
    plt.close(figure)


def draw(axes: Axes, curves: list[tuple[str, dict[str, Any]]], part: str) -> None:
    for color, (name, curve) in zip(COLORS, curves, strict=False):
        sizes, *values = zip(*curve["points"], strict=True)
        y = [v if v >= LEAST[part] else math.nan for v in values[list(UNITS).index(part)]]
        fit = curve[part]
        found = f"{abs(fit['exponent']):.2f}" if "exponent" in fit else "–"
        label = f"{name.partition(': ')[2]}: {found} ({fit['model']:g})"
        axes.plot(sizes, y, "-o", color=color, ms=3.5, lw=1.4, label=label)
    axis = curves[0][1]["axis"]
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel=f"{part}, {UNITS[part]}")
    axes.set_xticks(TICKS[axis], [f"{size:,}" for size in TICKS[axis]])
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.5)  # room for the legend
    axes.minorticks_off()
    axes.grid(color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    style = {"frameon": False, "fontsize": 8, "title_fontsize": 8, "alignment": "left"}
    axes.legend(loc="upper left", title="exponent (of the model)", **style)


if __name__ == "__main__":
    print("\n".join(scaling_lines()))
    scaling_figure()
