"""The figures of a report."""

from collections import Counter

import matplotlib.dates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from priste.report.blank_map import blank_map
from priste.report.findings import EventFinding, Findings
from priste.wording import as_odds

_LEAST_SHARE = 1e-4  # smaller probabilities are left white
INK, SECRET, TRUE, RELEASED = "#333333", "#c9403a", "#2b6ca3", "#e39b2d"


def draw(findings: Findings) -> dict[str, Figure]:
    """Return the figures by name."""
    figures = {"map": draw_map(findings)}
    if findings.events:
        figures["odds"] = draw_odds(findings)
    if findings.remap is not None:
        figures["remap"] = draw_remap(findings)
    if findings.is_private:
        figures["error"] = draw_errors(findings)
    return figures


def draw_map(findings: Findings) -> Figure:
    """Draw regions, released cells and, in a private report, the true path."""
    grid = findings.model.place.grid
    figure, axes = blank_map(grid, room=(6.4, 0.8))
    for k, event in enumerate(findings.events):
        for i, cell in enumerate(grid.on_map(event.cells)):
            corner = grid.centres[cell] - grid.cell_size / 2
            label = "sensitive places" if k == i == 0 else None
            square = Rectangle(
                tuple(corner), grid.cell_size, grid.cell_size, color=SECRET, alpha=0.25, lw=0
            )
            square.set_label(label or "_")
            axes.add_patch(square)
    times = Counter(grid.on_map(findings.released.values()))
    away = len(findings.released) - times.total()
    x, y = grid.centres[list(times)].T
    sizes = 18 + 90 * np.array(list(times.values())) / max(times.values(), default=1)
    axes.scatter(x, y, s=sizes, marker="s", color=RELEASED, ec="white", label="released", zorder=2)
    if findings.true is not None:
        places = np.vstack([grid.centres, np.full((1, 2), np.nan)])  # nothing to draw elsewhere
        x, y = places[list(findings.true.values())].T
        axes.plot(x, y, "-o", color=TRUE, ms=3.5, lw=1.2, label="true (private)", zorder=3)
    if grid.elsewhere:
        total = len(findings.released)
        axes.set_title(f"released as away: {away} of {total} times", loc="right", fontsize=9)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    return figure


def draw_odds(findings: Findings) -> Figure:
    """Draw the odds an observer could hold, against the promised band, one panel per event."""
    n = len(findings.events)
    figure = Figure(figsize=(8.4, 0.9 + 2.7 * n))
    figure.set_layout_engine("constrained")
    panels = np.atleast_1d(figure.subplots(n, 1, sharex=True))
    for axes, event in zip(panels, findings.events, strict=True):
        _draw_event(axes, event, findings)
    _clock(panels[-1], findings)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=8.5)
    return figure


