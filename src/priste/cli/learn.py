"""Fit a model of how people move, and simulate tracks from it."""

from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import pandas as pd
import typer

from priste.checks import listing
from priste.cli.console import as_json, note, say, working
from priste.cli.options import (
    Columns,
    Force,
    Json,
    ModelFile,
    Reading,
    Seed,
    Since,
    TimeFormat,
    Until,
    bounds_of,
    first_days,
    moment,
    read_tracks,
    refuse_existing,
    refuse_same,
)
from priste.errors import TrackError
from priste.report.html import as_svg
from priste.report.model_map import draw_model_map
from priste.storage.atomic_files import AtomicFiles, atomic_file
from priste.storage.limits import MAX_STEPS, at_most
from priste.tracks import LocalMap, Model, as_track, fit_model, load_model
from priste.tracks.files import checked_suffix, write_as
from priste.tracks.habits import HABITS
from priste.tracks.held_out import Base
from priste.tracks.model import PREDICTED, PREDICTED_BEFORE, PREDICTED_USUAL
from priste.tracks.model_file import write_model
from priste.tracks.new_places import CELLS
from priste.tracks.seen import DAYS, USERS
from priste.tracks.steps import duration
from priste.tracks.windows import day_start

FEW_MOVES, FEW_CELLS = 100, 5
"""Below this a model has seen too little to mean anything."""


