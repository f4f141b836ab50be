"""Transition matrices from observed sequences of cells.

States are histories of up to `order` cells. A history's row mixes what was seen from it with the
row of the shorter history (its oldest cell forgotten), so every row is a distribution and rare
histories lean on common ones.
"""

import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from priste.checks import Array, Matrix, listing, whole
from priste.errors import MobilityError, UnobservedRowsWarning

RINGS = (0.5, 1.5, 2.6, 4.0, 6.0, 10.0, 20.0, 60.0)
"""Where rings around a cell end, in cells: moves into the same ring are alike."""

Codes = NDArray[np.int64]
DENSE_ABOVE = 0.2
"""A matrix with a larger share of non-zeros is kept dense: BLAS is faster there."""


class Fitted(NamedTuple):
    """What `Mobility.fit` builds on: a matrix per phase over the states, and where they stand."""

    matrices: list[Matrix]
    initial: Array
    cell_of_state: NDArray[np.intp]
    unobserved: tuple[int, ...]


class _Moves(NamedTuple):
    """Observed moves from histories of one length: history and next cell as codes, the phase."""

    history: Codes
    target: Codes
    phase: Codes


def fit(
    sequences: Sequence[Any],
    n_cells: int,
    *,
    order: int,
    smoothing: float,
    base: Matrix | None,
    period: int | None,
    starts: Sequence[int] | None,
) -> Fitted:
    """Count moves per history and phase and smooth them, as `Mobility.fit` describes."""
    paths, offsets = _checked(sequences, n_cells, order, smoothing, starts)
    belief = _uniform(n_cells) if base is None else _checked_base(base, n_cells)
    moves = [_moves(paths, offsets, length, n_cells, period) for length in range(1, order + 1)]
    histories = [np.arange(n_cells, dtype=np.int64)]
    histories += [np.unique(longer.history) for longer in moves[1:]]
    seen = np.zeros(n_cells, dtype=bool)
    seen[moves[0].history] = True
    unobserved = tuple(np.flatnonzero(~seen).tolist())
    rows_seen = len(np.unique(moves[0].history * (period or 1) + moves[0].phase))
    if unobserved or rows_seen < n_cells * (period or 1):
        _warn(unobserved, n_cells, n_cells * (period or 1) - rows_seen, period)

    overall = _rows_by_length(moves, histories, belief, n_cells, smoothing)
    phases = [overall]
    if period is not None:
        phases = []
        for phase in range(period):
            now = [_Moves(*(part[m.phase == phase] for part in m)) for m in moves]
            counted = [_counts(m, h, n_cells) for m, h in zip(now, histories, strict=True)]
            phases.append(
                [_smoothed(c, o, smoothing) for c, o in zip(counted, overall, strict=True)]
            )
    matrices = [_between_states(rows, histories, n_cells) for rows in phases]
    return Fitted(
        matrices=[m.toarray() if m.nnz > DENSE_ABOVE * np.prod(m.shape) else m for m in matrices],
        initial=_initial(paths, offsets, n_cells, smoothing, period),
        cell_of_state=np.concatenate([h % n_cells for h in histories]).astype(np.intp),
        unobserved=unobserved,
    )


def by_distance(
    distances: Array, sequences: Sequence[Any], *, returning: float = 0.0, elsewhere: bool = False
) -> Array:
    """Return how people move if only the distance counts; it is given in cells.

    The share `returning` of all moves leads to where people were seen, as often as they were seen
    there. If the last cell is `elsewhere`, people leave the map equally often wherever they are,
    and come back anywhere.
    """
    paths, _ = _checked(sequences, len(distances), 1, 1.0, None)
    ring = np.digitize(distances, RINGS)
    if elsewhere:
        ring[:-1, -1], ring[-1, :-1], ring[-1, -1] = len(RINGS) + np.arange(1, 4)
    moved = np.full(len(RINGS) + 4, 0.5)  # half a move to every ring, seen or not
    for path in paths:
        np.add.at(moved, ring[path[:-1], path[1:]], 1.0)
    rows = np.zeros(distances.shape)
    for k, weight in enumerate(moved / moved.sum()):
        there = ring == k
        rows += weight * there / np.maximum(there.sum(axis=1, keepdims=True), 1)
    rows /= rows.sum(axis=1, keepdims=True)
    usual = np.bincount(np.concatenate(paths), minlength=len(distances))
    return np.asarray((1 - returning) * rows + returning * usual / usual.sum())


def _warn(unobserved: Sequence[int], n_cells: int, rows: int, period: int | None) -> None:
    reports = []
    if unobserved:
        reports.append(
            f"{len(unobserved)} of {n_cells} cells were never left in the data "
            f"(cells {listing(unobserved)}); their rows come from smoothing alone"
        )
    if period is not None:
        reports.append(
            f"{rows} of {n_cells * period} rows, one per cell and phase, were never observed; "
            f"where the cell was left in another phase they are those of all phases together"
        )
    warnings.warn("; ".join(reports), UnobservedRowsWarning, stacklevel=4)


def checked_smoothing(smoothing: float) -> float:
    """Return a weight of what was not observed, or refuse it."""
    if not isinstance(smoothing, int | float | np.number) or not 0 <= smoothing < np.inf:
        raise MobilityError(f"smoothing must be a finite number of at least 0, got {smoothing!r}")
    return float(smoothing)


