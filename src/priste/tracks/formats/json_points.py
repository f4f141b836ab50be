"""JSON of apps and portals, a piece at a time: an export of a gigabyte needs little memory."""

import json
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import ijson
import numpy as np
import pandas as pd
from ijson.common import ObjectBuilder

from priste.errors import TrackError
from priste.storage.limits import (
    MAX_JSON_BYTES,
    MAX_LINE_BYTES,
    MAX_NESTING,
    at_most,
    refusing,
    size_of,
)
from priste.tracks.formats.json_shapes import fixes_of
from priste.tracks.moments import NoZoneError, microseconds

_NO_TIME = np.iinfo(np.int64).min  # what numpy calls NaT


def read(path: Path, zone: ZoneInfo | None) -> pd.DataFrame:
    """Return the fixes of all objects in the outermost lists of a file."""
    size_of(path, MAX_JSON_BYTES, TrackError)
    with path.open("rb") as file:
        if file.read(3) != b"\xef\xbb\xbf":
            file.seek(0)
        return _table(path, _elements(file), zone)


def read_lines(path: Path, zone: ZoneInfo | None) -> pd.DataFrame:
    """Return the fixes of a file with one object per line."""
    return _table(path, _objects(path, lambda line: line), zone)


def read_recorded(path: Path, zone: ZoneInfo | None) -> pd.DataFrame:
    """Return the fixes of a file of the OwnTracks Recorder: moment, kind and object per line."""
    return _table(path, _objects(path, lambda line: line.split(b"\t", 2)[-1]), zone)


def _table(path: Path, things: Iterable[object], zone: ZoneInfo | None) -> pd.DataFrame:
    times, latitudes, longitudes = array("q"), array("d"), array("d")
    with refusing(f"{path.name} is not JSON that can be read", TrackError):
        for thing in things:
            for fix in fixes_of(thing):
                try:
                    time = microseconds(fix.time, zone)
                except NoZoneError as error:
                    raise TrackError(
                        f"{error} has no time zone; say which one it is in, for example "
                        f"time_zone='Europe/Berlin'"
                    ) from None
                times.append(_NO_TIME if time is None else time)
                latitudes.append(fix.latitude)
                longitudes.append(fix.longitude)
    moments = np.array(times, dtype=np.int64).view("datetime64[us]")
    return pd.DataFrame(
        {
            "time": pd.Series(moments).dt.tz_localize("UTC"),
            "latitude": np.array(latitudes),
            "longitude": np.array(longitudes),
        }
    )


_TURNS = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}


def _elements(file: Any) -> Iterator[object]:
    """Yield the elements of every outermost list, and what an object holds besides lists."""
    depth, outermost, builder, key = 0, 0, ObjectBuilder(), ""
    lone: dict[str, Any] = {}
    for event, value in ijson.basic_parse(file, use_float=True):
        turn = _TURNS.get(event, 0)
        if turn > 0:
            depth += 1
            at_most(depth, MAX_NESTING, "the nesting of its lists", "make it flat", TrackError)
        if 0 < outermost < depth:
            if turn > 0 and depth == outermost + 1:
                builder = ObjectBuilder()
            builder.event(event, value)
            if turn < 0 and depth == outermost + 1:
                yield builder.value
        elif outermost:
            outermost = 0 if turn < 0 else outermost  # else a number or a text in the list
        elif event == "start_array":
            outermost = depth
        elif event == "map_key":
            key = value
        elif depth == 1 and turn == 0:
            lone[key] = value
        if turn < 0:
            depth -= 1
    yield lone


def _objects(path: Path, part: Any) -> Iterator[object]:
    size_of(path, MAX_JSON_BYTES, TrackError)
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), 1):
            text = part(line).strip().removeprefix(b"\xef\xbb\xbf")
            if text.startswith(b"{"):
                with refusing(f"line {number}", TrackError):
                    yield json.loads(text)
