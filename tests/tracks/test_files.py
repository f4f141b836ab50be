from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priste.errors import TrackError
from priste.tracks import read, read_geolife, write
from tests.tracks.tables import random_table, shared_data


@pytest.mark.parametrize("ending", ["csv", "gpx", "geojson", "parquet", "geoparquet"])
def test_a_round_trip_gives_back_every_fix(tmp_path: Path, ending: str) -> None:
    table = random_table(200, seed=1)
    before = table.copy(deep=True)
    write(table, tmp_path / f"day.{ending}")
    pd.testing.assert_frame_equal(read(tmp_path / f"day.{ending}"), table, check_exact=True)
    pd.testing.assert_frame_equal(table, before)
    assert [path.name for path in tmp_path.iterdir()] == [f"day.{ending}"]


def test_a_folder_with_odd_files_is_read_file_by_file(tmp_path: Path) -> None:
    table = random_table(20, seed=1).iloc[:10].drop(columns="elevation")
    table = table.assign(time=table["time"].dt.floor("s"), track="a")
    write(table, tmp_path / "a.plt")
    text = (tmp_path / "a.plt").read_text()
    (tmp_path / "b.plt").write_text(text.rstrip() + "\n\n")  # a line too many
    (tmp_path / "c.plt").write_text("\n".join(text.splitlines()[:6]))  # no fixes
    both = read_geolife(tmp_path)
    assert both["track"].tolist() == ["a"] * 10 + ["b"] * 10
    np.testing.assert_array_equal(both["latitude"][10:], table["latitude"])
    (tmp_path / "d.plt").write_text(text + "1,2,3,4,5,6,7,8,9\n")
    with pytest.raises(TrackError, match="d.plt is not a PLT file"):
        read_geolife(tmp_path)


def test_a_round_trip_through_plt(tmp_path: Path) -> None:
    table = random_table(50, seed=2)
    table = table[table["track"] == "0"].drop(columns="elevation").reset_index(drop=True)
    table = table.assign(time=table["time"].dt.floor("s"), track="day", altitude=492.0)
    table.loc[3, "altitude"] = np.nan
    write(table, tmp_path / "day.plt")
    pd.testing.assert_frame_equal(read(tmp_path / "day.plt"), table, check_exact=True)
    with pytest.raises(TrackError, match="one track"):
        write(random_table(9, seed=0), tmp_path / "several.plt")
    with pytest.raises(TrackError, match="to the second"):
        write(table.assign(time=table["time"] + pd.Timedelta(milliseconds=1)), tmp_path / "x.plt")
    assert [path.name for path in tmp_path.iterdir()] == ["day.plt"]


@pytest.mark.parametrize("ending", ["csv", "gpx", "geojson", "parquet", "geoparquet"])
def test_fixes_without_a_time_survive_a_round_trip(tmp_path: Path, ending: str) -> None:
    table = random_table(10, seed=3)
    table.loc[[0, 4], "time"] = pd.NaT
    write(table, tmp_path / f"day.{ending}")
    pd.testing.assert_frame_equal(read(tmp_path / f"day.{ending}"), table, check_exact=True)


def test_other_columns_travel_along(tmp_path: Path) -> None:
    table = random_table(20, seed=4).assign(speed=1.5, note='ü, "x"')
    for ending in ("csv", "geojson", "parquet", "geoparquet"):
        write(table, tmp_path / f"day.{ending}")
        found = read(tmp_path / f"day.{ending}")
        pd.testing.assert_frame_equal(found, table, check_exact=True, check_dtype=False)


def test_geoparquet_in_another_projection_is_brought_back_to_degrees(tmp_path: Path) -> None:
    import geopandas as gpd

    table = random_table(20, seed=5)
    points = gpd.points_from_xy(table["longitude"], table["latitude"], crs="EPSG:4326")
    frame = gpd.GeoDataFrame(table[["track", "time"]], geometry=points).to_crs("EPSG:3857")
    frame.to_parquet(tmp_path / "day.parquet")
    found = read(tmp_path / "day.parquet")
    np.testing.assert_allclose(found["latitude"], table["latitude"], atol=1e-9)


def test_lines_with_times_are_read_from_geojson(tmp_path: Path) -> None:
    (tmp_path / "line.geojson").write_text(
        '{"type": "Feature", "properties": {"name": "walk", "coordTimes":'
        ' ["2024-05-01T08:00:00Z", "2024-05-01T10:00:10+02:00"]},'
        ' "geometry": {"type": "LineString", "coordinates": [[13.4, 52.5, 30], [13.5, 52.6]]}}'
    )
    found = read(tmp_path / "line.geojson")
    assert found["track"].tolist() == ["walk", "walk"]
    assert found["latitude"].tolist() == [52.5, 52.6]
    assert (found["time"].diff().dt.total_seconds().iloc[1]) == 10


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "a.txt is empty"),
        ("a.txt", "Dear diary", "a.txt is no track that can be read; CSV, FIT, GPX, .* are"),
        ("a.csv", "time,lat\n2024-01-01T00:00:00Z,1\n", "a.csv has no column for longitude"),
        ("a.csv", "time,lat,latitude,x\n1,2,3,4\n", "the times of a.csv are numbers"),
        (
            "a.csv",
            "time,y,lat,x\n2024-01-01T00:00Z,2,3,4\n",
            r"several columns \(y, lat\) for latitude",
        ),
        ("a.csv", "time,lat,lon\n2024-01-01T00:00:00,1,2\n", "1 times of a.csv have no time zone"),
        (
            "a.csv",
            "time,lat,lon\n2024-01-01T00:00Z,north,2\n",
            "latitude of a.csv holds no numbers",
        ),
        ("a.gpx", "<gpx", "a.gpx is not a GPX file that can be read"),
        ("a.gpx", "<gpx version='1.1'></gpx>", "holds no fixes of a track; it has 0 waypoints"),
        ("a.geojson", "{", "a.geojson is not JSON"),
        ("a.geojson", "[1]", "a.geojson holds no fixes"),
        ("a.geojson", '{"type": "FeatureCollection", "features": []}', "holds no fixes"),
        (
            "a.geojson",
            '{"type":"Feature","geometry":{"type":"Point","coordinates":[1]}}',
            "feature 0 cannot be read",
        ),
        ("a.parquet", "PAR1", "a.parquet is not a Parquet file that can be read"),
        ("a.plt", "only\na header\n", "a.plt is not a PLT file|holds no fixes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(TrackError, match=message):
        read(tmp_path / name)


def test_missing_files_and_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match="cannot be read"):
        read(tmp_path / "none.csv")
    with pytest.raises(TrackError, match="a track table has a column track"):
        write(pd.DataFrame({"time": [], "latitude": [], "longitude": []}), tmp_path / "a.csv")
    with pytest.raises(TrackError, match="a name ending in"):
        write(random_table(3, seed=0), tmp_path / "a.doc")
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "day.geojson"
    write(random_table(5, seed=6), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write(random_table(5, seed=7).assign(bad=[{1}] * 5), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["day.geojson"]


def test_real_gpx_files_are_read_or_refused_with_a_reason() -> None:
    files = sorted(shared_data("gpx").rglob("*.gpx"))
    assert len(files) == 45
    fixes, refused = 0, []
    for path in files:
        try:
            fixes += len(read(path))
        except TrackError as reason:
            refused.append(str(reason))
    assert fixes > 15_000
    assert all("no fixes of a track" in r or "have no time zone" in r for r in refused)
    assert sum("have no time zone" in reason for reason in refused) == 2
