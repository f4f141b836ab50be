from shapely.geometry import Point, shape

from priste.report.land import land_around
from priste.tracks.usual_area import Rectangle


def test_land_is_where_land_is() -> None:
    lisbon = shape(land_around(Rectangle(38.6, -9.4, 38.9, -9.0)))
    assert lisbon.contains(Point(-9.1, 38.95))
    assert not lisbon.contains(Point(-9.9, 38.7))  # the Atlantic


def test_only_what_is_near_is_told() -> None:
    lisbon = shape(land_around(Rectangle(38.6, -9.4, 38.9, -9.0)))
    west, south, east, north = lisbon.bounds
    assert -12 < west < east < -6
    assert 36 < south < north < 42


def test_far_from_land_there_is_none() -> None:
    assert land_around(Rectangle(0.0, -150.0, 0.1, -149.9))["coordinates"] == []


def test_the_whole_world_has_every_continent() -> None:
    world = shape(land_around())
    for city in ((13.4, 52.5), (-74.2, 41.5), (139.5, 36.0), (36.8, -1.3), (151.0, -33.6)):
        assert world.buffer(0.2).contains(Point(city))
