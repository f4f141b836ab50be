"""A synthetic person in a synthetic city, and one of their days protected."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from priste.grid import Grid
from priste.mobility import Mobility
from priste.report.delivery import Delivery
from priste.storage.atomic_files import AtomicFiles
from priste.tracks import (
    LocalMap,
    ProtectedTrack,
    clean,
    fit_model,
    load_certificate,
    protect_track,
    track_table,
)
from priste.tracks.files import write_as
from priste.tracks.model_file import write_model
from priste.tracks.other_habits import learned_from, realised
from priste.tracks.protect import Stream
from priste.wording import as_odds

CITY = LocalMap(Grid(rows=10, columns=10, cell_size=0.8), latitude=52.52, longitude=13.40)
ZONE, STEP, DAYS = "Europe/Berlin", "30min", 60
FIRST = pd.Timestamp("2024-03-04", tz=ZONE)
HOME, WORK, CLINIC, CLUB = 22, 67, 45, 81

EPSILON = 1.0
OTHERS: dict[str, dict[str, Any]] = {
    "learned from the last 20 days alone": {},
    "give moves never seen hardly a chance": {"base": "uniform", "smoothing": 0.05},
    "give them a large one": {"base": "local", "smoothing": 50.0},
    "go by the last two places": {"base": "local", "order": 2},
    "go by the time of day": {"base": "local", "time_of_day": True},
}
"""Observers whose habits are none of the model's, and how they fit them."""
REAL_PEOPLE = """\
Of real people such observers learn more: of 2,880 such losses of eight people, 86 % were within
ε = 1 and 95 % within 1.45, and the largest was 3.47 (docs/habits.md)."""

EVENTS = f"""\
time_zone = "Europe/Berlin"

[regions.clinic]
circle = {{ latitude = 52.5200, longitude = 13.4060, radius_km = 0.3 }}

[windows.consulting_hours]
from = "14:00"
to = "18:00"
days = ["mon", "tue", "wed", "thu", "fri"]

[events.treatment]
kind = "presence"
region = "clinic"
window = "consulting_hours"
epsilon = {EPSILON}
"""


def city_days(seed: int) -> pd.DataFrame:
    """Return sixty days of a person's phone, a fix every half hour, a few of them broken."""
    random = np.random.default_rng(seed)
    rows = []
    for day in range(DAYS):
        midnight = FIRST + pd.DateOffset(days=day)
        visits = day % 7 == 1 or day == DAYS - 1
        for slot in range(48):
            hour = slot / 2
            if 9 <= hour < 17 and day % 7 < 5:
                cell = CLINIC if visits and 14.5 <= hour < 16 else WORK
            elif 18 <= hour < 21 and day % 7 in (2, 4):
                cell = CLUB
            else:
                cell = HOME
            x, y = CITY.grid.centres[cell] + random.normal(0, 0.35, 2)  # nobody sits still
            if 8 <= hour < 9 or 17 <= hour < 18:  # on the way
                x, y = CITY.grid.centres[[HOME, WORK]].mean(axis=0) + random.normal(0, 0.9, 2)
            wandering = CITY.grid.cell_at(
                np.clip(x, 0.01, 7.99), np.clip(y, 0.01, 7.99), outside="clamp"
            )
            latitude, longitude = CITY.centres(wandering)
            time = midnight + pd.Timedelta(minutes=30 * slot + int(random.integers(1, 25)))
            rows.append((f"day {day + 1}", time, float(latitude), float(longitude)))
    table = pd.DataFrame(rows, columns=["track", "time", "latitude", "longitude"])
    broken = random.choice(len(table), 6, replace=False)
    table.loc[broken[:3], "latitude"] = 400.0
    table.loc[broken[3:], "longitude"] += 40
    return track_table(pd.concat([table, table.sample(5, random_state=seed)]))


