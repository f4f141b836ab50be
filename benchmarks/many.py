"""Many people: person-days a minute, one worker and two, memory: `many[=PERSON_DAYS,...]`.

People wander in a town of 49 cells of 500 m, ten days each, with a fix every three hours; nobody
shall learn whether they were at the clinic on any morning (ε = 1 each, belief near ρ = 0.1). The
clock runs from the reading of the Parquet file to the last certificate.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import report
from priste import (
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    PlanarLaplace,
    Protect,
    Protector,
    presence,
)
from priste.tracks import Clock, LocalMap, Model, as_track, fit_model, protect_many

ZONE, STEP = "Europe/Berlin", pd.Timedelta("3h")
DAYS, STEPS = 10, pd.Timedelta("1D") // STEP
TOWN = LocalMap(Grid(7, 7, 0.5), latitude=52.52, longitude=13.40)
HABITS = Mobility.gaussian(TOWN.grid, sigma=1.0)
LEARNED, PROTECTED = pd.Timestamp("2024-03-04", tz=ZONE), pd.Timestamp("2024-05-06", tz=ZONE)
BATCH = 500
LONG_ENOUGH = 2500  # person-days for which it does not matter how long workers take to start
EVENTS = """
time_zone = "Europe/Berlin"
regions.clinic.circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.3 }
windows.morning = { from = "08:00", to = "13:00" }
[events.treatment]
kind = "presence"
region = "clinic"
window = "morning"
epsilon = 1.0
"""


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("many=")]
    sizes = [int(size) for size in words[0].split(",")] if words else [1000, 4000]
    print("Many people: 49 cells, 8 releases a day, OptimalRemap")
    costs()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "events.toml").write_text(EVENTS)
        model = population()
        first = sizes[0]
        days = max(first, LONG_ENOUGH)
        paces = {workers: run(folder, model, days, workers)[0] for workers in (1, 2)}
        ratio = paces[2] / paces[1]
        report(f"{days:,} person-days, two workers over one", f"{ratio:.2f}", "1.8", ratio >= 1.8)
        peaks = []
        for size in sizes:
            pace, peak = run(folder, model, size, 2)
            peaks.append(peak)
            print(
                f"  {size:,} person-days: {pace:,.0f} a minute, {peak:,.0f} MB at most", flush=True
            )
        sizes_of(folder)
        growth = max(peaks) / peaks[0]
        what = f"memory at {sizes[-1]:,} over {first:,}"
        report(what, f"{growth:.2f}", "at most 1.1", growth <= 1.1)


def sizes_of(folder: Path) -> None:
    """Say how much is written for each release."""
    job = max(folder.glob("*-2-*"), key=lambda path: path.stat().st_mtime)
    releases = len(pd.read_parquet(job / "released"))
    for name in ("released", "certificates", "private"):
        size = sum(path.stat().st_size for path in (job / name).rglob("*") if path.is_file())
        print(f"  {name}: {size / releases:,.0f} bytes for each release", flush=True)


def costs() -> None:
    """Say what a release costs on maps of several sizes, of a core, over one day of hours."""
    for side in (7, 10, 15, 20):
        grid = Grid(side, side, 0.5)
        habits = Mobility.gaussian(grid, sigma=1.0)
        secret = Protect(presence(grid.disc(side / 4, side / 4, radius=0.5), range(8, 13)), 1.0)
        for name, prior in (
            ("known", KnownPrior(habits.initial)),
            ("near", NearPrior(habits.initial, 0.1)),
        ):
            began = time.process_time()
            for person in range(3):
                stream = Protector(habits, PlanarLaplace(grid, 1.0), secret, prior=prior, seed=1)
                for cell in habits.sample(24, seed=person).tolist():
                    stream.release(cell)
            taken = (time.process_time() - began) / 72
            cells = f"{side * side} cells, {name} belief"
            print(f"  {cells}: {1000 * taken:,.0f} ms of a core for each release", flush=True)


def population() -> Model:
    """How everybody moves, learned from people who are not protected."""
    tables = [days_of(f"learned {k}", LEARNED, k) for k in range(40)]
    return fit_model(
        pd.concat(tables), step=STEP, place=TOWN, time_zone=ZONE, habits=1, time_of_day=False
    )


def days_of(user: str, start: pd.Timestamp, seed: int) -> pd.DataFrame:
    cells = HABITS.sample(DAYS * STEPS, seed=seed)
    return as_track(range(DAYS * STEPS), cells, TOWN, Clock(start, STEP)).assign(user=user)


def people(count: int) -> Iterator[pa.Table]:
    """Yield the fixes of so many people, some at a time."""
    clock = Clock(PROTECTED, STEP)
    times = pa.array(clock.time_of(range(DAYS * STEPS)))
    centres = TOWN.centres(np.arange(TOWN.grid.n_cells))
    for first in range(0, count, BATCH):
        users = range(first, min(first + BATCH, count))
        cells = np.concatenate([HABITS.sample(DAYS * STEPS, seed=10**6 + k) for k in users])
        yield pa.table(
            {
                "user": np.repeat([f"person {k}" for k in users], DAYS * STEPS),
                "time": pa.concat_arrays([times] * len(users)),
                "latitude": centres[0][cells],
                "longitude": centres[1][cells],
            }
        )


def run(folder: Path, model: Model, days: int, workers: int) -> tuple[float, float]:
    """Protect so many person-days; return those a minute, and megabytes at most."""
    source = folder / f"people-{days}.parquet"
    if not source.exists():
        tables = people(days // DAYS)
        head = next(tables)
        with pq.ParquetWriter(source, head.schema) as writer:
            writer.write_table(head)
            for table in tables:
                writer.write_table(table)
    out = folder / f"{days}-{workers}-{time.monotonic_ns()}"
    with Memory() as memory:
        began = time.perf_counter()
        done = protect_many(source, model, folder / "events.toml", out, workers=workers)
        passed = time.perf_counter() - began
    assert done.told.days == days
    assert not done.told.n_refused
    return 60 * days / passed, memory.peak


class Memory:
    """The most memory that this process and its children had together, in megabytes."""

    def __enter__(self) -> "Memory":
        self.peak, self._ends = 0.0, threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._ends.wait(0.5):
            self.peak = max(self.peak, sum(map(_resident, [os.getpid(), *_below(os.getpid())])))


def _below(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:  # it has ended
        return []
    children = [int(each) for each in text.split()]
    return [*children, *(each for child in children for each in _below(child))]


def _resident(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
