import json

import numpy as np
import pytest

from priste import PlanarLaplace, Protect, presence
from priste.report.picture import map_of, picture, released_views
from priste.report.ways import usual_ways
from priste.tracks import Stream
from priste.wording import as_odds
from tests.tracks import city

CLINIC = city.PLACE.circle(52.52, 13.40, 0.4)
SECRET = Protect(presence(CLINIC, range(9, 13)), 0.8, name="treatment")


def test_a_picture_is_json_also_where_an_observer_is_certain() -> None:
    stream = Stream.of(city.days(10, 11).drop(index=[4]), city.model())
    noise = PlanarLaplace(city.PLACE.grid, 1.0)
    ways = usual_ways(stream, [SECRET], noise)
    shown = json.loads(json.dumps(picture(stream, [SECRET], ways), allow_nan=False))
    assert shown["track"][4] is None
    assert shown["ways"][0]["cells"][4] is None
    (secret,) = shown["secrets"]
    low, high = secret["band"]
    assert secret["words"] == [
        as_odds(low, "down"),
        as_odds(secret["before"]),
        as_odds(high, "up"),
    ]
    assert high / low == pytest.approx(np.exp(1.6))
    assert secret["steps"] == [9, 10, 11, 12]


def test_the_corners_of_cells_enclose_their_centres() -> None:
    shown = map_of(city.PLACE)
    lattice, grid = np.array(shown["lattice"]), city.PLACE.grid
    assert lattice.shape == (grid.rows + 1, grid.columns + 1, 2)
    for cell in range(grid.n_squares):
        row, column = divmod(cell, grid.columns)
        corners = lattice[row : row + 2, column : column + 2].reshape(4, 2)
        np.testing.assert_allclose(
            corners.mean(axis=0), np.array(city.PLACE.centres(cell)), rtol=0, atol=1e-5
        )
    assert shown["elsewhere"] == city.AWAY


def test_released_cells_are_counted() -> None:
    shown = released_views(city.PLACE, [3, 3, 7, 25], [12])
    assert (shown["cells"], shown["counts"], shown["secret"]) == ([3, 7, 25], [2, 1, 1], [12])