def _draw_event(axes: Axes, event: EventFinding, findings: Findings) -> None:
    times = findings.times(range(len(event.losses)))
    length = findings.certificate.clock.length
    for k, step in enumerate(event.steps):
        begin = findings.times([step])[0]
        label = "the event's time" if k == 0 else None
        axes.axvspan(begin, begin + length, color="#f7e9e8", lw=0, label=label)
    centre = 1.0 if event.before is None else event.before
    low, high = centre * np.exp([-event.epsilon, event.epsilon])
    if event.protection.sides == "event":
        low = min(low, float(centre * np.exp(-event.falling.max())))
    axes.axhspan(low, high, color=TRUE, alpha=0.15, label="promised")
    for k, path in enumerate((event.rising, -event.falling)):
        label = "the furthest any observer can be moved" if k == 0 else None
        axes.plot(times, centre * np.exp(path), color=SECRET, lw=1, ls="--", label=label)
    if event.after is not None:
        axes.plot(
            times, event.after, color=TRUE, lw=1.6, label="an observer who believes the model"
        )
    axes.set_yscale("log")
    axes.set_ylim(low / 1.35, high * 1.35)
    ticks = [low, centre, high]
    words = [f"× {tick:.3g}" for tick in ticks]
    if event.before is not None:
        words = [as_odds(low, "down"), as_odds(centre), as_odds(high, "up")]
    axes.set_yticks(ticks, words)
    axes.minorticks_off()
    what = "Change of odds" if event.before is None else "Odds"
    title = f"{what} on “{event.name}”, ε = {event.epsilon:g}"
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def draw_remap(findings: Findings) -> Figure:
    """Draw what people at the sensitive place and far away would report."""
    if findings.remap is None:
        raise ValueError("there is no remap to draw")
    step, emission = findings.remap
    grid, region = findings.model.place.grid, findings.events[0].cells
    inside = region[len(region) // 2]
    far = int(np.argmax(grid.distances[: grid.n_squares, list(region)].min(axis=1)))
    figure = Figure(figsize=(8.4, 4.4))
    figure.set_layout_engine("constrained")
    width, height = grid.columns * grid.cell_size, grid.rows * grid.cell_size
    panels = figure.subplots(1, 2)
    for axes, cell, who in (
        (panels[0], inside, "at the sensitive place"),
        (panels[1], far, "far away"),
    ):
        shares = emission[cell, : grid.n_squares].reshape(grid.rows, grid.columns)
        image = axes.imshow(
            np.where(shares >= _LEAST_SHARE, shares, np.nan),
            origin="lower",
            extent=(0, width, 0, height),
            cmap="YlOrBr",
            norm=LogNorm(_LEAST_SHARE, 1),
        )
        for sensitive in grid.on_map(region):
            corner = grid.centres[sensitive] - grid.cell_size / 2
            size = grid.cell_size
            axes.add_patch(Rectangle(tuple(corner), size, size, fill=False, ec=SECRET, lw=1))
        for here in grid.on_map([cell]):
            axes.plot(*grid.centres[here], "o", color=TRUE, ms=7, mec="white")
        away = f"\n(and “away” with probability {emission[cell, -1]:.2g})" * grid.elsewhere
        axes.set_title(f"Somebody {who} would report{away}", loc="left", fontsize=10)
    figure.colorbar(image, ax=panels, shrink=0.8, label="probability of each report")
    when = findings.times([step])[0]
    figure.suptitle(
        f"{when:%Y-%m-%d %H:%M}, the first step of “{findings.events[0].name}”",
        fontsize=9,
        parse_math=False,
    )
    return figure


def draw_errors(findings: Findings) -> Figure:
    """Draw error and budget over time, and how the errors are distributed."""
    errors, budgets = findings.errors, findings.budgets
    if errors is None or budgets is None:
        raise ValueError("a public report has no errors to draw")
    figure = Figure(figsize=(8.4, 5.6))
    figure.set_layout_engine("constrained")
    panels = figure.subplot_mosaic([["error", "spread"], ["budget", "spread"]], width_ratios=[2, 1])
    times = findings.times(list(findings.released))
    panels["error"].plot(times, errors, ".", color=TRUE, ms=5)
    known = errors[np.isfinite(errors)]  # there is no distance from off the map to elsewhere
    mean = known.mean() if len(known) else np.nan
    panels["error"].axhline(mean, color=INK, lw=0.8, ls=":")
    panels["error"].set_title("Distance between true and released, km", loc="left", fontsize=10)
    panels["error"].set_ylim(bottom=0)
    panels["budget"].plot(times, list(budgets.values()), drawstyle="steps-post", color=RELEASED)
    panels["budget"].set_title(
        "Budget of the noise, per km (0 reveals nothing)", loc="left", fontsize=10
    )
    panels["budget"].set_ylim(bottom=0)
    for name in ("error", "budget"):
        _clock(panels[name], findings)
    panels["spread"].hist(known, bins=20, color=TRUE, orientation="horizontal")
    panels["spread"].axhline(mean, color=INK, lw=0.8, ls=":", label="mean")
    panels["spread"].set_title("Distribution, km", loc="left", fontsize=10)
    panels["spread"].legend(frameon=False, fontsize=8)
    return figure


def _clock(axes: Axes, findings: Findings) -> None:
    zone = findings.model.time_zone
    begin, end = findings.times([0, findings.certificate.n_steps])
    axes.set_xlim(begin, end)
    locator = matplotlib.dates.AutoDateLocator(tz=zone, maxticks=7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formatter = matplotlib.dates.ConciseDateFormatter(locator, tz=zone)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)
