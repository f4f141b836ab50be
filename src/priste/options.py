"""The options of the command, and how they become objects."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

from priste.calibration import Calibration, EveryOutput
from priste.console import working
from priste.errors import TrackError
from priste.mechanisms import Exponential, Mechanism, PlanarLaplace
from priste.tracks import Account, Model, clean, read, read_geolife
from priste.tracks.certificate import Adversary
from priste.tracks.places import Outside

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ModelFile = Annotated[Path, typer.Option("--model", "-m", help="A model made by `priste fit`.")]
EventsFile = Annotated[Path, typer.Option("--events", "-e", help="What is secret: a TOML file.")]
Zone = Annotated[
    str | None, typer.Option("--zone", help="The zone of times that have none, such as UTC.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Which column is which, such as time=ts; repeat as needed."),
]
Since = Annotated[str | None, typer.Option("--from", help="Use fixes from this day or moment on.")]
Until = Annotated[str | None, typer.Option("--until", help="Use fixes before this day or moment.")]
Who = Annotated[
    Adversary,
    typer.Option(
        "--adversary",
        help="Whose belief about the start is bounded: known (just the model's), near (the "
        "model's but for a share --rho that may be anything), any (whatever they believe).",
    ),
]
Rho = Annotated[float, typer.Option("--rho", help="The free share of the belief for `near`.")]
Budget = Annotated[float, typer.Option("--budget", help="Budget of the noise per kilometre.")]
Noise = Annotated[
    Literal["planar-laplace", "exponential"], typer.Option("--mechanism", help="The noise.")
]
OffMap = Annotated[
    Outside, typer.Option("--outside", help="Fixes off the map: to its border, dropped, refused.")
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Reproducible draws. No protection from who knows the seed."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are already there.")]


def read_tracks(
    paths: Sequence[Path], zone: str | None, column: list[str] | None
) -> tuple[pd.DataFrame, Account]:
    """Read and clean files and folders."""
    names = dict(_named(pair) for pair in column or [])
    with working("reading"):
        tables = [
            read_geolife(path) if path.is_dir() else read(path, columns=names, time_zone=zone)
            for path in paths
        ]
        if len(tables) > 1:  # tracks of different files stay apart
            tables = [
                table.assign(track=f"{i}/" + table["track"]) for i, table in enumerate(tables)
            ]
        return clean(pd.concat(tables, ignore_index=True))


def _named(pair: str) -> tuple[str, str]:
    ours, _, theirs = pair.partition("=")
    if not theirs:
        raise TrackError(f"--column takes a pair such as time=ts, got {pair!r}")
    return ours, theirs


def between(table: pd.DataFrame, since: str | None, until: str | None, zone: str) -> pd.DataFrame:
    """Return the fixes of a stretch of time; days without an hour are those of the zone."""
    if since is not None:
        table = table[table["time"] >= moment(since, zone)]
    if until is not None:
        table = table[table["time"] < moment(until, zone)]
    if table.empty:
        raise TrackError("no fixes are left between --from and --until")
    return table


def first_days(table: pd.DataFrame, share: float, zone: str) -> pd.DataFrame:
    """Return the fixes of the first share of the days that have any."""
    if not 0 < share <= 1:
        raise TrackError(f"--share must lie above 0 and at most at 1, got {share}")
    day = table["time"].dt.tz_convert(zone).dt.normalize()
    days = sorted(day.unique())
    return table[day <= days[math.ceil(share * len(days)) - 1]]


def moment(text: str, zone: str) -> pd.Timestamp:
    """Return a day or a moment; one without a zone is in the given zone."""
    try:
        moment = pd.Timestamp(text)
        return moment if moment.tz is not None else moment.tz_localize(zone)
    except (ValueError, KeyError) as error:
        raise TrackError(f"{text!r} is no day or moment such as 2024-05-01 ({error})") from None


def four(bounds: str) -> tuple[float, float, float, float]:
    """Return the four numbers of a text such as 39.7,116.2,40.1,116.6."""
    try:
        south, west, north, east = (float(part) for part in bounds.split(","))
    except ValueError:
        raise TrackError(
            f"--bounds takes south,west,north,east in degrees, got {bounds!r}"
        ) from None
    return south, west, north, east


def mechanism_named(name: str, model: Model, budget: float) -> Mechanism:
    """Return the mechanism of that name on the model's map."""
    kind = PlanarLaplace if name == "planar-laplace" else Exponential
    return kind(model.place.grid, budget)


def calibration_named(name: str) -> Calibration:
    """Return the calibration of that name."""
    return {"every-output": EveryOutput()}[name]


def refuse_existing(paths: Sequence[Path], *, force: bool) -> None:
    """Refuse to replace what is there unless that is wanted."""
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise TrackError(
            f"{', '.join(there)} is already there. Releasing the same time twice tells more than "
            f"once; if the first was never shared, --force replaces it"
        )
