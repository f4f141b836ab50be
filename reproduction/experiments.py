"""What the paper's evaluation shows, figure by figure, as settings to run."""

from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from reproduction.settings import METHODS, Setting

Axis = Literal["time", "epsilon"]


class Runs(NamedTuple):
    """The number of runs with each method, in the order of `METHODS`."""

    retry: int
    every_output: int
    remap: int

    def of(self, method: str) -> int:
        """Return the number for one method."""
        return self[METHODS.index(method)]


class Mode(NamedTuple):
    """The size of a reproduction: its runs and steps, and how closely audits look.

    Audits follow `audited` streams of each setting along up to `ways` hidden ways; beyond that
    they estimate the loss from so many `repeats`.
    Curves over time need more runs than averages over all steps, and our choices need the fewest.
    The remap takes longest, and real tracks longer than synthetic ones.
    """

    over_time: Runs
    over_epsilon: Runs
    on_geolife: Runs
    choices: Runs
    steps: int
    audited: int
    ways: int
    repeats: int
    is_fast: bool


FULL = Mode(
    Runs(100, 10, 3),
    Runs(40, 10, 3),
    Runs(20, 5, 3),
    Runs(10, 0, 0),
    steps=50,
    audited=1,
    ways=8,
    repeats=6,
    is_fast=False,
)
FAST = Mode(
    Runs(4, 1, 1),
    Runs(4, 1, 0),
    Runs(3, 1, 0),
    Runs(3, 0, 0),
    steps=22,
    audited=1,
    ways=4,
    repeats=3,
    is_fast=True,
)


class Curve(NamedTuple):
    """One line of a figure: a setting over time, or several over ε."""

    label: str
    settings: tuple[Setting, ...]


class Panel(NamedTuple):
    """One part of a figure of the paper."""

    title: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Experiment:
    """A figure of the paper, or one of ours about its choices; `axis` is its x-axis."""

    name: str
    shows: str
    axis: Axis
    panels: tuple[Panel, ...]
    runs: Runs

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are run."""
        return tuple(method for method in METHODS if self.runs.of(method))

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The curves of all panels."""
        return tuple(curve for panel in self.panels for curve in panel.curves)

    def settings(self) -> list[Setting]:
        """Return all settings, with each method."""
        drawn = chain.from_iterable(curve.settings for curve in self.curves)
        return [s.but(method=m) for s in dict.fromkeys(drawn) for m in self.methods]

    @property
    def is_geolife(self) -> bool:
        """Whether it needs the Geolife data."""
        return any(s.is_geolife for s in self.settings())


def over_time(name: str, shows: str, base: Setting, mode: Mode) -> Experiment:
    """Return an experiment of section V-B: 0.2-PLM for several ε, several PLMs for ε = 0.5."""
    alphas = (0.1, 0.2, 1.0) if mode.is_fast else (0.1, 0.2, 0.5, 1.0)
    by_epsilon = [Curve(f"ε = {e:g}", (base.but(alpha=0.2, epsilon=e),)) for e in (0.1, 0.5, 1.0)]
    by_alpha = [Curve(f"{a:g}-PLM", (base.but(alpha=a, epsilon=0.5),)) for a in alphas]
    return Experiment(
        name,
        shows,
        "time",
        (
            Panel("0.2-PLM for several ε", tuple(by_epsilon)),
            Panel("several PLMs for ε = 0.5", tuple(by_alpha)),
        ),
        mode.over_time,
    )


def over_epsilon(
    name: str, shows: str, curves: dict[str, Setting], mode: Mode, runs: Runs | None = None
) -> Experiment:
    """Return an experiment of section V-C: averages over all steps, against ε."""
    epsilons = (0.1, 0.5, 1.0) if mode.is_fast else (0.1, 0.5, 1.0, 2.0)
    lines = tuple(
        Curve(label, tuple(setting.but(epsilon=e) for e in epsilons))
        for label, setting in curves.items()
    )
    return Experiment(name, shows, "epsilon", (Panel("", lines),), runs or mode.over_epsilon)


