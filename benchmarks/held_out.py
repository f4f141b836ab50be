"""What observers with another model of a person learn.

`python -m benchmarks held_out=FOLDER[,FILE[,DAYS[,DRAWS[,WAYS]]]]`

For each person of Geolife in the folder, models are learned from the first 60 % of the days. Of the
later days some are protected (ε = 1, the options that are the default), about three secrets each:
having been, in the six hours with most fixes, at the most visited cell, at one visited on two to
six days, and at one never visited. Observers have learned other habits, none of them in the set:
from later days, from all other days, with other smoothings and bases, by the hour, of order 2.
Their loss is the largest change of their odds at any step. Each day is protected DRAWS times, twice
unless told, in the first WAYS of those below. The later days are in an order by chance: DAYS is how
many of each person are taken, such as 5, or which, such as 5:10 for five others. The default is
reported separately for days at places that are known and new to its model, too.
"""

import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.geolife import BEIJING, ZONE
from benchmarks.measure import report
from priste import (
    EveryOutput,
    KnownPrior,
    Mobility,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    presence,
    privacy_loss,
)
from priste.calibration import Calibration
from priste.stream.parts import DEFAULT_FOCUS, DEFAULT_MARGIN, DEFAULT_THRIFT
from priste.tracks import Adversary, LocalMap, Model, clean, discretise, fit_model, read_geolife
from priste.tracks.habits import HABITS, learned
from priste.tracks.held_out import Days, Setting
from priste.tracks.new_places import at_new_places
from priste.tracks.steps import Clock, unbroken
from priste.worst_case import Sides

STEP, STEPS, EPSILON = pd.Timedelta("10min"), 144, 1.0
SHARE, WINDOW, LEAST_FIXES = 0.6, 36, 8
SECRETS = ("never visited", "visited rarely", "most visited")
Cells = list[int | None]


@dataclass(frozen=True)
class Way:
    """One way to protect."""

    habits: int
    calibration: Calibration | None = None
    sides: Sides = "both"


def _remap(
    *, margin: float = DEFAULT_MARGIN, focus: float = DEFAULT_FOCUS, thrift: float = DEFAULT_THRIFT
) -> OptimalRemap:
    return OptimalRemap(spending="proportional", margin=margin, focus=focus, thrift=thrift)


WAYS = {
    "a set of habits": Way(HABITS),
    "a set of habits, odds must not rise": Way(HABITS, sides="event"),
    "a set of habits, 80 % held back": Way(HABITS, _remap(margin=0.8)),
    "a set of habits, 60 % held back": Way(HABITS, _remap(margin=0.6)),
    "a set of habits, half held back": Way(HABITS, _remap(margin=0.5)),
    "a set of habits, nothing held back": Way(HABITS, _remap(margin=0.0)),
    "a set of habits, no thrift": Way(HABITS, _remap(thrift=0.0)),
    "a set of habits, no focus": Way(HABITS, _remap(focus=1.0)),
    "one model": Way(1),
    "one model, odds must not rise": Way(1, sides="event"),
    "one model, EveryOutput": Way(1, EveryOutput()),
}


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("held_out=")]
    if not words:
        print("Held out: skipped; say where people's folders are: held_out=FOLDER")
        return
    folder, file, days, draws, ways = (words[0].split(",") + [""] * 4)[:5]
    people = sorted(Path(folder).iterdir())
    which, names = which_days(days), list(WAYS)[: int(ways or len(WAYS))]
    jobs = [(person, name, which, int(draws or 2)) for name in names for person in people]
    print("Held out: what observers with other habits in mind learn")
    with ProcessPoolExecutor(2, initializer=threadpool_limits, initargs=(1,)) as pool:
        found = [case for cases in pool.map(_measured, jobs) for case in cases]
    tables = summaries(found)
    if file:
        Path(file).write_text(json.dumps(tables, indent=1) + "\n")
    show(tables)


def which_days(days: str) -> slice:
    """Return which of each person's later days are meant: so many, or from one to another."""
    begin, _, end = (days or "5").rpartition(":")
    return slice(int(begin or 0), int(end))


