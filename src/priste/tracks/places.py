"""A grid laid over a real place: kilometres on a local projection, never degrees."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pyproj import Transformer

from priste.checks import Array, shown, whole
from priste.errors import GridError, TrackError
from priste.grid import Grid, Region
from priste.storage.limits import MAX_CELLS, MAX_CORNERS, MAX_EXTENT_KM, at_most, refusing
from priste.tracks.usual_area import Rectangle, usual_area

Outside = Literal["refuse", "clamp", "drop"]
COMFORTABLE_KM = 2.0
"""Cells of this size are fine enough for a map to take in more of a person's time."""
OFF_THE_MAP = -1
"""The cell of a point off a map without a cell for elsewhere, where such points are dropped."""


@dataclass(frozen=True, repr=False)
class LocalMap:
    """A `Grid` whose centre lies at `latitude`, `longitude` and whose cell size is in kilometres.

    Points are projected azimuthal-equidistantly around the centre, so distances on a map of a
    city are true to better than a part in ten thousand. Row 0 is the southernmost, column 0 the
    westernmost. Whatever is off the map is in the grid's cell for elsewhere, if it has one.
    """

    grid: Grid
    latitude: float
    longitude: float

    def __post_init__(self) -> None:
        centre = degrees(self.latitude), degrees(self.longitude)
        if not (abs(centre[0]) <= 90 and abs(centre[1]) <= 180):
            raise TrackError(
                f"the centre of a map needs a latitude within 90 and a longitude within 180 "
                f"degrees, got {shown(self.latitude)}, {shown(self.longitude)}"
            )
        remedy = "use fewer cells (--cells), larger ones or a smaller map"
        at_most(
            self.grid.n_squares, MAX_CELLS, "the number of cells of the map", remedy, TrackError
        )
        side = max(self.grid.rows, self.grid.columns) * self.grid.cell_size
        at_most(side, MAX_EXTENT_KM, "the side of the map in km", "use a smaller map", TrackError)

    def __repr__(self) -> str:
        grid = self.grid
        return (
            f"<LocalMap: {grid.rows} × {grid.columns} cells of {grid.cell_size:.4g} km around "
            f"{self.latitude:.4f}, {self.longitude:.4f}{', and elsewhere' * grid.elsewhere}>"
        )

    @classmethod
    def around(
        cls,
        table: pd.DataFrame,
        *,
        cells: int = 400,
        coverage: float = 0.9,
        elsewhere: bool = True,
    ) -> "LocalMap":
        """Return a map of at most `cells` square cells over where the person's days are.

        It holds `coverage` of the time at least, and is as fine as `cells` allows: one trip far
        away does not make it coarse. See `usual_area`. All other places are one more cell, unless
        `elsewhere` is False.
        """
        if table.empty:
            raise TrackError("there are no fixes to lay a map around")
        if not 0 < coverage <= 1:
            raise TrackError(f"coverage must lie in (0, 1], got {coverage!r}")
        comfortable = COMFORTABLE_KM * math.sqrt(whole(cells, "cells", TrackError, least=1))
        area = usual_area(table, coverage, comfortable)
        return cls.within(*area, cells=cells, elsewhere=elsewhere)

    @classmethod
    def within(
        cls,
        south: float,
        west: float,
        north: float,
        east: float,
        *,
        cells: int = 400,
        elsewhere: bool = True,
    ) -> "LocalMap":
        """Return a map of at most `cells` square cells over a rectangle given in degrees.

        All other places are one more cell, unless `elsewhere` is False.
        """
        if not (-90 <= south <= north <= 90 and -180 <= west <= east <= 180):
            raise TrackError(
                f"a map needs south below north and west below east, in degrees; "
                f"got {south}, {west}, {north}, {east}"
            )
        centre = float(south + north) / 2, float(west + east) / 2
        edges = np.linspace(west, east, 9), np.linspace(south, north, 9)
        longitude, latitude = np.meshgrid(*edges)
        x, y = _projection(*centre).transform(longitude.ravel(), latitude.ravel())
        sides = ((x[-1] - x[0], x), (y[-1] - y[0], y))  # from corner to corner, or where it bulges
        width, height = (
            max(1.01 * max(side, 0.1), 2 * float(np.abs(along).max())) for side, along in sides
        )
        at_most(
            whole(cells, "cells", TrackError, least=1),
            MAX_CELLS,
            "the number of cells of the map",
            "use fewer (--cells)",
            TrackError,
        )
        if not (width <= MAX_EXTENT_KM and height <= MAX_EXTENT_KM):
            raise TrackError(
                f"the map would be larger than {MAX_EXTENT_KM:,.0f} km, which no projection "
                f"around its centre shows; choose closer bounds (--bounds)"
            )
        size = float(np.sqrt(width * height / cells))
        while math.ceil(height / size) * math.ceil(width / size) > cells:
            size *= 1.01  # whole cells cover more than the area: a little larger ones then
        grid = Grid(math.ceil(height / size), math.ceil(width / size), size, elsewhere)
        return cls(grid, *centre)

    @cached_property
    def _to_plane(self) -> Transformer:
        return _projection(self.latitude, self.longitude)

    def plane(self, latitude: ArrayLike, longitude: ArrayLike) -> tuple[Array, Array]:
        """Return kilometres east and north of the map's south-west corner."""
        x, y = _transformed(self._to_plane, longitude, latitude)
        corner = self._corner
        return np.asarray(x + corner[0]), np.asarray(y + corner[1])

    @property
    def _corner(self) -> tuple[float, float]:
        """The centre of the map as seen from its south-west corner."""
        size = self.grid.cell_size
        return self.grid.columns * size / 2, self.grid.rows * size / 2

    def cell_at(
        self, latitude: ArrayLike, longitude: ArrayLike, *, outside: Outside = "refuse"
    ) -> NDArray[np.intp]:
        """Return the cells of points.

        Those off the map are elsewhere; on a map without that cell they are refused, clamped to the
        border, or `OFF_THE_MAP` (``"drop"``).
        """
        x, y = self.plane(latitude, longitude)
        if outside != "drop" or self.grid.elsewhere:
            return self.grid.cell_at(x, y, outside="refuse" if outside == "drop" else outside)
        return np.where(self._holds(x, y), self.grid.cell_at(x, y, outside="clamp"), OFF_THE_MAP)

    def covers(self, latitude: ArrayLike, longitude: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points are on the map."""
        return self._holds(*self.plane(latitude, longitude))

    def _holds(self, x: Array, y: Array) -> NDArray[np.bool_]:
        width, height = (2 * half for half in self._corner)
        return np.asarray((x >= 0) & (x <= width) & (y >= 0) & (y <= height))

    def centres(self, cells: ArrayLike) -> tuple[Array, Array]:
        """Return the latitude and longitude of the centres of cells, NaN for elsewhere."""
        latitude, longitude = self._centres[:, np.asarray(cells, dtype=np.intp)]
        return latitude, longitude

    @cached_property
    def _centres(self) -> Array:
        found = np.full((2, self.grid.n_cells), np.nan)
        found[:, : self.grid.n_squares] = self._degrees(*self.grid.centres.T)
        return found

    @property
    def corners(self) -> Rectangle:
        """The centres of the cells in the south-west and in the north-east, in degrees."""
        (south, north), (west, east) = self.centres([0, self.grid.n_squares - 1])
        return Rectangle(float(south), float(west), float(north), float(east))

    @property
    def lattice(self) -> Array:
        """Latitude and longitude of the corners of the cells, shape (rows + 1, columns + 1, 2)."""
        rows, columns = self.grid.rows + 1, self.grid.columns + 1
        along, up = np.arange(columns, dtype=float), np.arange(rows, dtype=float)
        x, y = (each.ravel() * self.grid.cell_size for each in np.meshgrid(along, up))
        return np.stack(self._degrees(x, y), axis=-1).reshape(rows, columns, 2)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the latitude and longitude of a point, in km from the south-west corner."""
        latitude, longitude = self._degrees(np.array([x]), np.array([y]))
        return float(latitude[0]), float(longitude[0])

    def _degrees(self, x: Array, y: Array) -> tuple[Array, Array]:
        corner = self._corner
        longitude, latitude = _transformed(
            self._to_plane, x - corner[0], y - corner[1], direction="INVERSE"
        )
        return latitude, longitude

    def circle(self, latitude: float, longitude: float, radius: float) -> Region:
        """Return every cell that a circle of `radius` kilometres overlaps."""
        if not abs(latitude) <= 90:
            raise TrackError(
                f"latitude {latitude:g} lies beyond 90 degrees; has it changed places with the "
                f"longitude?"
            )
        x, y = self.plane(latitude, longitude)
        with self._saying_where():
            return self.grid.disc(float(x), float(y), radius, touching=True)

    def polygon(self, corners: Sequence[Sequence[float]]) -> Region:
        """Return every cell that a polygon of (longitude, latitude) corners overlaps."""
        with refusing("a polygon is a list of (longitude, latitude) corners", TrackError):
            ring = np.asarray(corners, dtype=np.float64)
        if ring.ndim != 2 or ring.shape[1] < 2:
            raise TrackError("a polygon is a list of (longitude, latitude) corners")
        at_most(len(ring), MAX_CORNERS, "the corners of a polygon", "simplify it", TrackError)
        x, y = self.plane(ring[:, 1], ring[:, 0])
        with self._saying_where():
            return self.grid.polygon(np.column_stack([x, y]).tolist(), touching=True)

    @contextmanager
    def _saying_where(self) -> Iterator[None]:
        """Add to an error about a shape where the map is."""
        try:
            yield
        except GridError as error:
            south, west, north, east = self.corners
            raise TrackError(
                f"{error}, whose cells lie between latitude {south:.3f} and {north:.3f}, longitude "
                f"{west:.3f} and {east:.3f}; fit a model with bounds that include it "
                f"(--bounds south,west,north,east)"
            ) from error


def degrees(value: object) -> float:
    """Return an angle as a float, NaN for what is none."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= 360 else math.nan  # type: ignore


def _projection(latitude: float, longitude: float) -> Transformer:
    centre = f"+lat_0={float(latitude)!r} +lon_0={float(longitude)!r}"
    local = f"+proj=aeqd {centre} +datum=WGS84 +units=km"
    return Transformer.from_crs("EPSG:4326", local, always_xy=True)


def _transformed(
    transformer: Transformer, x: ArrayLike, y: ArrayLike, direction: str = "FORWARD"
) -> tuple[Array, Array]:
    east, north = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if east.size != 1:
        one, other = transformer.transform(east, north, direction=direction)
        return np.asarray(one), np.asarray(other)
    # pyproj takes an array of one for a number, which numpy up to 2.3 warns about
    point = transformer.transform(east.item(), north.item(), direction=direction)
    return np.full(east.shape, point[0]), np.full(north.shape, point[1])
