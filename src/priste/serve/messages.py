"""What receivers are sent of a release: a place, a time and how exact the place is; nothing else.

The bytes follow from the released cell, the step and the map. Battery, speed, course, altitude,
network and whatever else a phone sent stay behind.
"""

import json
import math
from datetime import UTC, datetime
from typing import Any

from priste.serve.config import ReceiverKind
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock


def message(
    kind: ReceiverKind, person: str, place: LocalMap, clock: Clock, step: int, cell: int
) -> bytes | None:
    """Return what a receiver is sent of a step; None if it cannot be told that it is elsewhere."""
    seconds = round(clock.time_of([step])[0].timestamp())
    latitudes, longitudes = place.centres([cell])
    latitude, longitude = (round(float(found[0]), 6) for found in (latitudes, longitudes))
    is_away = math.isnan(latitude)
    if kind == "webhook":
        where = {"latitude": None, "longitude": None} if is_away else _where(latitude, longitude)
        told = {"person": person, "step": step, "time": _iso(seconds), **where, "away": is_away}
        return _json(told | {"accuracy": accuracy(place)})
    if is_away:
        return None
    if kind == "overland":
        return _json({"locations": [_feature(person, place, seconds, latitude, longitude)]})
    return _json(
        {
            "_type": "location",
            "lat": latitude,
            "lon": longitude,
            "tst": seconds,
            "acc": accuracy(place),
            "tid": person[:2],
            "topic": f"owntracks/{person}/priste",
        }
    )


def accuracy(place: LocalMap) -> int:
    """Return how far a cell reaches from its centre, in metres."""
    return math.ceil(place.grid.cell_size * 1000 / math.sqrt(2))


def _feature(
    person: str, place: LocalMap, seconds: int, latitude: float, longitude: float
) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [longitude, latitude]},
        "properties": {
            "timestamp": _iso(seconds),
            "horizontal_accuracy": accuracy(place),
            "device_id": person,
        },
    }


def _where(latitude: float, longitude: float) -> dict[str, float]:
    return {"latitude": latitude, "longitude": longitude}


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()