def summaries(found: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the figures of each way that was measured; they name no person and no day."""
    groups = {
        way: [case for case in found if case["way"] == way]
        for way in dict.fromkeys(case["way"] for case in found)
    }
    default = next(iter(WAYS))
    for where, is_new in (("at known places", False), ("at new places", True)):
        cases = [case for case in groups.get(default, ()) if case["new"] == is_new]
        groups |= {f"{default}, days {where}": cases} if cases else {}
    tables = {}
    for name, cases in groups.items():
        losses = np.array([loss for case in cases for loss in case["losses"].values()])
        middle, high, top, worst = np.quantile(losses, [0.5, 0.95, 0.99, 1.0]).round(3).tolist()
        tables[name] = {
            "cases": len(cases),
            "within": float(np.mean(losses <= EPSILON).round(4)),
            "median": middle,
            "95 %": high,
            "99 %": top,
            "worst": worst,
            **{secret: round(ratio_of(cases, secret), 3) for secret in SECRETS},
            "worst day": round(max(ratios_of_days(cases, SECRETS[0])), 3),
            "seconds": float(np.mean([case["seconds"] for case in cases]).round(3)),
        }
    return tables


def show(tables: dict[str, dict[str, float]]) -> None:
    """Print the figures of each way, and what was wanted of the default."""
    for name, figures in tables.items():
        print(f"  {name}: {', '.join(f'{what} {value:g}' for what, value in figures.items())}")
    default = tables[next(iter(WAYS))]
    within, high = default["within"], default["95 %"]
    report("held-out losses within ε", f"{within:.0%}", "75 %", within >= 0.75)
    report("95th percentile", f"{high:.2f} ε", "at most 1.5 ε", high <= 1.5)
    for secret, most in zip(SECRETS, (1.1, 1.3, 1.7), strict=True):
        ratio = default[secret]
        report(f"error, {secret}", f"{ratio:.2f}", f"at most {most}", ratio <= most)
    worst = default["worst day"]
    report(f"error, {SECRETS[0]}, worst day", f"{worst:.2f}", "at most 3", worst <= 3)


def ratio_of(cases: Sequence[dict[str, Any]], secret: str) -> float:
    """Return the mean error over that of noise alone."""
    chosen = [case for case in cases if case["secret"] == secret]
    return float(sum(c["error"] for c in chosen) / sum(c["noise"] for c in chosen))


def ratios_of_days(cases: Sequence[dict[str, Any]], secret: str) -> list[float]:
    """Return the ratio of each person's day: the mean of its draws."""
    days = defaultdict(list)
    for case in cases:
        days[case["person"], case["day"]].append(case)
    return [ratio_of(of_day, secret) for of_day in days.values()]


def _measured(job: tuple[Path, str, slice, int]) -> list[dict[str, Any]]:
    folder, name, which, n_draws = job
    warnings.simplefilter("ignore")
    person = Person.of(folder)
    model = person.model(WAYS[name].habits)
    return [
        {
            "person": folder.name,
            "way": name,
            **person.protected(model, WAYS[name], secret, day, draw),
        }
        for day in person.chosen(which)
        for draw in range(n_draws)
        for secret in SECRETS
    ]


class Person:
    """One person's days: those that are learned from, and later ones."""

    def __init__(self, table: pd.DataFrame, place: LocalMap) -> None:
        self.place = place
        self._observers: tuple[int, list[tuple[str, Mobility]]] = (-1, [])
        date = table["time"].dt.tz_convert(ZONE).dt.date
        self.days: list[Cells] = []
        for day, fixes in table.groupby(date):
            clock = Clock(pd.Timestamp(str(day), tz=ZONE), STEP)
            self.days.append(discretise(fixes, place, clock, steps=STEPS, outside="drop"))
        self.first = int(SHARE * len(self.days))
        first_date = sorted(date.unique())[self.first]
        self.table = table[date < first_date]
        self.mechanism = PlanarLaplace(place.grid, 1.0)

    @classmethod
    def of(cls, folder: Path) -> "Person":
        """Return the person of a folder of Geolife."""
        table, _ = clean(read_geolife(folder))
        return cls(table, LocalMap.within(*BEIJING, cells=400, elsewhere=False))

    def model(self, habits: int) -> Model:
        """Return the model of the first days."""
        return fit_model(self.table, place=self.place, time_zone=ZONE, habits=habits)

    @property
    def window(self) -> range:
        """The six hours with most fixes in the first days."""
        fixes = np.sum([[cell is not None for cell in day] for day in self.days[: self.first]], 0)
        starts = range(WINDOW, STEPS - WINDOW + 1, WINDOW)
        best = max(starts, key=lambda start: fixes[start : start + WINDOW].sum())
        return range(best, best + WINDOW)

    def chosen(self, which: slice) -> list[int]:
        """Return some of the later days with enough fixes, of which some are in the window."""
        good = [
            k
            for k in range(self.first, len(self.days))
            if sum(cell is not None for cell in self.days[k]) >= LEAST_FIXES
            and sum(self.days[k][t] is not None for t in self.window) >= LEAST_FIXES // 2
        ]
        return sorted(np.random.default_rng(0).permutation(good)[which].tolist())

    def cell(self, secret: str, day: int) -> int:
        """Return the cell of a secret; where there are several, one by chance."""
        visits, days = (np.zeros(self.place.grid.n_cells) for _ in range(2))
        for cells in self.days[: self.first]:
            known = [cell for cell in cells if cell is not None]
            np.add.at(visits, known, 1)
            days[list(set(known))] += 1
        if secret == "most visited":
            return int(np.argmax(visits))
        rare = (days >= 2) & (days <= 6)
        near = self.place.grid.distances[:, visits > 0].min(axis=1) <= 6
        choice = rare if secret == "visited rarely" else (visits == 0) & near
        return int(np.random.default_rng(day).choice(np.flatnonzero(choice)))

    def guard(self, model: Model, way: Way, secret: str, day: int, draw: int = 0) -> Protector:
        """Return what protects one day about one secret."""
        event = presence([self.cell(secret, day)], steps=self.window)
        return Protector(
            model.mobilities,
            self.mechanism,
            Protect(event, EPSILON, sides=way.sides),
            prior=Adversary().prior(model.mobility),
            calibration=way.calibration,
            seed=day + 1000 * draw,
        )

    def protected(
        self, model: Model, way: Way, secret: str, day: int, draw: int = 0
    ) -> dict[str, Any]:
        """Protect one day about one secret; return errors, losses and time."""
        cells, cell = self.days[day], self.cell(secret, day)
        guard = self.guard(model, way, secret, day, draw)
        event = guard.protections[0].event
        distances, emission = self.place.grid.distances, self.mechanism.emission()
        last = max(t for t, there in enumerate(cells) if there is not None)
        columns, errors, noise, spent = [], [], [], 0.0
        for there in cells[: last + 1]:
            begun = time.process_time()
            if there is None:
                guard.skip()
                columns.append(np.ones(len(distances)))
                continue
            plan: Any = guard.plan()
            columns.append(guard.release(there).column)
            spent += time.process_time() - begun
            errors.append(float(plan.emission[there] @ distances[there]))
            noise.append(float(emission[there] @ distances[there]))
        losses = {
            name: float(
                privacy_loss(event, m, columns, prior=KnownPrior(m.initial), sides=way.sides).max()
            )
            for name, m in self.known_observers(day)
        }
        return {
            "secret": secret,
            "day": day,
            "new": bool(at_new_places(model.provenance, len(distances), cells)),
            "happened": any(cells[t] == cell for t in self.window),
            "error": float(np.mean(errors)),
            "noise": float(np.mean(noise)),
            "seconds": spent / len(errors),
            "losses": losses,
        }

    def known_observers(self, day: int) -> list[tuple[str, Mobility]]:
        """Return the observers of a day, learned once."""
        if self._observers[0] != day:
            self._observers = day, list(self.observers(day))
        return self._observers[1]

    def observers(self, day: int) -> Iterator[tuple[str, Mobility]]:
        """Yield what others may have learned: never from the day itself, which they do not have."""
        first, later = range(self.first), range(self.first, len(self.days))
        known = self._days([k for k in (*first, *later) if k != day])
        afterwards = self._days([k for k in later if k != day])
        yield "later days, local", learned(afterwards, Setting("local", 1.0))
        yield "later days, uniform", learned(afterwards, Setting("uniform", 1.0))
        yield "all days, local", learned(known, Setting("local", 1.0))
        yield "all days, uniform", learned(known, Setting("uniform", 1.0))
        yield "a twentieth of the smoothing", learned(self._days(first), Setting("uniform", 0.05))
        yield "much smoothing", learned(self._days(first), Setting("local", 50.0))
        yield "order 2", learned(known, Setting("local", 1.0, 2))
        yield "by the hour", self._by_the_hour(known)

    def _days(self, numbers: Sequence[int] | range) -> Days:
        runs = [(k, start, run) for k in numbers for start, run in unbroken(self.days[k])]
        day, start, run = zip(*runs, strict=True)
        return Days(self.place.grid, run, day, start, STEPS, STEP)

    def _by_the_hour(self, days: Days) -> Mobility:
        overall = learned(days, Setting("local", 1.0))
        hours: list[list[list[int]]] = [[] for _ in range(24)]
        for run, phase in zip(days.runs, days.phase, strict=True):
            for t, move in enumerate(pairwise(run)):
                hours[(phase + t) // 6 % 24].append(list(move))
        matrices = [
            Mobility.fit(hour or [[0]], len(overall.initial), smoothing=5.0, base=overall)
            for hour in hours
        ]
        fixed = [m.transition(0) for m in matrices]
        return Mobility(fixed, overall.initial, phase=lambda t: t // 6 % 24)
