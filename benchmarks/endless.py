"""A year of a stream at ten-minute steps: whether a step costs the same at its end as at its start.

`python -m benchmarks endless` runs a month, `endless=year` the whole year (a quarter of an hour on
a quiet core) and keeps its curve in docs/data/endless.json. A person-like model with a matrix for
each step of the day, 400 cells, a secret every weekday, asked for a week ahead, against an observer
who may believe anything about the start.

Then: a step and its error against any belief beside those against a known one, after the first day.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import report
from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    OptimalRemap,
    PlanarLaplace,
    Prior,
    Protect,
    Protector,
    presence,
)
from priste.calibration import Calibration, CertifiedPlan
from priste.checks import Array

GRID = Grid(20, 20)
DAY, WEEK, MONTH, YEAR = 144, 7 * 144, 30 * 144, 365 * 144
HOME, WORK, GYM = 45, 267, 130
CLINIC = (210, 211, 230, 231)
OPENS, CLOSES = 14 * 6, 16 * 6
KEPT = Path(__file__).parents[1] / "docs" / "data" / "endless.json"


def main() -> None:
    whole = "endless=year" in sys.argv
    steps = YEAR if whole else MONTH
    print(f"An endless stream: {GRID.n_cells} cells, {steps:,} steps, a secret every weekday")
    curve = lived(steps)
    early = curve["seconds"][1]
    last = float(np.median(curve["seconds"][-4:] if whole else curve["seconds"][-1:]))
    ratio = last / early
    what = "a step in the last month over one in the second week"
    report(what, f"{ratio:.2f}", "at most 1.2", ratio <= 1.2)
    live = max(curve["live"])
    report("live events at any time", f"{live}", "at most 5", live <= 5)
    growth = curve["megabytes"][-1] - curve["megabytes"][1]
    report("memory since the second week", f"{growth:.0f} MB more", "at most 50", growth <= 50)
    if whole:
        KEPT.write_text(json.dumps(curve, indent=1) + "\n")
    after_the_first_day()


def person() -> Mobility:
    """Home by night, work by day, the gym in the evening, near moves otherwise."""
    near = np.exp(-0.5 * GRID.distances**2)
    matrices = []
    for hour in 24 * np.arange(DAY) / DAY:
        pulls = {
            HOME: 6.0 if hour < 7.5 or hour >= 20 else 0.3,
            WORK: 6.0 if 9 <= hour < 17 else 0.2,
            GYM: 2.0 if 17.5 <= hour < 20 else 0.05,
        }
        moves = near.copy()
        for place, pull in pulls.items():
            moves *= 1 + 3 * pull * np.exp(-GRID.distances[place] / 6)
        places = np.exp(-GRID.distances[list(pulls)].min(axis=0) / 2)
        stay, moved = np.eye(GRID.n_cells), moves / moves.sum(axis=1, keepdims=True)
        matrices.append(0.6 * stay + 0.38 * moved + 0.02 * places / places.sum())
    return Mobility(matrices, repeat=True)


def visit(day: int) -> Protect:
    steps = range(day * DAY + OPENS, day * DAY + CLOSES)
    return Protect(presence(CLINIC, steps), 1.0, name=f"clinic {day}")


def stream(
    mobility: Mobility, prior: Prior, calibration: Calibration, first_day: int = 0
) -> Protector:
    first = [visit(day) for day in range(first_day, 5)]
    noise = PlanarLaplace(GRID, 1.0)
    return Protector(mobility, noise, first, prior=prior, calibration=calibration, seed=1)


def tomorrow(guard: Protector, step: int) -> None:
    """At the beginning of a day ask for the secret of the same day next week, weekends aside."""
    day = step // DAY + 7
    if step % DAY == 0 and day % 7 < 5:
        guard.add(visit(day))


def lived(steps: int) -> dict[str, list[float]]:
    """Run a stream and return, week by week, the time of a step, live events and memory."""
    mobility = person()
    guard = stream(mobility, AnyPrior(), EveryOutput())
    path = mobility.sample(steps, seed=0).tolist()
    curve: dict[str, list[float]] = {"seconds": [], "live": [], "megabytes": []}
    spent: list[float] = []
    live = 0
    for step, cell in enumerate(path):
        start = time.process_time()
        tomorrow(guard, step)
        release = guard.release(cell)
        spent.append(time.process_time() - start)
        live = max(live, len(release.private.losses))
        if (step + 1) % WEEK == 0:
            curve["seconds"].append(float(np.median(spent)))
            curve["live"].append(live)
            curve["megabytes"].append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            print(f"  week {len(curve['live'])}: {1000 * curve['seconds'][-1]:.1f} ms", flush=True)
            spent, live = [], 0
    return curve


def after_the_first_day(days: int = 2, paths: int = 2) -> None:
    """Hold a step against any belief beside one against a known belief, on the same paths.

    The first day has no secret: what an observer believed matters for events near the start.
    """
    mobility = person()
    times: dict[str, list[float]] = {"any": [], "known": []}
    errors: dict[str, list[float]] = {"any": [], "known": []}
    for seed in range(paths):
        path = mobility.sample((1 + days) * DAY, seed=seed)
        priors: dict[str, Prior] = {"any": AnyPrior(), "known": KnownPrior(mobility.initial)}
        for name, prior in priors.items():
            guard = stream(mobility, prior, OptimalRemap(), first_day=1)
            for step, cell in enumerate(path.tolist()):
                start = time.process_time()
                plan = guard.plan()
                guard.release(cell)
                if step >= DAY and isinstance(plan, CertifiedPlan):
                    times[name].append(time.process_time() - start)
                    errors[name].append(expected_error(plan.emission, cell))
    slower = float(np.mean(times["any"]) / np.mean(times["known"]))
    worse = float(np.mean(errors["any"]) / np.mean(errors["known"]))
    report("after a day, a step against any belief", f"{slower:.2f}", "at most 1.5", slower <= 1.5)
    report("after a day, its error", f"{worse:.3f}", "at most 1.05", worse <= 1.05)


def expected_error(emission: Array, cell: int) -> float:
    """The mean distance of what may be released from a true cell."""
    return float(emission[cell] @ GRID.distances[cell])
