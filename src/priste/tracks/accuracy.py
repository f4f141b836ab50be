"""How far what was released is from the truth, beside answers that took no track at all (private).

Distances are from where the fix was, not from the centre of its cell, to the centre of what was
released. A fix off the map counts with the whole way to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyproj import Geod

from priste.checks import Array
from priste.mobility import Mobility
from priste.tracks.places import LocalMap

_EARTH = Geod(ellps="WGS84")


@dataclass(frozen=True, repr=False)
class Accuracy:
    """Mean distances in kilometres, over the releases of a track."""

    released: float
    """From the fix to what was released."""
    in_cell: float
    """From the fix to the centre of its own cell, for fixes on the map: what the cells cost."""
    off_map: int
    """How many fixes lay off the map, and counted as on its border."""
    beyond: float
    """How far these were from the centres of the border cells."""
    noise: float
    """From the fix's cell to what the noise alone would have given, on average."""
    usual: float
    """From the fix to where the model expects the person at that hour, whatever was released."""
    constant: float
    """From the fix to the best single cell for all of them, chosen afterwards."""
    blind: float
    """From the fix to a cell drawn at random."""

    def __repr__(self) -> str:
        return f"<Accuracy: mean error {self.released:.2f} km (private)>"

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
        if self.off_map:
            how = f"{self.off_map}, on average {self.beyond:.2f} km from the border's cells"
            found.append(("fixes off the map, counted as on its border", how))
        return found


def distances_to(place: LocalMap, fixes: Array, cells: NDArray[np.intp] | Sequence[int]) -> Array:
    """Return the kilometres from each fix (latitude, longitude) to the centre of a cell."""
    latitude, longitude = place.centres(cells)
    *_, metres = _EARTH.inv(fixes[:, 1], fixes[:, 0], longitude, latitude)
    return np.asarray(metres) / 1000


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
    true = np.asarray(true_cells)
    inside = place.cell_at(fixes[:, 0], fixes[:, 1], outside="drop") >= 0
    own = distances_to(place, fixes, true)
    every = np.stack(
        [distances_to(place, fixes, [cell] * len(fixes)) for cell in range(place.grid.n_cells)]
    )
    given = noise[true] if noise.shape[1] == place.grid.n_cells else None
    return Accuracy(
        released=float(distances_to(place, fixes, released).mean()),
        in_cell=float(own[inside].mean()) if inside.any() else float("nan"),
        off_map=int((~inside).sum()),
        beyond=float(own[~inside].mean()) if not inside.all() else 0.0,
        noise=float("nan") if given is None else float((given * every.T).sum(axis=1).mean()),
        usual=float(every[_usual(mobility, steps, place.grid.distances), range(len(fixes))].mean()),
        constant=float(every.mean(axis=1).min()),
        blind=float(every.mean()),
    )


def _usual(mobility: Mobility, steps: Sequence[int], distances: Array) -> list[int]:
    """Return the cell with the least expected distance at each step, before any release."""
    belief, wanted, best = mobility.states(mobility.initial), set(steps), {}
    for step in range(max(steps) + 1):
        if step in wanted:
            best[step] = int(np.argmin(mobility.cells(belief) @ distances))
        belief = np.asarray(belief @ mobility.transition(step))
    return [best[step] for step in steps]
