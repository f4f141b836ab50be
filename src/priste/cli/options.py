"""The options of the command, and how they become objects."""

import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pandas as pd
import typer

from priste.accelerator import use_gpu
from priste.calibration import Calibration, EveryOutput
from priste.checks import shown
from priste.cli.console import note, working
from priste.errors import NoGpuWarning, ProtectionError, TrackError
from priste.mechanisms import Exponential, Mechanism, NoNoise, PlanarLaplace
from priste.mechanisms.on_grid import GridMechanism
from priste.storage.limits import moment_within, refusing
from priste.stream.parts import DEFAULT_MARGIN, default_calibration
from priste.tracks import Account, clean, read
from priste.tracks.adversary import AdversaryKind
from priste.tracks.table import NOTES
from priste.tracks.windows import zone as known_zone

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ModelFile = Annotated[Path, typer.Option("--model", "-m", help="A model made by `priste fit`.")]
EventsFile = Annotated[
    Path, typer.Option("--events", "-e", help="The events to protect: a TOML file.")
]
TimeZone = Annotated[
    str | None, typer.Option("--time-zone", help="Zone of times without one, such as UTC.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Name of a column, such as time=ts, or its number if the file has no header, such as "
        "time=1; repeat for others.",
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        "--time-format",
        help="How times are written, if that cannot be told, such as '%d/%m/%Y %H:%M'.",
    ),
]
Since = Annotated[str | None, typer.Option("--from", help="Use fixes from this day or moment on.")]
Until = Annotated[str | None, typer.Option("--until", help="Use fixes before this day or moment.")]
Against = Annotated[
    AdversaryKind,
    typer.Option(
        "--adversary",
        help="The observer an ε holds against, by their belief about the start: known (the "
        "model's), near (the model's, but for a share --rho that may be anything), any.",
    ),
]
Rho = Annotated[
    float, typer.Option("--rho", help="The free share of the belief of a `near` adversary.")
]
Budget = Annotated[
    float,
    typer.Option("--budget", help="Budget of the noise per kilometre; with no noise, at most 1."),
]
Noise = Annotated[
    Literal["planar-laplace", "exponential", "none"],
    typer.Option("--mechanism", help="The noise; none protects the events only."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Reproducible draws: no protection from anyone who knows the seed."
    ),
]
Keeping = Annotated[
    Literal["optimal", "every-output"],
    typer.Option(
        "--calibration",
        help="How to keep the promise: remap the noise optimally, or weaken its budget.",
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        help="Share of every ε that the optimal remap never uses, held back for observers with "
        f"other habits in mind (default: {DEFAULT_MARGIN} if the model holds several habits, or 0)."
    ),
]
AvoidSecret = Annotated[
    bool,
    typer.Option(
        "--avoid-secret",
        help="Never release a cell of a protected place during its hours, whoever is where: a "
        "release on the very spot says no more than ε, but looks bad.",
    ),
]
HasSeen = Annotated[
    bool,
    typer.Option(
        "--model-has-seen-these-days",
        help="Accept a model that was learned from the protected days. This gives up the promise "
        "against whoever sees the model, or finds in the releases what it learned.",
    ),
]
HideEvents = Annotated[bool, typer.Option(help="Leave the events out of the public certificate.")]
OnGpu = Annotated[
    bool,
    typer.Option("--gpu", help="Compute on a GPU, if there is one: for large maps and any belief."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are already there.")]


class Reading(NamedTuple):
    """What a file does not say itself."""

    time_zone: str | None = None
    column: list[str] | None = None
    time_format: str | None = None


def read_tracks(
    paths: Sequence[Path],
    reading: Reading,
    day_zone: str,
    since: str | None = None,
    until: str | None = None,
) -> tuple[pd.DataFrame, Account]:
    """Read files and folders, take a stretch of time, and clean it; say what was recognised.

    Days without an hour are those of `day_zone`.
    """
    names = dict(named(pair) for pair in reading.column or [])
    zone, written = reading.time_zone, reading.time_format
    with working("reading"):
        tables = [read(path, columns=names, time_zone=zone, time_format=written) for path in paths]
        for path, table in zip(paths, tables, strict=True):
            for remark in table.attrs.pop(NOTES, []):
                note(f"{path.name}: {remark}")
        if len(tables) > 1:  # tracks of different files stay apart
            tables = [
                table.assign(track=f"{i}/" + table["track"]) for i, table in enumerate(tables)
            ]
        table = pd.concat(tables, ignore_index=True)
        local = table["time"].dt.tz_convert(known_zone(day_zone)).dropna()
        span = f"from {local.min():%Y-%m-%d} to {local.max():%Y-%m-%d}" if len(local) else "undated"
        if since and until and moment(since, day_zone) >= moment(until, day_zone):
            raise TrackError(f"--from {shown(since)} is not before --until {shown(until)}")
        if since is not None:
            table = table[~(table["time"] < moment(since, day_zone))]
        if until is not None:
            table = table[~(table["time"] >= moment(until, day_zone))]
        if table.empty:
            raise TrackError(f"no fixes lie between --from and --until; they are {span}")
        kept, account = clean(table)
    if kept.empty:
        swapped = table["latitude"].abs().max() > 90 and table["longitude"].abs().max() <= 90
        hint = "\nlatitude and longitude may have changed places: say --column" if swapped else ""
        raise TrackError(f"no fix can be used:\n{account}{hint}")
    return kept, account


def named(pair: str) -> tuple[str, str]:
    """Return the two sides of a pair such as time=ts."""
    ours, _, theirs = pair.partition("=")
    if not theirs:
        raise TrackError(f"--column takes a pair such as time=ts, got {shown(pair)}")
    return ours, theirs


def first_days(table: pd.DataFrame, share: float, zone: str) -> pd.DataFrame:
    """Return the fixes of the first share of the days that have any."""
    if not 0 < share <= 1:
        raise TrackError(f"--share must lie in (0, 1], got {share}")
    known_zone(zone)
    day = table["time"].dt.tz_convert(zone).dt.date
    days = sorted(day.unique())
    return table[day <= days[math.ceil(share * len(days)) - 1]]


def moment(text: str, zone: str) -> pd.Timestamp:
    """Return a day or a moment; one without a zone is in the given zone."""
    known_zone(zone)
    with refusing(f"{shown(text)} is not a day or a moment such as 2024-05-01", TrackError):
        if not re.match(r"\d{4}-\d\d-\d\d", text):  # 06.05.2024 may be a day of May or of June
            raise TrackError("write the year first")
        found = pd.Timestamp(text)
        moment_within(found if found.tz else found.tz_localize("UTC"), "it", TrackError)
        if found.tz is not None:
            return found
        return found.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")


def bounds_of(bounds: str) -> tuple[float, float, float, float]:
    """Return the four numbers of a text such as 39.7,116.2,40.1,116.6."""
    try:
        south, west, north, east = (float(part) for part in bounds.split(","))
    except ValueError:
        raise TrackError(
            f"--bounds takes south,west,north,east in degrees, got {shown(bounds)}"
        ) from None
    return south, west, north, east


MECHANISMS: dict[str, type[GridMechanism]] = {
    "planar-laplace": PlanarLaplace,
    "exponential": Exponential,
    "none": NoNoise,
}


def calibration_for(
    name: str, margin: float | None, avoid_secret: bool, mechanism: Mechanism, n_models: int
) -> Calibration | None:
    """Return what was asked for; None is the default, or what a stream began with."""
    if name == "every-output":
        if margin is not None or avoid_secret:
            option = "--avoid-secret" if margin is None else "--margin"
            raise ProtectionError(f"{option} is for the optimal remap; leave it out")
        return EveryOutput()
    if margin is None and not avoid_secret:
        return None
    return default_calibration(mechanism, n_models, margin=margin, avoid_secret=avoid_secret)


def compute_on_gpu() -> None:
    """Use a GPU, or say why there is none."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NoGpuWarning)
        use_gpu()
    for each in said:
        note(f"priste: {each.message}")


def refuse_existing(paths: Sequence[Path], *, force: bool, why: str = "") -> None:
    """Refuse to replace existing files unless `force` is set."""
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise TrackError(f"{', '.join(there)} already exists; --force replaces it{why}")


def refuse_same(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse to overwrite an input."""
    for output in outputs:
        if any(given.exists() and output.exists() and given.samefile(output) for given in inputs):
            raise TrackError(f"{output} is an input and would be overwritten; choose another --out")
