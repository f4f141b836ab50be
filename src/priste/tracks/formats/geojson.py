"""GeoJSON: points with a time, or lines with a time for each of their points."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from priste.errors import TrackError
from priste.storage import plain_json
from priste.storage.limits import MAX_COLUMNS, MAX_MARKUP_BYTES, at_most, refusing


def read(path: Path) -> pd.DataFrame:
    """Return one fix per point feature, or per position of a line with times."""
    content = plain_json.read(path, MAX_MARKUP_BYTES, TrackError)
    if not isinstance(content, dict) or "type" not in content:
        raise TrackError(f"{path.name} is not GeoJSON: it has no type")
    features = content.get("features", [content])
    if not isinstance(features, list):
        raise TrackError(f"{path.name} is not GeoJSON: its features are not a list")
    rows: list[dict[str, Any]] = []
    names: set[str] = set()
    for number, feature in enumerate(features):
        with refusing(f"{path.name}: feature {number} cannot be read", TrackError):
            properties = dict(feature.get("properties") or {})
            fixes = _fixes(feature.get("geometry") or {}, properties, number)
            names.update(fixes[0] if fixes else ())
            at_most(len(names), MAX_COLUMNS, "different properties", "remove some", TrackError)
            rows += fixes
    with refusing(f"{path.name} cannot be made a table", TrackError):
        return pd.DataFrame(rows)


def _fixes(
    geometry: dict[str, Any], properties: dict[str, Any], number: int
) -> list[dict[str, Any]]:
    kind = geometry.get("type")
    if not geometry and properties.get("away") is True:  # as `write` tells it
        return [{**properties, "latitude": math.nan, "longitude": math.nan}]
    if kind == "Point":
        longitude, latitude = geometry["coordinates"][:2]
        return [{**properties, "latitude": latitude, "longitude": longitude}]
    if kind in ("LineString", "MultiLineString"):
        nested = properties.get("coordinateProperties") or {}
        times = properties.get("coordTimes") or properties.get("times") or nested.get("times")
        lines, moments = geometry["coordinates"], times
        if kind == "LineString":
            lines, moments = [lines], None if times is None else [times]
        moments = moments or [[None] * len(line) for line in lines]
        name = str(properties.get("track", properties.get("name", number)))
        return [
            {"track": name, "time": time, "latitude": place[1], "longitude": place[0]}
            for line, clock in zip(lines, moments, strict=True)
            for place, time in zip(line, clock, strict=True)
        ]
    return []


def write(table: pd.DataFrame, path: Path) -> None:
    """Write one point feature per fix, with all columns as its properties.

    A fix without coordinates has no geometry.
    """
    plain = table.drop(columns=["latitude", "longitude"])
    plain = plain.assign(time=[None if pd.isna(t) else t.isoformat() for t in table["time"]])
    features = [
        {
            "type": "Feature",
            "geometry": _point(latitude, longitude),
            "properties": {k: None if pd.isna(v) else v for k, v in properties.items()},
        }
        for properties, latitude, longitude in zip(
            plain.to_dict("records"),
            table["latitude"].tolist(),
            table["longitude"].tolist(),
            strict=True,
        )
    ]
    content = {"type": "FeatureCollection", "features": features}
    path.write_text(json.dumps(content, allow_nan=False, ensure_ascii=False), encoding="utf-8")


def _point(latitude: float, longitude: float) -> dict[str, Any] | None:
    if math.isnan(latitude) or math.isnan(longitude):
        return None
    return {"type": "Point", "coordinates": [longitude, latitude]}
