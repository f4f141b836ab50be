"""A release on a city's map: `large_maps[=FOLDER_OF_PEOPLE][,CELLS,...]`.

With a folder of people of Geolife the model is learned from all of them, in cells of 200 m, and the
secrets are a visit in the next hour and a half to the most visited cell and those around it, to the
fifth, to one that is visited rarely and to one that never is. Without one, people move from cell to
cell on an even map. The first releases of a stream are measured, and how far they lie above what
no remap can go below. `large_maps=,2500,4900,10000,22500,40000` gives the curve; its last point
needs 15 GB.
"""

import math
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import report
from benchmarks.scaling.curves import neighbours
from benchmarks.scaling.point import megabytes
from priste import (
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    NoNoise,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    presence,
)
from priste.calibration import Calibration, GroupedPlan
from priste.events import Event
from priste.mechanisms import Mechanism
from priste.tracks import LocalMap, clean, read_geolife
from priste.tracks.steps import Clock, runs

WANTED = {2500: 1.5, 10_000: 10.0}
CENTRE, SIDE = (39.98, 116.33), 0.2
RELEASES = 3


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("large_maps=")]
    folder, *sizes = words[0].split(",") if words else [""]
    print(f"Large maps: a release with one belief, {'people of Geolife' if folder else 'even map'}")
    for cells in [int(size) for size in sizes] or [2500, 4900, 10_000]:
        grid, mobility, secrets = city(Path(folder), cells) if folder else even(cells)
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        found = [each for secret in secrets.values() for each in remaps(grid, mobility, secret)]
        seconds, gaps = zip(*found, strict=True)
        times = f"{np.median(seconds):.2f} s, at most {max(seconds):.2f}"
        what = f"{cells:,} cells: {len(found)} releases"
        peak = megabytes("VmHWM") / 1024
        if limit := WANTED.get(cells):
            report(f"{what}, OptimalRemap", times, f"at most {limit:g} s", max(seconds) <= limit)
            report(f"{what}, above the bound", f"{max(gaps):.2%}", "at most 2 %", max(gaps) <= 0.02)
            report(f"{what}, peak memory, GB", f"{peak:.2f}", "under 4", peak < 4)
        else:
            print(f"  {what}: {times}; {max(gaps):.2%} above the bound, {peak:.1f} GB", flush=True)
        if cells <= max(WANTED):
            secret = next(iter(secrets.values()))
            times_of = list(every_output(grid, mobility, secret))
            words_of = f"{np.median(times_of[1:]):.2f} s, at first {times_of[0]:.2f}"
            what = f"{cells:,} cells, EveryOutput and the exact loss"
            report(what, words_of, "under 1 s", max(times_of[1:]) < 1)


def stream(
    mobility: Mobility, secret: Event, mechanism: Mechanism, calibration: Calibration
) -> Iterator[tuple[float, Protector]]:
    """Yield the seconds of each of the first releases, and the protector before it draws."""
    prior = KnownPrior(mobility.initial)
    guard = Protector(
        mobility, mechanism, Protect(secret, 1.0), prior=prior, calibration=calibration, seed=0
    )
    for cell in mobility.sample(RELEASES, seed=0).tolist():
        start = time.perf_counter()
        guard.plan()
        planned = time.perf_counter() - start
        yield planned, guard
        guard.release(cell)


def remaps(grid: Grid, mobility: Mobility, secret: Event) -> Iterator[tuple[float, float]]:
    """Yield the seconds of each release, and how far it lies above its bound."""
    remap = OptimalRemap(spending="proportional")
    for taken, guard in stream(mobility, secret, NoNoise(grid), remap):
        plan = guard.plan()
        if not isinstance(plan, GroupedPlan):
            raise TypeError(f"not on groups: {plan!r}")
        print(f"    {taken:.2f} s {plan!r} {plan.expected_loss:.4g} {plan.remark}", flush=True)
        yield taken, plan.expected_loss / plan.bound - 1 if plan.bound > 0 else math.inf


def every_output(grid: Grid, mobility: Mobility, secret: Event) -> Iterator[float]:
    """Yield the seconds of each release of weakened noise."""
    noise = PlanarLaplace(grid, 1.0)
    return (taken for taken, _ in stream(mobility, secret, noise, EveryOutput()))


def even(cells: int) -> tuple[Grid, Mobility, dict[str, Event]]:
    """A square map on which people move to a cell next to theirs, or stay."""
    side = math.isqrt(cells)
    grid = Grid(side, side, SIDE)
    middle = grid.rows // 2 * grid.columns + grid.columns // 2
    return grid, neighbours(grid), {"the middle": presence(around(grid, middle), range(3, 12))}


def around(grid: Grid, cell: int) -> list[int]:
    """The cell and those that touch it."""
    away = np.hypot(*(grid.centres - grid.centres[cell]).T)
    return np.flatnonzero(away < 1.5 * grid.cell_size).tolist()


def city(folder: Path, cells: int) -> tuple[Grid, Mobility, dict[str, Event]]:
    """A model of all people in the folder, and secrets by how often people were there."""
    latitude, longitude = CENTRE
    up = math.isqrt(cells) * SIDE / 2 / 111.2
    aside = up / math.cos(math.radians(latitude))
    corners = latitude - up, longitude - aside, latitude + up, longitude + aside
    place = LocalMap.within(*corners, cells=cells, elsewhere=False)
    paths = []
    for person in sorted(folder.iterdir()):
        table, _ = clean(read_geolife(person))
        table = table[place.covers(table["latitude"], table["longitude"])]
        clock = Clock(table["time"].min().floor("1D"), pd.Timedelta("10min"))
        paths += [run for _, run in runs(table, place, clock)]
    grid = place.grid
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mobility = Mobility.fit(paths, grid.n_cells, base=Mobility.by_distance(grid, paths))
    visits = np.bincount(np.concatenate(paths), minlength=grid.n_cells)
    often = np.argsort(-visits, kind="stable")
    never = np.random.default_rng(0).choice(np.flatnonzero(visits == 0))
    chosen = {"most": often[0], "fifth": often[4], "rarely": often[150], "never": never}
    when = range(3, 12)
    return grid, mobility, {k: presence(around(grid, int(c)), when) for k, c in chosen.items()}
