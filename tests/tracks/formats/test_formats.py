"""Whatever an app writes is read completely, whatever its file is called."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priste.errors import TrackError
from priste.tracks import clean, read, write
from tests.tracks.formats import fixtures as made
from tests.tracks.tables import shared_data

FORMATS: dict[str, object] = {
    "Google Records.json": made.RECORDS,
    "Google Records.json with milliseconds": made.OLD_RECORDS,
    "Google Semantic Location History": made.SEMANTIC,
    "Google Timeline of Android": made.ANDROID,
    "Google Timeline of an iPhone": made.IPHONE,
    "OwnTracks export": made.OWNTRACKS,
    "OwnTracks Recorder's answer": {"count": 3, "data": made.OWNTRACKS},
    "OwnTracks .rec": made.RECORDED,
    "OwnTracks, one message per line": "\n".join(map(json.dumps, made.OWNTRACKS)),
    "Overland": made.OVERLAND,
    "Dawarich GeoJSON": made.DAWARICH,
    "Dawarich export": made.OLD_DAWARICH,
    "Polarsteps locations": made.POLARSTEPS,
    "Polarsteps trip": made.TRIP,
    "Immich": made.IMMICH,
    "Traccar Client": made.TRACCAR_CLIENT,
    "Traccar CSV": made.TRACCAR_CSV,
    "CSV in seconds": made.SECONDS_CSV,
    "CSV in milliseconds": made.MILLISECONDS_CSV,
    "CSV in ten-millionths": made.E7_CSV,
    "CSV with N and S": made.HEMISPHERES_CSV,
    "CSV in UTF-16": made.SECONDS_CSV.encode("utf-16"),
    "GeoJSON with times of its points": made.LINE,
    "GPX after blank lines": made.GPX,
    "KML track": made.KML_TRACK,
    "KML places": made.KML_PLACES,
    "KML spans": made.KML_SPANS,
    "KMZ": made.zipped({"doc.kml": made.KML_TRACK, "images/pin.png": b"\x89PNG"}),
    "TCX": made.TCX,
    "FIT": made.fit(),
    "ZIP of Google's Takeout": made.zipped(
        {
            "Takeout/Location History/Records.json": json.dumps(made.RECORDS),
            "Takeout/Location History/Settings.json": '{"createdTime": "x", "deviceSettings": []}',
            "Takeout/archive_browser.html": "<!DOCTYPE html><html></html>",
        }
    ),
}


def stored(content: object, path: Path) -> Path:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
    return path


def same(table: pd.DataFrame) -> None:
    """Compare with the three fixes; what stands twice in an export may do so here."""
    found = table.drop_duplicates(["time", "latitude", "longitude"]).reset_index(drop=True)
    assert found["time"].tolist() == made.TIMES.tolist()
    np.testing.assert_allclose(found["latitude"], made.LATITUDES, atol=1e-7)
    np.testing.assert_allclose(found["longitude"], made.LONGITUDES, atol=1e-7)


@pytest.mark.parametrize("name", ["track.dat", "track.gpx", "track"])
@pytest.mark.parametrize("kind", FORMATS)
def test_what_an_app_writes_is_read_whatever_the_file_is_called(
    tmp_path: Path, kind: str, name: str
) -> None:
    same(read(stored(FORMATS[kind], tmp_path / name)))


def test_a_german_table_is_read_with_its_zone(tmp_path: Path) -> None:
    for encoding in ("utf-8", "cp1252"):
        path = stored(made.GERMAN_CSV.encode(encoding), tmp_path / "weg.csv")
        table = read(path, time_zone="UTC")
        same(table)
        assert table.attrs["read as"] == [
            "read values between semicolons",
            "read 'Datum' and 'Uhrzeit' as a date and a time of day",
            "read times such as '06.05.2024 06:00:00' as day, month, year",
            "read latitude from text such as '52,5200'",
            "read longitude from text such as '13,4000'",
        ]


def test_dates_whose_order_a_number_tells_are_read(tmp_path: Path) -> None:
    table = read(stored(made.AMERICAN_CSV, tmp_path / "a.csv"), time_zone="UTC")
    assert table["time"].iloc[0] == pd.Timestamp("2024-05-26T06:00:00Z")
    assert "as month, day, year" in table.attrs["read as"][0]


def test_dates_whose_order_nothing_tells_are_asked_for(tmp_path: Path) -> None:
    path = stored(made.AMERICAN_CSV.replace("05/26", "05/06"), tmp_path / "a.csv")
    with pytest.raises(TrackError, match="may begin with the day or with the month; say which"):
        read(path, time_zone="UTC")
    day_first = read(path, time_zone="UTC", time_format="%d/%m/%Y %H:%M:%S")
    assert day_first["time"].iloc[0] == pd.Timestamp("2024-06-05T06:00:00Z")


def test_a_table_without_a_header_says_how_to_number_its_columns(tmp_path: Path) -> None:
    path = stored(made.HEADERLESS_CSV, tmp_path / "a.csv")
    with pytest.raises(
        TrackError, match="it has no header; number its 3 columns, for example with"
    ):
        read(path)
    same(read(path, columns={"time": 1, "latitude": 2, "longitude": 3}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (made.zipped({"a.txt": "hello"}), "holds no track that can be read: a.txt"),
        (made.zipped({"a.zip": made.zipped({"b.zip": made.zipped({})})}), "holds no track"),
        (made.zipped({"a.json": "0" * 2**25}), "what it unfolds to, in bytes"),
        (b"PK\x03\x04 broken", "is not a ZIP file that can be read"),
        (made.KML % "<Placemark><Point><coordinates>1,2</coordinates></Point></Placemark>",
         "1 places but no times"),
        (made.KML % "<Placemark><gx:Track><when>x</when></gx:Track></Placemark>", "not a KML file"),
        ("<!DOCTYPE kml [<!ENTITY a 'b'>]><kml></kml>", "remove <!DOCTYPE"),
        (made.fit()[:40], "is not a FIT file that can be read"),
        ("<html><body>not found</body></html>", "is no track that can be read"),
        ('{"locations": [{"latitudeE7": 1', "is not JSON that can be read"),
        ("[" * 100_000, "nesting of its lists"),
        ('[{"lat": "x", "lon": 2, "tst": 3}]', "is not JSON that can be read"),
        ('[{"lat": 1, "lon": 2, "time": "2024-05-06T08:00:00"}]', "has no time zone"),
        ('{"settings": [1, 2, 3]}', "holds no fixes"),
        ("time,lat,lon\n12,1,2\n", "do not count seconds, milliseconds"),
    ],
)  # fmt: skip
def test_what_is_no_track_is_refused_in_a_sentence(
    tmp_path: Path, content: Any, message: str
) -> None:
    with pytest.raises(TrackError, match=message):
        read(stored(content, tmp_path / "a.dat"))


def test_a_folder_of_mixed_files_is_read_and_says_what_it_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    (folder / "more").mkdir(parents=True)
    stored(made.RECORDS, folder / "Records.json")
    stored(made.GPX, folder / "more" / "walk.gpx")
    stored("Thank you!", folder / "readme.txt")
    stored(made.GPX, folder / ".hidden")
    table = read(folder)
    assert len(table) == 6
    assert table["track"].nunique() == 2
    said = "\n".join(table.attrs["read as"])
    assert "read 2 of 3 files" in said
    assert "skipped readme.txt (readme.txt is no track" in said


def test_nothing_of_an_archive_stays_and_no_temporary_name_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    packed = made.zipped({"../../evil.gpx": made.GPX, "broken.gpx": "<gpx"})
    table = read(stored(packed, tmp_path / "a.zip"))
    same(table)
    assert "tmp" not in "".join(table.attrs["read as"])
    assert not list((tmp_path / "tmp").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "tmp"]


def test_what_was_read_can_be_written_and_read_again(tmp_path: Path) -> None:
    table = read(stored(made.ANDROID, tmp_path / "Timeline.json"))
    write(table, tmp_path / "again.gpx")
    pd.testing.assert_frame_equal(
        read(tmp_path / "again.gpx")[["time", "latitude", "longitude"]],
        table[["time", "latitude", "longitude"]],
        check_exact=True,
    )


def test_many_fixes_a_second_survive_cleaning() -> None:
    times = pd.Timestamp("2024-05-06T06:00:00Z") + pd.to_timedelta(np.arange(50) * 0.1, unit="s")
    jitter = np.random.default_rng(0).normal(0, 1e-4, (2, 50))  # some ten metres
    table = pd.DataFrame(
        {"track": "0", "time": times, "latitude": 52.5 + jitter[0], "longitude": 13.4 + jitter[1]}
    )
    kept, account = clean(table)
    assert len(kept) == 50, account


@pytest.mark.parametrize(
    ("name", "fixes"), [("owntracks_http_payloads", 6), ("traccar_client_json_payloads", 4)]
)
def test_real_payloads_are_read(name: str, fixes: int) -> None:
    table = read(shared_data(f"trackers/traccar/{name}.jsonl"))
    assert len(table) == fixes
    assert table.notna().all(axis=None)
