"""How far what was released is from the truth, beside answers that took no track at all (private).

Distances are from where the fix was, not from the centre of its cell, to the centre of what was
released. Elsewhere has no centre, so whoever is shown as away is counted instead. Fixes off the map
are counted for themselves, with the whole way to what was released on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from pyproj import Geod

from priste.checks import Array
from priste.mobility import Mobility
from priste.tracks.places import LocalMap

_EARTH = Geod(ellps="WGS84")


@dataclass(frozen=True, repr=False)
class Accuracy:
    """Mean distances in kilometres, over the releases of a track; NaN where there are none."""

    released: float
    """From a fix on the map to what was released there."""
    in_cell: float
    """From a fix on the map to the centre of its own cell: what the cells cost."""
    noise: float
    """From a fix on the map to what the noise alone would have given there, on average."""
    usual: float
    """From a fix on the map to where the model expects the person then, whatever was released."""
    constant: float
    """From a fix on the map to the best single cell for all of them, chosen afterwards."""
    blind: float
    """From a fix on the map to a cell drawn at random."""
    on_map: int
    """How many fixes lay on the map."""
    shown_away: int
    """How many of these were released as elsewhere."""
    off_map: int
    """How many fixes lay off the map."""
    known_away: int
    """How many of these were released as elsewhere."""
    beyond: float
    """From the other fixes off the map to what was released."""

    def __repr__(self) -> str:
        return f"<Accuracy: {self.in_words()} (private)>"

    def in_words(self) -> str:
        """Return the mean error, and what became of the fixes off the map."""
        parts = []
        if self.on_map > self.shown_away:
            parts.append(f"mean error {self.released:.2f} km")
        if self.shown_away:
            parts.append(f"{self.shown_away} of {self.on_map} fixes on the map shown as away")
        if self.off_map:
            fixes = "1 fix" if self.off_map == 1 else f"{self.off_map} fixes"
            parts.append(f"{fixes} off the map, {self._off_the_map()}")
        return "; ".join(parts)

    def _off_the_map(self) -> str:
        on_it = self.off_map - self.known_away
        away = f"{self.known_away} shown as away" if self.known_away else ""
        shown = f"{on_it} shown on it, on average {self.beyond:.1f} km away" if on_it else ""
        return ", ".join(part for part in (away, shown) if part)

    def rows(self) -> list[tuple[str, str]]:
        """Return the figures line by line, each after what it is."""
        rows = [
            ("mean distance from the fix to what was released", self.released),
            ("from the fix to the centre of its own cell", self.in_cell),
            ("the noise alone", self.noise),
            ("the usual place at that hour, by the model", self.usual),
            ("the best single answer, known afterwards", self.constant),
            ("a cell at random", self.blind),
        ]
        found = [(what, f"{value:.2f} km") for what, value in rows if np.isfinite(value)]
        if self.shown_away:
            found.append(("fixes on the map shown as away", f"{self.shown_away} of {self.on_map}"))
        if self.off_map:
            found.append(("fixes off the map", f"{self.off_map}: {self._off_the_map()}"))
        return found


def distances_to(place: LocalMap, fixes: Array, cells: ArrayLike) -> Array:
    """Return the kilometres from each fix (latitude, longitude) to a cell; NaN to elsewhere."""
    latitude, longitude = np.broadcast_arrays(*place.centres(cells), fixes[:, 0])[:2]
    found = np.full(len(fixes), np.nan)
    known = np.isfinite(latitude)
    ends = fixes[known, 1], fixes[known, 0], longitude[known], latitude[known]
    # lists, for some versions of pyproj take an array of one number for a number, and warn
    *_, metres = _EARTH.inv(*(end.tolist() for end in ends))
    found[known] = np.asarray(metres) / 1000
    return found


def accuracy_of(
    place: LocalMap,
    fixes: Array,
    steps: Sequence[int],
    true_cells: Sequence[int],
    released: Sequence[int],
    noise: Array,
    mobility: Mobility,
) -> Accuracy:
    """Return how far releases were from fixes, and what others would have been.

    `noise` is the emission matrix of the noise, `mobility` what the model expects from step 0 on.
    """
    squares, inside = place.grid.n_squares, place.covers(fixes[:, 0], fixes[:, 1])
    as_away = np.asarray(released) == place.grid.elsewhere_cell
    errors = distances_to(place, fixes, released)
    true, here = np.asarray(true_cells)[inside], fixes[inside]
    every = np.stack([distances_to(place, here, cell) for cell in range(squares)])
    given = np.empty((0, 0))
    if noise.shape[1] == place.grid.n_cells:
        given = noise[true, :squares] / noise[true, :squares].sum(axis=1, keepdims=True) * every.T
    between = place.grid.distances[:, :squares]
    usual = np.asarray(_usual(mobility, steps, between), dtype=np.intp)[inside]
    return Accuracy(
        released=_mean(errors[inside & ~as_away]),
        in_cell=_mean(distances_to(place, here, true)),
        noise=_mean(given.sum(axis=1)),
        usual=_mean(every[usual, range(len(here))]),
        constant=float(every.mean(axis=1).min()) if len(here) else float("nan"),
        blind=_mean(every),
        on_map=int(inside.sum()),
        shown_away=int((inside & as_away).sum()),
        off_map=int((~inside).sum()),
        known_away=int((~inside & as_away).sum()),
        beyond=_mean(errors[~inside & ~as_away]),
    )


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else float("nan")


def _usual(mobility: Mobility, steps: Sequence[int], distances: Array) -> list[int]:
    """Return the cell of the map with the least expected distance at each step, before releases."""
    belief, wanted, best = mobility.states(mobility.initial), set(steps), {}
    for step in range(max(steps) + 1):
        if step in wanted:
            best[step] = int(np.argmin(mobility.cells(belief) @ distances))
        belief = np.asarray(belief @ mobility.transition(step))
    return [best[step] for step in steps]
