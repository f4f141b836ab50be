"""Land and borders under a map: Natural Earth, shipped with the package, so nobody is asked."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import shapely

from priste.checks import Array
from priste.tracks.usual_area import Rectangle

_SHIPPED = "web/vendor/countries-50m.json"
_AROUND = 4.0  # how many times its own size of land around a map is shown
_DETAIL = 2000  # a line is simplified to this part of what is shown


def land_around(area: Rectangle | None = None) -> dict[str, Any]:
    """Return the land around a rectangle, or all of it, as a GeoJSON geometry."""
    south, west, north, east = area or (-85.0, -180.0, 85.0, 180.0)
    margin = _AROUND * max(north - south, east - west) if area else 0.0
    low, high = max(south - margin, -85.0), min(north + margin, 85.0)
    box = shapely.box(west - margin, low, east + margin, high)
    countries = _countries()
    near = countries[shapely.intersects(countries, box)]
    detail = (high - low) / _DETAIL
    parts = shapely.intersection(shapely.simplify(near, detail), box)
    shapes = [p for p in shapely.get_parts(parts) if p.geom_type == "Polygon" and not p.is_empty]
    text = shapely.to_geojson(shapely.MultiPolygon(shapes))
    found: dict[str, Any] = json.loads(text, parse_float=lambda number: round(float(number), 4))
    return found


@cache
def _countries() -> Any:
    """Return the countries as shapes; each ring is made of arcs, which neighbours share."""
    content = json.loads(files("priste.report").joinpath(_SHIPPED).read_text("utf-8"))
    scale, shift = (np.array(content["transform"][name]) for name in ("scale", "translate"))
    arcs = [np.cumsum(arc, axis=0) * scale + shift for arc in content["arcs"]]
    shapes = []
    for geometry in content["objects"]["countries"]["geometries"]:
        several = geometry["type"] == "MultiPolygon"
        for rings in geometry["arcs"] if several else [geometry["arcs"]]:
            outer, *holes = (_ring(ring, arcs) for ring in rings)
            shapes.append(shapely.make_valid(shapely.Polygon(outer, holes)))
    return np.array(shapes)


def _ring(numbers: list[int], arcs: list[Array]) -> Array:
    """Return the corners of a ring; an arc with a negative number is walked backwards."""
    parts = [arcs[n] if n >= 0 else arcs[~n][::-1] for n in numbers]
    return np.concatenate([part[:-1] for part in parts])
