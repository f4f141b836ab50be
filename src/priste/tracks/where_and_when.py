"""An event in places and hours, for people: cells and steps mean nothing to them."""

import numpy as np

from priste.events import Event, Withheld, atoms
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock


def where_and_when(event: Event, place: LocalMap, clock: Clock, time_zone: str) -> str:
    """Return the circle that an event is about, and from when to when; nothing if withheld.

    What is off the map is named besides.
    """
    if isinstance(event, Withheld):
        return ""
    parts = list(atoms(event))
    cells = sorted({cell for part in parts for cell in part.cells})
    steps = sorted({part.step for part in parts})
    return f"{_where(cells, place)}, {_when(steps, clock, time_zone)}"


def _where(cells: list[int], place: LocalMap) -> str:
    grid = place.grid
    if grid.elsewhere_cell in cells:
        rest = grid.on_map(cells)
        return f"off the map or {_where(rest, place)}" if rest else "off the map"
    centres = grid.centres[cells]
    middle = (centres.min(axis=0) + centres.max(axis=0)) / 2
    reach = np.hypot(*(np.abs(centres - middle) + grid.cell_size / 2).T).max()
    latitude, longitude = place.at(*middle)
    return f"within {_round(float(reach))} km of {latitude:.4f}, {longitude:.4f}"


def _round(kilometres: float) -> str:
    return f"{kilometres:.1f}" if kilometres < 10 else f"{kilometres:.0f}"


def _when(steps: list[int], clock: Clock, time_zone: str) -> str:
    begin, end = clock.time_of([steps[0], steps[-1] + 1]).tz_convert(time_zone)
    same_day = begin.date() == (end - clock.length / 2).date()
    last = f"{end:%H:%M}" if same_day else f"{end:%Y-%m-%d %H:%M}"
    last = "24:00" if same_day and f"{end:%H:%M}" == "00:00" else last
    gaps = steps[-1] - steps[0] + 1 > len(steps)
    return f"{begin:%Y-%m-%d %H:%M} to {last} {'with gaps, ' if gaps else ''}{time_zone}"
