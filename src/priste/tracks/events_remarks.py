"""What to say about an events file on some days, so that nobody relies on what is not there."""

import math
from datetime import datetime

import pandas as pd

from priste.tracks.events_file import Reader
from priste.tracks.fields import field

_MUCH = 10.0  # times the area of a circle


def absent_events(file: Reader) -> list[str]:
    """Return the names of protected events that cannot happen during a stream."""
    return [name for name in file.protected if isinstance(file.event(name), bool)]


def hours_of_other_zones(file: Reader, time_zone: str) -> list[str]:
    """Return a remark on each window with hours in a zone where it is another time than in ours."""
    remarks = []
    used: set[str] = set()
    for table in file.events.values():
        given = table.get("window", [])
        used.update([given] if isinstance(given, str) else given)
    for name in (each for each in file.windows if each in used):
        window = file.window(name)
        if window.opens is None or window.closes is None:
            continue
        day = file.clock.start.tz_convert(window.time_zone).date()
        ends = [
            pd.Timestamp(datetime.combine(day, hour), tz=window.time_zone)
            for hour in (window.opens, window.closes)
        ]
        here = [end.tz_convert(time_zone) for end in ends]
        if here[0].utcoffset() != ends[0].utcoffset():
            remarks.append(
                f"window {name!r} is {ends[0]:%H:%M} to {ends[1]:%H:%M} in {window.time_zone}, "
                f"which is {here[0]:%H:%M} to {here[1]:%H:%M} in {time_zone}, the model's zone"
            )
    return remarks


def grown_regions(file: Reader) -> list[str]:
    """Return a remark on each circle that is protected as a far larger area: whole cells."""
    remarks = []
    for name, table in file.regions.items():
        circle = table.get("circle")
        if not isinstance(circle, dict):
            continue
        cells, size = file.region(name, f"regions.{name}"), file.place.grid.cell_size
        radius = field(circle, f"regions.{name}.circle", "radius_km", float)
        if len(cells) * size**2 > _MUCH * math.pi * radius**2:
            number = f"{len(cells)} cells" if len(cells) > 1 else "a cell"
            remarks.append(
                f"region {name!r}, a circle of {radius:g} km, is protected as {number} of "
                f"{size:.2g} km: being anywhere there counts; a map with smaller cells "
                f"(fit --bounds, --cells) comes closer"
            )
    return remarks