def fit(
    tracks: Annotated[list[Path], typer.Argument(help="Tracks: files, folders or ZIP files.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    step: Annotated[str, typer.Option(help="Length of a step, such as 10min or 1h.")] = "10min",
    cells: Annotated[int, typer.Option(help="The map has about this many cells.")] = 400,
    bounds: Annotated[
        str | None, typer.Option(help="South,west,north,east of the map, in degrees.")
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Zone of the model's days and hours (default: UTC), and of times without a zone."
        ),
    ] = None,
    time_of_day: Annotated[
        bool | None,
        typer.Option(help="Fit a matrix for each step of the day (default: if it predicts better)"),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(help="The next cell depends on this many before it (default: 1 or 2)."),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(help="Weight of moves that were not observed (default: what predicts best)."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Where moves lead that were never seen: 'uniform' (anywhere), 'local' (as far as "
            "this person's moves do), 'usual' (so, or back to a usual place) or 'others' (as other "
            "people move; default: what predicts best)."
        ),
    ] = None,
    others: Annotated[
        list[Path] | None,
        typer.Option(help="Tracks of other people, to learn how people move here; repeatable."),
    ] = None,
    habits: Annotated[
        int,
        typer.Option(
            help="How many ways of moving the model holds, each of which an observer may have "
            "learned; 1 for the likeliest alone."
        ),
    ] = HABITS,
    elsewhere: Annotated[
        bool,
        typer.Option(
            help="Give the map one more cell for everything off it, so that somebody who is "
            "elsewhere can be shown as away; without it they are shown on its border."
        ),
    ] = True,
    picture: Annotated[
        bool, typer.Option(help="Draw the map and where the time was spent, beside the model.")
    ] = True,
    share: Annotated[
        float, typer.Option(help="Fit to the first days only: this share of them.")
    ] = 1.0,
    column: Columns = None,
    time_format: TimeFormat = None,
    since: Since = None,
    until: Until = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Fit a model to tracks: a map, and how people move on it."""
    drawn = out.with_suffix(".map.svg")
    refuse_existing([out, *([drawn] if picture else [])], force=force)
    refuse_same([out, drawn], tracks)
    zone = time_zone or "UTC"
    reading = Reading(time_zone, column, time_format)
    table, account = read_tracks(tracks, reading, zone, since, until)
    table = first_days(table, share, zone)
    place = None
    if bounds is not None:
        place = LocalMap.within(*bounds_of(bounds), cells=cells, elsewhere=elsewhere)
    if base is not None and base not in get_args(Base):
        raise TrackError(f"--base is one of {', '.join(get_args(Base))}, got {base!r}")
    more = None if not others else read_tracks(others, reading, zone)[0]
    with working("fitting") as progress:
        model = fit_model(
            table,
            step=step,
            place=place,
            cells=cells,
            time_zone=zone,
            time_of_day=time_of_day,
            order=order,
            smoothing=smoothing,
            base=base,  # type: ignore[arg-type]
            others=more,
            habits=habits,
            elsewhere=elsewhere,
            progress=progress,
        )
    with AtomicFiles() as files:
        write_model(model, files.add(out, private=True))
        if picture:
            svg = as_svg(draw_model_map(model, table))
            files.add(drawn, private=True).write_text(svg, encoding="utf-8")
    grid = model.place.grid
    days = table["time"].dt.tz_convert(zone).dt.date
    result = {
        "model": str(out),
        "picture": str(drawn) if picture else None,
        "fingerprint": model.fingerprint,
        "map": f"{grid.rows} × {grid.columns} cells of {grid.cell_size:.3g} km",
        "days": f"{days.min()} to {days.max()}, {days.nunique()} days with fixes",
        **{k: v for k, v in model.provenance.items() if k not in (DAYS, USERS, CELLS)},
        "has seen": {k: model.provenance[k] for k in (DAYS, USERS) if k in model.provenance},
        "account": account.to_json(),
    }
    if json:
        as_json(result)
        return
    say(account)
    say(f"\n{result['map']}, steps of {duration(model.step)}")
    south, west, north, east = model.place.corners
    say(
        f"from {south:.3f}, {west:.3f} to {north:.3f}, {east:.3f} (latitude, longitude); "
        f"{model.provenance['on the map']:.1%} of the time with fixes is on it, the rest is "
        f"{'one more cell, elsewhere' if grid.elsewhere else 'not learned from'}"
    )
    if time_zone is None:
        say("days are those of UTC: if the person lives by another clock, say --time-zone")
    say(f"fitted to {len(table):,} fixes, {result['days']}: {result['moves']:,} moves")
    _say_choice(model)
    users = model.provenance.get(USERS)
    whose = f", of {listing(list(users))}" if users else ""
    seen = listing([each.replace("/", " to ") for each in model.provenance[DAYS]], 3)
    say(f"it has seen {seen}{whose}, so it cannot protect these days: fit another for them")
    unseen = model.provenance["cells never left"]
    if unseen:
        say(f"{unseen} of {grid.n_cells} cells were never left: moves from them are guesses")
    if result["moves"] < FEW_MOVES or grid.n_cells - unseen < FEW_CELLS:
        note(
            f"warning: {result['moves']:,} moves from {grid.n_cells - unseen} cells are too little "
            f"to know habits from, and what an ε means depends on them; fit to more days, or give "
            f"a smaller map (--bounds) or fewer cells (--cells)"
        )
    say(f"{out}: a model of these people's habits. Only you can read it; keep it private.")
    if picture:
        say(f"{drawn}: its map, and where the time was spent. It is private, too.")


def _so_many(habits: int) -> str:
    return "the likeliest habit" if habits == 1 else f"{habits} habits around the likeliest"


def _say_choice(model: Model) -> None:
    """Say how the moves were learned, and how well left-out days were predicted."""
    about = model.provenance
    hours = ", by time of day" if about["time of day"] else ""
    say(
        f"{_so_many(about['habits'])}: {about['base']} base, smoothing "
        f"{about['smoothing']:g}, order {about['order']}{hours}"
    )
    if PREDICTED in about:
        gain = about[PREDICTED] - about[PREDICTED_BEFORE]
        say(
            f"held-out days: {about[PREDICTED]:.3f} nats per move, {gain:+.3f} over a uniform base "
            f"with smoothing 1; somebody who knows the usual places only: "
            f"{about[PREDICTED_USUAL]:.3f}"
        )


def simulate(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The track file to write.")],
    days: Annotated[int, typer.Option(help="Number of days, one track each.", min=1)] = 1,
    start: Annotated[str, typer.Option(help="The first day.")] = "2024-01-01",
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Simulate tracks from a model."""
    refuse_existing([out], force=force)
    learned = load_model(model)
    first = moment(start, learned.time_zone)
    steps = pd.Timedelta(days=1) // learned.step
    at_most(days * steps, MAX_STEPS, "the number of steps", "draw fewer days", TrackError)
    random = np.random.default_rng(seed)
    tracks = []
    with working("simulating") as progress:
        for day in range(days):
            clock = learned.clock(day_start(first, learned.time_zone, later=day))
            mobility = learned.mobilities_from(clock.start)[0]
            path = mobility.sample(steps, seed=int(random.integers(2**31)))
            tracks.append(
                as_track(range(steps), path, learned.place, clock, track=f"day {day + 1}")
            )
            progress((day + 1) / days)
        table, suffix = pd.concat(tracks, ignore_index=True), checked_suffix(out)
        with atomic_file(out, private=True) as partial:
            write_as(table, partial, suffix)
    if json:
        as_json({"track": str(out), "days": days, "fixes": days * steps})
    else:
        say(f"{out}: {days} day(s) of {steps} fixes, simulated from the habits in the model.")
        say("Many such days reveal these habits, so only you can read the file.")