def _checked(
    sequences: Sequence[Any],
    n_cells: int,
    order: int,
    smoothing: float,
    starts: Sequence[int] | None,
) -> tuple[list[Codes], list[int]]:
    checked_smoothing(smoothing)
    if (order + 1) * np.log2(n_cells) > 62:
        raise MobilityError(
            f"order {order} on {n_cells} cells has more histories than can be numbered; "
            f"use a lower order"
        )
    if not sequences:
        raise MobilityError("there are no sequences to fit; give at least one")
    paths = []
    for i, sequence in enumerate(sequences):
        try:
            path = np.asarray(sequence)
        except ValueError:
            path = np.empty((0, 0))
        if path.ndim != 1 or not len(path) or not np.issubdtype(path.dtype, np.integer):
            raise MobilityError(
                f"sequence {i} must be a non-empty list of cells (whole numbers), "
                f"got shape {path.shape} of {path.dtype}"
            )
        off = np.flatnonzero((path < 0) | (path >= n_cells))
        if len(off):
            raise MobilityError(
                f"sequence {i} leaves the map at position(s) {listing(off.tolist())}; "
                f"the map has cells 0 to {n_cells - 1}"
            )
        paths.append(path.astype(np.int64))
    if starts is not None and not isinstance(starts, Iterable):
        raise MobilityError(f"starts must hold one step per sequence, got {starts!r}")
    offsets = [0] * len(paths) if starts is None else list(starts)
    if len(offsets) != len(paths):
        raise MobilityError(f"starts has {len(offsets)} entries for {len(paths)} sequences")
    return paths, [whole(s, f"starts[{i}]", MobilityError, least=0) for i, s in enumerate(offsets)]


def _checked_base(base: Matrix, n_cells: int) -> Matrix:
    if base.shape != (n_cells, n_cells):
        raise MobilityError(
            f"base must be a first-order mobility over the same {n_cells} cells, "
            f"its matrix has shape {base.shape}"
        )
    return sparse.csr_array(base)


def _uniform(n_cells: int) -> Matrix:
    return sparse.csr_array(np.full((n_cells, n_cells), 1 / n_cells))


def _moves(
    paths: list[Codes], offsets: list[int], length: int, n_cells: int, period: int | None
) -> _Moves:
    """Return every move made from a history of `length` cells; a history is a base-n number."""
    powers = n_cells ** np.arange(length - 1, -1, -1, dtype=np.int64)
    history, target, phase = [], [], []
    for path, offset in zip(paths, offsets, strict=True):
        if len(path) <= length:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(path[:-1], length)
        history.append(windows @ powers)
        target.append(path[length:])
        steps = offset + np.arange(length - 1, len(path) - 1, dtype=np.int64)
        phase.append(steps % (period or 1))
    empty = np.empty(0, dtype=np.int64)
    return _Moves(*(np.concatenate([empty, *part]) for part in (history, target, phase)))


def _counts(moves: _Moves, histories: Codes, n_cells: int) -> Matrix:
    """Return how often each next cell followed each history."""
    rows = np.searchsorted(histories, moves.history)
    shape = (len(histories), n_cells)
    return sparse.csr_array((np.ones(len(rows)), (rows, moves.target)), shape=shape)


def _smoothed(counts: Matrix, belief: Matrix, smoothing: float) -> Matrix:
    """Return (counts + smoothing · belief) as distributions; an empty row is its belief."""
    totals = np.asarray(counts.sum(axis=1)).ravel()
    weights = np.where((totals == 0) & (smoothing == 0), 1.0, smoothing)
    mixed = sparse.csr_array(counts + sparse.diags_array(weights) @ belief)
    mixed.eliminate_zeros()
    mixed.data /= np.repeat(totals + weights, np.diff(mixed.indptr))
    return mixed


def _rows_by_length(
    moves: list[_Moves], histories: list[Codes], belief: Matrix, n_cells: int, smoothing: float
) -> list[Matrix]:
    """Return, for each length of history, the distributions of the next cell."""
    rows = [_smoothed(_counts(moves[0], histories[0], n_cells), belief, smoothing)]
    for length, (shorter, longer) in enumerate(pairwise(histories), start=1):
        forgotten = np.searchsorted(shorter, longer % n_cells**length)
        counts = _counts(moves[length], longer, n_cells)
        rows.append(_smoothed(counts, rows[-1][forgotten], smoothing))
    return rows


def _between_states(rows: list[Matrix], histories: list[Codes], n_cells: int) -> Matrix:
    """Turn next cells into next states: the longest kept history the move ends in."""
    first = np.cumsum([0] + [len(h) for h in histories])
    order = len(histories)
    blocks = []
    for length, (block, codes) in enumerate(zip(rows, histories, strict=True), start=1):
        entries = block.tocoo()
        row, cell = entries.coords
        state = cell.astype(np.int64)
        for kept in range(2, min(length + 1, order) + 1):
            code = (codes[row] % n_cells ** (kept - 1)) * n_cells + cell
            known = histories[kept - 1]
            place = np.minimum(np.searchsorted(known, code), len(known) - 1)
            if len(known):
                state = np.where(known[place] == code, first[kept - 1] + place, state)
        shape = (len(codes), first[-1])
        blocks.append(sparse.csr_array((entries.data, (row, state)), shape=shape))
    return sparse.csr_array(sparse.vstack(blocks))


def _initial(
    paths: list[Codes], offsets: list[int], n_cells: int, smoothing: float, period: int | None
) -> Array:
    """Return how often each cell was occupied (in phase 0, if there are phases)."""
    visits = np.zeros(n_cells)
    for path, offset in zip(paths, offsets, strict=True):
        steps = offset + np.arange(len(path))
        np.add.at(visits, path[steps % (period or 1) == 0], 1.0)
    weight = smoothing if smoothing > 0 or visits.any() else 1.0
    belief: Array = (visits + weight / n_cells) / (visits.sum() + weight)
    return np.asarray(belief / belief.sum())
