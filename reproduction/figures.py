"""The figures of the paper's evaluation."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.experiments import Curve, Experiment, Panel
from reproduction.results_store import Record
from reproduction.settings import EARLY, LATE
from reproduction.verdicts import Missing, Results

TITLES = {
    "retry": "Retry (published; no guarantee)",
    "every output": "EveryOutput (guaranteed)",
    "remap": "OptimalRemap (guaranteed)",
}
_COLOURS = ("#22577a", "#c9403a", "#e0a030", "#57a773", "#8a5a9e", "#777777", "#4fb3bf", "#a0522d")


_ENOUGH = 5  # runs for a useful interval


def draw(experiment: Experiment, results: Results) -> Figure:
    """Draw an experiment: a column per method, a row per panel or measure."""
    if experiment.axis == "time":
        return _over_time(experiment, results)
    return _over_epsilon(experiment, results)


def _over_time(experiment: Experiment, results: Results) -> Figure:
    figure, panels = _frame(len(experiment.panels), experiment.methods)
    for row, panel in zip(panels, experiment.panels, strict=True):
        for axes, method in zip(row, experiment.methods, strict=True):
            name = "errors" if method == "remap" else "budgets"
            for colour, curve in _coloured(panel):
                record = _record(results, curve, 0, method)
                if record is not None:
                    _band(axes, record.values(name), curve.label, colour)
            for event in _times(experiment):
                axes.axvspan(event.start + 0.5, event.stop + 0.5, color="#c9403a", alpha=0.08, lw=0)
            _decorate(axes, panel.title, "time", "distance" if name == "errors" else "budget")
        _name_curves(row)
    return figure


def _coloured(panel: Panel) -> Iterator[tuple[str, Curve]]:
    return zip(cycle(_COLOURS), panel.curves, strict=False)


def _times(experiment: Experiment) -> list[range]:
    event = experiment.settings()[0].event
    return {"late": [LATE], "both": [EARLY, LATE]}.get(event, [EARLY])


def _band(axes: Axes, values: np.ndarray, label: str, colour: str) -> None:
    """Draw the mean over runs, and one deviation around it."""
    steps = np.arange(1, values.shape[1] + 1)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    axes.plot(steps, mean, color=colour, lw=1.4, label=label)
    axes.fill_between(
        steps, np.maximum(mean - deviation, 0), mean + deviation, color=colour, alpha=0.12, lw=0
    )


def _over_epsilon(experiment: Experiment, results: Results) -> Figure:
    figure, panels = _frame(2, experiment.methods)
    (panel,) = experiment.panels
    unit = "km" if experiment.is_geolife else "units of length"
    names = {"budgets": "mean budget", "errors": f"mean distance, {unit}"}
    for row, (name, label) in zip(panels, names.items(), strict=True):
        for axes, method in zip(row, experiment.methods, strict=True):
            for colour, curve in _coloured(panel):
                _line(axes, results, curve, method, name, colour)
            _decorate(axes, "", "ε", label)
        if name == "errors":  # one scale for all; budgets of a remap are those of its noise
            highest = max(axes.get_ylim()[1] for axes in row)
            for axes in row:
                axes.set_ylim(0, highest)
        _name_curves(row)
    return figure


def _line(axes: Axes, results: Results, curve: Curve, method: str, name: str, colour: str) -> None:
    """Draw means over runs with intervals, or a dash for each run where there are few."""
    points = []
    for k, setting in enumerate(curve.settings):
        record = _record(results, curve, k, method)
        if record is None:
            continue
        mean, half = record.mean(name)
        if len(record) < _ENOUGH:
            runs, half = record.values(name).mean(axis=1), 0.0
            axes.plot([setting.epsilon] * len(runs), runs, "_", color=colour, ms=5, alpha=0.6)
        points.append((setting.epsilon, mean, half))
    if points:
        x, means, halves = np.array(points).T
        axes.errorbar(
            x, means, halves, color=colour, lw=1.4, marker="o", ms=3, capsize=2, label=curve.label
        )


def _record(results: Results, curve: Curve, k: int, method: str) -> Record | None:
    try:
        return results.record(curve.settings[k].but(method=method))
    except Missing:
        return None


def _frame(rows: int, methods: tuple[str, ...]) -> tuple[Figure, Any]:
    figure = Figure(figsize=(max(1.2 + 3.6 * len(methods), 7.0), 0.4 + 2.5 * rows))
    figure.set_layout_engine("constrained")
    panels = figure.subplots(rows, len(methods), squeeze=False, sharex=True)
    for axes, method in zip(panels[0], methods, strict=True):
        axes.annotate(
            TITLES[method],
            (0, 1.16),
            xycoords="axes fraction",
            fontsize=9,
            fontweight="bold",
            color="#333",
        )
    return figure, panels


def _decorate(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=8)
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    if not axes.has_data():
        axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color="#999")


def _name_curves(row: Any) -> None:
    """Put one legend beside each row."""
    named = max((axes.get_legend_handles_labels() for axes in row), key=lambda found: len(found[1]))
    place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    row[-1].legend(*named, frameon=False, fontsize=7, **place)


def draw_runtime(measured: dict[str, Any]) -> Figure:
    """Draw seconds against event length and width, ours and one trajectory after another."""
    figure = Figure(figsize=(8.4, 3.2))
    figure.set_layout_engine("constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), ("length", "width"), strict=True):
        points = measured["points"][kind]
        for who, label, colour in (
            ("naive", "one trajectory after another", _COLOURS[1]),
            ("ours", "two worlds", _COLOURS[0]),
        ):
            known = [(p[kind], p[who]) for p in points if p[who] is not None]
            axes.plot(*zip(*known, strict=True), color=colour, marker="o", ms=3, label=label)
        axes.set_xlim(4.5, 15.5)
        axes.set_yscale("log")
        fixed = "5 cells wide" if kind == "length" else "5 steps long"
        axes.set_title(f"events {fixed}", loc="left", fontsize=9)
        axes.set_xlabel(f"event {kind}", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("seconds", fontsize=8)
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure
