"""Days at places where no learned day was, which a model cannot know.

What other observers learned of a person differs most from a model there: on people held out from
learning, days that were mostly at new places told such observers several times ε. Nothing of the
promise changes; but whoever relies on it should know, so it is said, in private.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from priste.checks import shown, whole
from priste.errors import ModelFileError

CELLS = "cells seen"
"""What the provenance of a model calls the cells where learned days were."""
_MANY = 1 / 3  # of the fixes of a day: at how many new places there is something to say


def cells_seen(runs: Iterable[Sequence[int]]) -> dict[str, list[int]]:
    """Return the cells of learned runs, as a provenance names them."""
    return {CELLS: sorted({cell for run in runs for cell in run})}


def known_cells(provenance: Mapping[str, Any], n_cells: int) -> frozenset[int] | None:
    """Return the cells where learned days were, checked; None if a provenance does not say."""
    cells = provenance.get(CELLS)
    if cells is None:
        return None
    if not isinstance(cells, list):
        raise ModelFileError(f"the cells that a model has seen are a list, got {shown(cells)}")
    seen = (whole(cell, "a cell that was seen", ModelFileError, least=0) for cell in cells)
    found = frozenset(seen)
    if found and max(found) >= n_cells:
        raise ModelFileError(f"the model has seen cell {max(found)}, but its map has {n_cells}")
    return found


def at_new_places(
    provenance: Mapping[str, Any], n_cells: int, cells: Iterable[int | None]
) -> list[str]:
    """Return what to say about a track of which much is at places that the model does not know."""
    known, there = known_cells(provenance, n_cells), [cell for cell in cells if cell is not None]
    if known is None:
        return []
    new = sum(cell not in known for cell in there)
    if new < _MANY * len(there) or not new:
        return []
    return [
        f"{new} of {len(there)} steps with a fix are in cells where no learned day was: the "
        f"promise holds for the model's habits, but whoever knows such days may learn more than ε, "
        f"and releases are further off; fit the model to newer days as well, or see what others "
        f"would learn (priste audit --against)"
    ]
