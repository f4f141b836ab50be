"""A day as an observer sees it, in plain values: what the map and the curves of a page show.

All numbers come from the library and all words about odds are put together here, so that a page
only draws. It shows where the person was: private.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from priste.checks import Array
from priste.events import Withheld, atoms
from priste.protection import Protect, names_of
from priste.report.land import land_around
from priste.report.ways import Way
from priste.tracks.names import escaped
from priste.tracks.observer import Observed
from priste.tracks.places import LocalMap
from priste.tracks.protect import Stream
from priste.wording import as_odds, promise

LEAST_SHOWN = 5e-4
"""Places less likely than this are left out of the heat map."""


def picture(
    stream: Stream, protections: Sequence[Protect], ways: Sequence[tuple[Way, Observed]]
) -> dict[str, Any]:
    """Return what a page shows of a day that is shared in some ways."""
    model = stream.model
    times = stream.clock.time_of(range(stream.first, stream.first + stream.n_steps))
    local = times.tz_convert(model.time_zone)
    before = ways[0][1].before if ways else {}
    return {
        "zone": model.time_zone,
        "day": f"{local[0]:%A, %d %B %Y}" if len(local) else "",
        "times": [int(moment.timestamp()) for moment in times],
        "clock": [f"{moment:%H:%M}" for moment in local],
        "place": map_of(model.place),
        "track": [stream.fixes.get(step) for step in range(stream.n_steps)],
        "secrets": [
            _secret(name, protection, before.get(name))
            for name, protection in zip(names_of(protections), protections, strict=True)
        ],
        "ways": [_way(way, observed) for way, observed in ways],
    }


def released_views(place: LocalMap, cells: Sequence[int], secret: Sequence[int]) -> dict[str, Any]:
    """Return what a page shows of released cells, for everybody: how often each was released."""
    found, counts = np.unique(np.asarray(cells, dtype=np.intp), return_counts=True)
    return {
        "place": map_of(place),
        "cells": found.tolist(),
        "counts": counts.tolist(),
        "secret": list(secret),
    }


def map_of(place: LocalMap) -> dict[str, Any]:
    """Return the corners of the cells of a map, and the land under it."""
    grid = place.grid
    return {
        "rows": grid.rows,
        "columns": grid.columns,
        "cell_km": grid.cell_size,
        "elsewhere": grid.elsewhere_cell,
        "lattice": np.round(place.lattice, 6).tolist(),
        "land": land_around(place.corners),
    }


def _secret(name: str, protection: Protect, before: float | None) -> dict[str, Any]:
    event, epsilon = protection.event, protection.epsilon
    parts = [] if isinstance(event, Withheld) else list(atoms(event))
    found: dict[str, Any] = {
        "name": escaped(name),
        "epsilon": epsilon,
        "cells": sorted({cell for part in parts for cell in part.cells}),
        "steps": sorted({part.step for part in parts}),
        "promise": promise(epsilon, sides=protection.sides),
    }
    if before is not None and 0 < before < math.inf:
        low = before * math.exp(-epsilon) if protection.sides == "both" else 0.0
        high = before * math.exp(epsilon)
        found |= {
            "before": before,
            "band": [low, high],
            "words": [as_odds(low, "down"), as_odds(before), as_odds(high, "up")],
        }
    return found


def _way(way: Way, observed: Observed) -> dict[str, Any]:
    sharing = observed.sharing
    errors = sharing.errors
    known = errors[np.isfinite(errors)]
    shown = [cell for cell in sharing.cells if cell is not None]
    return {
        **way._asdict(),
        "cells": list(sharing.cells),
        "exact": sharing.is_exact,
        "where": [_likely(row) for row in observed.whereabouts],
        "odds": {escaped(name): _finite(odds) for name, odds in observed.odds.items()},
        "words": {
            escaped(name): ["unknown" if math.isnan(each) else as_odds(each) for each in odds]
            for name, odds in observed.odds.items()
        },
        "errors": _finite(errors),
        "mean_error": float(known.mean()) if len(known) else None,
        "away": sum(cell == sharing.stream.model.place.grid.elsewhere_cell for cell in shown),
    }


def _likely(row: Array) -> tuple[list[int], list[float]]:
    """Return the cells that are likely enough to be shown, and how likely they are."""
    cells = np.flatnonzero(row >= LEAST_SHOWN)
    return cells.tolist(), [float(f"{share:.4g}") for share in row[cells]]


def _finite(values: Array) -> list[float | str | None]:
    """Return numbers as JSON has them; what is infinite is text, what is not defined nothing."""
    return [
        None if math.isnan(x) else "certain" if math.isinf(x) else float(x) for x in values.tolist()
    ]
