import contextlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from priste import Grid, GridError


def test_cells_are_numbered_row_by_row_from_zero() -> None:
    grid = Grid(rows=2, columns=3, cell_size=2.0)
    assert grid.n_cells == 6
    assert grid.cell(row=1, column=0) == 3
    np.testing.assert_array_equal(grid.centres[3], [1.0, 3.0])
    np.testing.assert_array_equal(grid.centres[2], [5.0, 1.0])


def test_distances_are_between_centres_in_the_unit_of_the_cell_size() -> None:
    grid = Grid(3, 4, cell_size=0.5)
    assert grid.distances[0, 3] == 1.5
    assert grid.distances[0, 11] == pytest.approx(0.5 * np.hypot(3, 2), rel=1e-15)
    np.testing.assert_array_equal(grid.distances, grid.distances.T)


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.1, 10))
def test_the_centre_of_a_cell_lies_in_it(rows: int, columns: int, size: float) -> None:
    grid = Grid(rows, columns, size)
    np.testing.assert_array_equal(grid.cell_at(*grid.centres.T), np.arange(grid.n_cells))


def test_points_off_the_map_are_refused_or_clamped() -> None:
    grid = Grid(2, 3)
    with pytest.raises(GridError, match="1 of 2 points lie off the map.*outside='clamp'"):
        grid.cell_at([0.5, 3.5], [0.5, 0.5])
    np.testing.assert_array_equal(grid.cell_at([3.5, -9], [0.5, 9], outside="clamp"), [2, 3])
    assert grid.cell_at(3.0, 2.0) == 5  # the far border belongs to the map


def test_what_is_off_the_map_is_in_the_last_cell_if_there_is_one() -> None:
    grid = Grid(2, 3, elsewhere=True)
    assert (grid.n_squares, grid.n_cells, grid.elsewhere_cell) == (6, 7, 6)
    assert grid.cell_at([3.5, -9, 3.0], [0.5, 9, 2.0]).tolist() == [6, 6, 5]
    assert grid.cell_at(3.5, 0.5, outside="clamp") == 6
    assert len(grid.centres) == 6
    assert grid.on_map([6, 2, 6]) == [2]
    assert 6 not in grid.polygon([(-9, -9), (9, -9), (9, 9), (-9, 9)], touching=True)
    assert Grid(2, 3).elsewhere_cell is None
    assert Grid(2, 3).on_map([5]) == [5]
    with pytest.raises(GridError, match="elsewhere is True or False, got 7"):
        Grid(2, 3, elsewhere=7)  # type: ignore[arg-type]


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.1, 10))
def test_elsewhere_lies_half_a_diagonal_beyond_the_border_and_distances_are_a_metric(
    rows: int, columns: int, size: float
) -> None:
    grid = Grid(rows, columns, size, elsewhere=True)
    between = grid.distances
    np.testing.assert_array_equal(between, between.T)
    np.testing.assert_array_equal(between[:-1, :-1], Grid(rows, columns, size).distances)
    for cell, (x, y) in enumerate(grid.centres):
        border = min(x, y, columns * size - x, rows * size - y)
        assert between[cell, -1] == pytest.approx(border + size * np.hypot(rows, columns) / 2)
    assert between[-1, -1] == 0
    around = between[:, :, None] + between[None]
    assert (between[:, None] <= around * (1 + 1e-12)).all()


def test_regions_by_box_disc_and_polygon() -> None:
    grid = Grid(4, 4)
    assert grid.box(0, 0, 2, 1) == (0, 1)
    assert grid.disc(1.5, 1.5, 1.0) == (1, 4, 5, 6, 9)
    assert grid.polygon([(0, 0), (4, 0), (0, 4)]) == (0, 1, 2, 4, 5, 8)


def test_touching_takes_every_cell_a_shape_overlaps() -> None:
    grid = Grid(4, 4)
    assert grid.box(0.9, 0.1, 1.1, 0.2, touching=True) == (0, 1)
    assert grid.box(0, 0, 2, 1, touching=True) == (0, 1)
    assert grid.disc(1.0, 1.0, 0.1, touching=True) == (0, 1, 4, 5)
    assert grid.polygon([(0.9, 0.9), (1.1, 0.9), (1.0, 0.95)], touching=True) == (0, 1)
    assert grid.polygon([(0, 0), (4, 0), (4, 4), (0, 4)], touching=True) == tuple(range(16))


@given(st.lists(st.tuples(st.floats(-1, 5), st.floats(-1, 5)), min_size=3, max_size=6))
@example([(0.0, 0.0), (0.0, 0.0), (0.0, 1e-308)])
def test_touching_regions_contain_the_plain_ones_and_every_corner(
    corners: list[tuple[float, float]],
) -> None:
    grid = Grid(4, 4)
    try:
        touched = set(grid.polygon(corners, touching=True))
    except GridError:
        return
    with contextlib.suppress(GridError):  # it holds the centre of no cell
        assert set(grid.polygon(corners)) <= touched
    for i, (start, end) in enumerate(zip(corners, corners[1:] + corners[:1], strict=True)):
        along = np.linspace(start, end, 50)
        inside = along[
            ((along > 0.01) & (along < 3.99) & (abs(along % 1 - 0.5) < 0.49)).all(axis=1)
        ]
        assert set(grid.cell_at(*inside.T).tolist()) <= touched, i


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Grid(0, 3), "rows must be a whole number of at least 1, got 0"),
        (lambda: Grid(3, 2.5), "columns must be a whole number of at least 1, got 2.5"),  # type: ignore[arg-type]
        (lambda: Grid(3, 3, 0.0), "cell_size must be a finite number above 0, got 0.0"),
        (lambda: Grid(2, 2).cell(2, 0), "row 2, column 0 is off the map of 2 rows"),
        (lambda: Grid(2, 2).cell(-1, 0), "row must be a whole number of at least 0, got -1"),
        (lambda: Grid(2, 2).box(1, 0, 1, 2), "x_min < x_max"),
        (lambda: Grid(2, 2).disc(1, 1, 0.1), "no cell.*touching=True"),
        (lambda: Grid(2, 2).disc(9, 9, 0.1, touching=True), "lies off the map"),
        (lambda: Grid(2, 2).disc(1, 1, -1), "radius must be a finite number above 0, got -1"),
        (lambda: Grid(2, 2).polygon([(0, 0), (1, 1)]), "at least 3 corners"),
        (lambda: Grid(2, 2).polygon("home"), "coordinates must be numbers, got str"),  # type: ignore[arg-type]
        (lambda: Grid(2, 2).box("a", 0, 1, 1), "coordinates must be numbers, got list"),  # type: ignore[arg-type]
        (lambda: Grid(2, 2).cell_at("x", 0), "coordinates must be numbers, got str"),
        (lambda: Grid(2, 2).cell_at(np.nan, 0), "not a finite number"),
    ],
)
def test_what_cannot_be_is_refused(build: object, message: str) -> None:
    with pytest.raises(GridError, match=message):
        build()  # type: ignore[operator]