def experiments(mode: Mode, people: int = 1) -> list[Experiment]:
    """Return all experiments on streams, with this many `people` of Geolife."""
    base = Setting()
    alphas = (0.5, 1.0, 5.0) if mode.is_fast else (0.5, 1.0, 3.0, 5.0)
    deltas = (0.1, 0.5) if mode.is_fast else (0.1, 0.3, 0.5)
    found = [
        over_time("presence early", "PRESENCE of cells 1–10 at times 4–8", base, mode),
        over_time(
            "presence late",
            "PRESENCE of cells 1–10 at times 16–20",
            base.but(event="late"),
            mode,
        ),
        over_time("two events", "both events at once", base.but(event="both"), mode),
        over_time(
            "location set",
            "PRESENCE of cells 1–10 at times 4–8, with a 0.1-location set",
            base.but(delta=0.1),
            mode,
        ),
        over_epsilon(
            "mobility",
            "1-PLM on synthetic moves of different strength",
            {f"σ = {s:g}": base.but(alpha=1.0, sigma=s) for s in (1.0, 3.0, 10.0)},
            mode,
        ),
    ]
    found += stronger_moves(mode, alphas, deltas)
    for place, where in (("synthetic", "synthetic data"), ("geolife", "Geolife")):
        here = base.but(place=place)
        by_alpha = {f"{a:g}-PLM": here.but(alpha=a) for a in alphas}
        by_delta = {f"δ = {d:g}": here.but(alpha=0.5, delta=d) for d in deltas}
        by_delta["no set"] = here.but(alpha=0.5)
        patterns = {k: s.but(event="pattern") for k, s in by_alpha.items()}
        runs = mode.over_epsilon if place == "synthetic" else mode.on_geolife
        found += [
            over_epsilon(
                f"budgets {place}",
                f"PRESENCE at times 4–8, several PLMs, on {where}",
                by_alpha,
                mode,
                runs,
            ),
            over_epsilon(
                f"deltas {place}",
                f"PRESENCE at times 4–8, 0.5-PLM with location sets, on {where}",
                by_delta,
                mode,
                runs,
            ),
            over_epsilon(
                f"pattern {place}",
                f"PATTERN (in cells 1–10 at each of times 4–8), several PLMs, on {where}",
                patterns,
                mode,
                runs,
            ),
        ]
    return [*found, *sensitivities(mode, people)]


def stronger_moves(
    mode: Mode, alphas: tuple[float, ...], deltas: tuple[float, ...]
) -> list[Experiment]:
    """Return the same figures on synthetic data whose moves have more pattern."""
    found = []
    for name, sigma in (("strong", 3.0), ("strongest", 1.0)):
        base = Setting(sigma=sigma)
        by_alpha = {f"{a:g}-PLM": base.but(alpha=a) for a in alphas}
        shows = f"PRESENCE at times 4–8, several PLMs, on synthetic data with σ = {sigma:g}"
        found.append(over_epsilon(f"budgets {name}", shows, by_alpha, mode, mode.choices))
    strong = Setting(alpha=0.5, sigma=3.0)
    by_delta = {f"δ = {d:g}": strong.but(delta=d) for d in deltas} | {"no set": strong}
    shows = "PRESENCE at times 4–8, 0.5-PLM with location sets, on synthetic data with σ = 3"
    return [*found, over_epsilon("deltas strong", shows, by_delta, mode, mode.choices)]


def sensitivities(mode: Mode, people: int) -> list[Experiment]:
    """Return our own figures: what other choices than ours would change."""
    base, real = Setting(), Setting(place="geolife", alpha=1.0)
    together = Setting(event="pattern", alpha=1.0)
    maps = {
        "as chosen": real,
        "a map of 60 km": real.but(place="geolife wide"),
        "a fix each 5 minutes": real.but(place="geolife slow"),
        "a hundredth of the smoothing": real.but(place="geolife rough"),
        "a hundred times the smoothing": real.but(place="geolife smooth"),
        "the ten busiest cells": real.but(region="busiest ten"),
        "PATTERN of them": real.but(event="pattern", region="busiest ten"),
        "one known prior": real.but(prior="known"),
    }
    persons = {"as chosen": real} | {
        f"person {number + 1}": real.but(person=number) for number in range(1, people)
    }
    choices = {
        "as chosen": base,
        "σ = 3": base.but(sigma=3.0),
        "σ = 3, 0.01-PLM": base.but(sigma=3.0, alpha=0.01),
        "σ = 1": base.but(sigma=1.0),
        "σ = 3, location set": base.but(sigma=3.0, delta=0.1),
        "cells half as large": base.but(cell=0.5),
        "cells twice as large": base.but(cell=2.0),
        "one known prior": base.but(prior="known"),
    }
    loops = {
        "as chosen": base,
        "at most 3 halvings": base.but(weakenings=3),
        "quarters for halves": base.but(decay=0.25, weakenings=6),
        "four fifths for halves": base.but(decay=0.8, weakenings=34),
        "odds that rise only": base.but(sides="event"),
    }
    regions = {
        "as chosen": together,
        "cells 1–3": together.but(region="first three"),
        "cells 1–40": together.but(region="first forty"),
        "ten cells in the middle of the map": together.but(region="middle ten"),
        "ten others each time": together.but(event="walk"),
    }
    found = [
        ("choices synthetic", "0.2-PLM, times 4–8, other moves, cells and priors", choices),
        ("choices loop", "0.2-PLM, times 4–8, other loops", loops),
        ("choices pattern", "PATTERN of other cells, 1-PLM, times 4–8", regions),
        ("choices geolife", "1-PLM, times 4–8, Geolife", maps),
    ]
    if people > 1:
        found.append(("choices person", "1-PLM, times 4–8, other people of Geolife", persons))
    return [over_epsilon(*one, mode, mode.choices) for one in found]