def protected_day(
    table: pd.DataFrame, events: Path, seed: int
) -> tuple[ProtectedTrack, pd.DataFrame]:
    """Fit to all days but the last and protect the last; also return its true fixes."""
    last = FIRST + pd.DateOffset(days=DAYS - 1)
    model = fit_model(table[table["time"] < last], step=STEP, place=CITY, time_zone=ZONE)
    today = table[table["time"] >= last]
    return protect_track(today, model, events, seed=seed), today


def other_observers(
    table: pd.DataFrame, today: pd.DataFrame, stream: Stream
) -> Iterator[tuple[str, Mobility]]:
    """Yield observers who learned the person from other days or in another way than the model."""
    days = table[table["time"] < today["time"].min()]
    recent = days[days["time"] >= days["time"].max() - pd.Timedelta("20D")]
    for name, options in OTHERS.items():
        settings = {"order": 1, "time_of_day": False, **options}
        seen = days if options else recent
        other = fit_model(seen, step=STEP, place=CITY, time_zone=ZONE, habits=1, **settings)
        (mobility,) = other.mobilities_from(stream.clock.start)
        yield name, mobility
    yield "learned from the protected day alone", learned_from(stream.cells, stream.model)


def tell(out: Path, seed: int) -> Iterator[str]:
    """Fit, protect, audit and report in the folder `out`, and yield the story line by line."""
    public, private = out / "public", out / "private"
    delivery = Delivery(public / "day.csv", private)
    table, account = clean(city_days(seed))
    yield f"A synthetic person, {DAYS} days of fixes. Cleaned:\n{account}\n"
    yield "Secret: being at the clinic between 14 and 18 on a weekday.\n"

    with AtomicFiles() as files:
        files.make_folder(public)
        files.make_folder(private, private=True)
        events = files.add(private / "events.toml", private=True)
        events.write_text(EVENTS, encoding="utf-8")
        result, today = protected_day(table, events, seed)
        model, stream = result.stream.model, result.stream
        write_as(today, files.add(private / "true-day.csv", private=True), ".csv")
        write_model(model, files.add(private / "model.npz", private=True))
        delivery.write(result, account, public_report=True, files=files)
    grid, n = model.place.grid, len(result.releases)
    size = f"{grid.rows} × {grid.columns} cells of {grid.cell_size} km"
    yield (
        f"Fitted how this person moves to {DAYS - 1} days: {size}, "
        f"{len(model.mobilities)} habits that an observer may have in mind."
    )
    yield f"Protected the last day: {n} of {stream.n_steps} half hours released.\n"
    yield from (f"- {sentence}" for sentence in result.certificate.sentences())

    checked = load_certificate(delivery.certificate)
    (verdict,) = checked.check(model).verdicts
    before, after = as_odds(verdict.before), as_odds(float(verdict.after[-1]))
    yield "\nAudited from the certificate and the model alone:"
    yield f"  largest loss for any observer {verdict.largest:.4f}, promised at most {EPSILON:g}"
    yield f"  odds of an observer who believes the model: {before} before, {after} after"
    path = [-1 if cell is None else cell for cell in stream.cells]
    happened = "did happen" if result.protections[0].event.holds(path) else "did not happen"
    yield f"  (in truth it {happened})\n"
    yield "No promise covers observers with other habits in mind. The largest loss of some who"
    for name, mobility in other_observers(table, today, stream):
        (other,) = realised([checked], mobility).verdicts
        yield f"  {name:<43}{other.largest:.2f}"
    yield f"{REAL_PEOPLE}\n"
    price = result.accuracy
    yield (
        f"The price: mean error {price.released:.2f} km. The noise alone has {price.noise:.2f} km, "
        f"the usual place at each hour {price.usual:.2f}, a cell at random {price.blind:.2f}.\n"
    )
    page = private / "report.html"
    yield f"Reports: {page} (private), {delivery.page} (public)"
    yield "The seed makes it reproducible; without one the system's randomness is used."
