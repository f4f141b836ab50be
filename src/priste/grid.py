"""The map: square cells in rows and columns, numbered row by row from 0, and one for elsewhere."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.checks import Array, frozen, positive, whole
from priste.errors import GridError

Region = tuple[int, ...]
"""Cells, sorted."""


@dataclass(frozen=True)
class Grid:
    """A map of `rows` × `columns` square cells with sides of `cell_size`.

    Cell ``row * columns + column`` covers x in ``[column, column + 1] * cell_size`` and y in
    ``[row, row + 1] * cell_size``. All distances are in the unit of `cell_size`.

    With `elsewhere` there is one more cell, the last: everything off the map. It has no centre. It
    counts as lying half the map's diagonal beyond the border, wherever one leaves: far enough for
    `distances` to be a metric.

    A region drawn as a shape holds the cells whose centre lies in the shape, or with
    ``touching=True`` every cell the shape overlaps.
    """

    rows: int
    columns: int
    cell_size: float = 1.0
    elsewhere: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", whole(self.rows, "rows", GridError, least=1))
        object.__setattr__(self, "columns", whole(self.columns, "columns", GridError, least=1))
        object.__setattr__(self, "cell_size", positive(self.cell_size, "cell_size", GridError))
        if not isinstance(self.elsewhere, bool | np.bool_):
            raise GridError(f"elsewhere is True or False, got {self.elsewhere!r}")
        object.__setattr__(self, "elsewhere", bool(self.elsewhere))

    @property
    def n_cells(self) -> int:
        """The number of cells, elsewhere among them."""
        return self.n_squares + self.elsewhere

    @property
    def n_squares(self) -> int:
        """The number of cells on the map."""
        return self.rows * self.columns

    @property
    def elsewhere_cell(self) -> int | None:
        """The cell for everything off the map, if there is one."""
        return self.n_squares if self.elsewhere else None

    def on_map(self, cells: Iterable[int]) -> list[int]:
        """Return those of the cells that are on the map."""
        return [cell for cell in cells if cell != self.elsewhere_cell]

    @cached_property
    def centres(self) -> Array:
        """The centre (x, y) of every cell on the map, shape (n_squares, 2)."""
        row, column = np.divmod(np.arange(self.n_squares), self.columns)
        return frozen((np.column_stack([column, row]) + 0.5) * self.cell_size)

    @cached_property
    def distances(self) -> Array:
        """The distance between the centres of every two cells, shape (n_cells, n_cells).

        That to elsewhere is the distance to the border and half the map's diagonal.
        """
        x, y = self.centres.T
        between = np.zeros((self.n_cells, self.n_cells))
        for cell, row in enumerate(between[: self.n_squares, : self.n_squares]):
            np.hypot(x[cell] - x, y[cell] - y, out=row)  # one by one: it can be large
        if self.elsewhere:
            width, height = self.columns * self.cell_size, self.rows * self.cell_size
            to_border = np.minimum(np.minimum(x, width - x), np.minimum(y, height - y))
            between[-1, :-1] = between[:-1, -1] = to_border + math.hypot(width, height) / 2
        between.setflags(write=False)
        return between

    def cell(self, row: int, column: int) -> int:
        """Return the number of the cell at `row` and `column`."""
        row = whole(row, "row", GridError, least=0)
        column = whole(column, "column", GridError, least=0)
        if row >= self.rows or column >= self.columns:
            raise GridError(
                f"row {row}, column {column} is off the map of {self.rows} rows "
                f"and {self.columns} columns (both count from 0)"
            )
        return row * self.columns + column

    def cell_at(
        self, x: ArrayLike, y: ArrayLike, *, outside: Literal["refuse", "clamp"] = "refuse"
    ) -> NDArray[np.intp]:
        """Return the cells of points.

        A point off the map is elsewhere; on a map without that cell it is refused, or moved to the
        border.
        """
        points = np.broadcast_arrays(_coordinates(x), _coordinates(y))
        size = np.array([self.columns, self.rows])
        places = np.stack(points, axis=-1) / self.cell_size
        if not np.isfinite(places).all():
            raise GridError("a point has a coordinate that is not a finite number")
        off = ((places < 0) | (places > size)).any(axis=-1)
        if off.any() and outside != "clamp" and not self.elsewhere:
            raise GridError(
                f"{int(off.sum())} of {off.size} points lie off the map, which covers "
                f"x from 0 to {self.columns * self.cell_size} and "
                f"y from 0 to {self.rows * self.cell_size}; use outside='clamp' to move them "
                f"to the nearest border cell"
            )
        column, row = np.moveaxis(np.clip(np.floor(places), 0, size - 1).astype(np.intp), -1, 0)
        cells = np.asarray(row * self.columns + column)
        return np.where(off, self.n_squares, cells) if self.elsewhere else cells

    def box(
        self, x_min: float, y_min: float, x_max: float, y_max: float, *, touching: bool = False
    ) -> Region:
        """Return the cells in an upright rectangle."""
        x_min, y_min, x_max, y_max = _coordinates([x_min, y_min, x_max, y_max]).tolist()
        if not (x_min < x_max and y_min < y_max):
            raise GridError(
                f"a box needs x_min < x_max and y_min < y_max, "
                f"got x {x_min} to {x_max} and y {y_min} to {y_max}"
            )
        x, y = self.centres.T
        if touching:
            half = self.cell_size / 2
            inside = (x + half > x_min) & (x - half < x_max)
            inside &= (y + half > y_min) & (y - half < y_max)
        else:
            inside = (x >= x_min) & (x <= x_max) & (y >= y_min) & (y <= y_max)
        return _region(inside, "box", touching)

    def disc(self, x: float, y: float, radius: float, *, touching: bool = False) -> Region:
        """Return the cells in a disc around (x, y)."""
        radius = positive(radius, "radius", GridError)
        away = np.abs(self.centres - [x, y])
        if touching:
            away = np.maximum(away - self.cell_size / 2, 0)
            return _region(np.hypot(*away.T) < radius, "disc", touching)
        return _region(np.hypot(*away.T) <= radius, "disc", touching)

    def polygon(self, corners: Sequence[Sequence[float]], *, touching: bool = False) -> Region:
        """Return the cells in a polygon given by its corners (x, y) in order (even-odd rule)."""
        ring = _coordinates(corners)
        if ring.ndim != 2 or ring.shape[1] != 2 or len(ring) < 3 or not np.isfinite(ring).all():
            raise GridError(
                f"a polygon needs at least 3 corners (x, y) of finite numbers, "
                f"got an array of shape {ring.shape}"
            )
        inside = np.zeros(self.n_squares, dtype=bool)
        for start, end in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            inside ^= _ray_crosses(self.centres, start, end)
        if touching:
            low, high = self.centres - self.cell_size / 2, self.centres + self.cell_size / 2
            for start, end in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                inside |= _segment_enters(low, high, start, end)
        return _region(inside, "polygon", touching)


def _coordinates(values: object) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise GridError(f"coordinates must be numbers, got {type(values).__name__}") from None


def _region(inside: NDArray[np.bool_], shape: str, touching: bool) -> Region:
    if not inside.any():
        remedy = (
            "it lies off the map"
            if touching
            else "it may be smaller than a cell (touching=True takes every cell it overlaps) "
            "or lie off the map"
        )
        raise GridError(f"the {shape} holds the centre of no cell: {remedy}")
    return tuple(np.flatnonzero(inside).tolist())


def _ray_crosses(points: Array, start: Array, end: Array) -> NDArray[np.bool_]:
    """Tell which horizontal rays going right from the points cross the segment."""
    x, y = points.T
    straddles = (start[1] > y) != (end[1] > y)
    rise = end[1] - start[1]
    crossing = start[0] + (end[0] - start[0]) * (y - start[1]) / (rise if rise else 1.0)
    return np.asarray(straddles & (x < crossing))


def _segment_enters(low: Array, high: Array, start: Array, end: Array) -> NDArray[np.bool_]:
    """Tell which open boxes [low, high] the segment passes through, by clipping it to each."""
    enter, leave = np.zeros(len(low)), np.ones(len(low))
    for axis in (0, 1):
        run = end[axis] - start[axis]
        if run == 0:
            between = (low[:, axis] < start[axis]) & (start[axis] < high[:, axis])
            leave = np.where(between, leave, -1.0)
        else:
            ends = np.stack([low[:, axis] - start[axis], high[:, axis] - start[axis]])
            with np.errstate(over="ignore"):  # a box far beyond a very short segment
                cuts = ends / run
            enter, leave = np.maximum(enter, cuts.min(axis=0)), np.minimum(leave, cuts.max(axis=0))
    return np.asarray(enter < leave)
