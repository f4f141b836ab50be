"""The command, as a person runs it."""

import json
import os
import re
import resource
import stat
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priste import accelerator, cli, use_gpu
from priste.cli import learn
from priste.storage.archive import checksum as checksum_of
from priste.tracks import load_certificate, load_model, read, save_model, write
from tests.tracks import city
from tests.tracks.tables import shared_data
from tests.tracks.test_certificate import promises_hold


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["priste", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Ended(code if isinstance(code, int) else 0, captured.out, captured.err)

    return command


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a model, an events file and a day to protect."""
    save_model(city.model(), tmp_path / "model.npz")
    city.events_file(tmp_path)
    write(city.days(10, 11), tmp_path / "day.gpx")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def test_without_a_gpu_the_processor_protects_and_says_so(run: Run, desk: Path) -> None:
    words = ("protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml")
    ended = run(*words, "--gpu", "--no-report")
    assert ended.code == 0
    try:
        assert accelerator.accelerator(10**9) or "no GPU is used" in ended.err
    finally:
        use_gpu(False)


def test_protect_leaves_a_track_a_certificate_and_a_diary_kept_apart(run: Run, desk: Path) -> None:
    ended = run("protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml")
    assert ended.code == 0, ended.err
    assert "the other 0.1 may be anything" in ended.out
    released = read(desk / "day.protected.gpx")
    assert len(released) == 24
    certificate = load_certificate(desk / "day.protected.certificate.json")
    place = load_model(desk / "model.npz").place
    cells = place.cell_at(released["latitude"], released["longitude"])
    assert cells.tolist() == [cell for cell, _ in certificate.releases.values()]
    private = desk / "day.private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in private.iterdir())
    diary = pd.read_csv(private / "diary.csv")
    assert len(diary) == 24
    assert f"mean error {diary['error_km'].mean():.2f} km" in ended.out
    assert "private" not in (desk / "day.protected.certificate.json").read_text()


@pytest.mark.parametrize("ending", ["csv", "geojson", "parquet", "geoparquet", "plt"])
def test_the_output_has_the_format_of_the_input(run: Run, desk: Path, ending: str) -> None:
    track = desk / f"day.{ending}"
    write(city.days(10, 11), track)
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    ended = run("protect", track, *paths, "--no-report", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["public"]["track"].endswith(f"day.protected.{ending}")
    assert len(read(ended.json["public"]["track"])) == ended.json["releases"] == 24


def test_the_export_of_a_phone_is_protected_and_said_how_it_was_read(run: Run, desk: Path) -> None:
    day = read(desk / "day.gpx")
    rows = [
        {
            "_type": "location",
            "tst": int(fix.time.timestamp()),
            "lat": fix.latitude,
            "lon": fix.longitude,
        }
        for fix in day.itertuples()
    ]
    (desk / "phone").mkdir()
    lines = "\n".join(f"2024-05-06T00:00:00Z\t*  \t{json.dumps(row)}" for row in rows)
    (desk / "phone" / "2024-05.rec").write_text(lines)
    (desk / "phone" / "readme.txt").write_text("hello")
    table = "\n".join(f"{row['tst']};{row['lat']};{row['lon']}" for row in rows)
    (desk / "table.csv").write_text(f"tst;lat;lng\n{table}\n")
    needs = "-m", desk / "model.npz", "-e", desk / "events.toml", "--seed", 1, "--no-report"
    folder = run("protect", desk / "phone", *needs, "-o", desk / "a.gpx")
    assert folder.code == 0, folder.err
    assert "phone: read 1 of 2 files" in folder.err
    assert "skipped readme.txt" in folder.err
    table_too = run("protect", desk / "table.csv", *needs, "-o", desk / "b.gpx")
    assert "table.csv: read 'tst' as seconds since 1970" in table_too.err
    assert (desk / "a.gpx").read_text() == (desk / "b.gpx").read_text()
    assert (desk / "a.private").is_dir()
    assert (desk / "b.private").is_dir()
    alone = run("protect", desk / "phone" / "2024-05.rec", *needs)
    assert alone.code == 0, alone.err
    assert (desk / "phone" / "2024-05.protected.gpx").exists()


def test_hours_of_another_zone_and_events_of_other_days_are_said(run: Run, desk: Path) -> None:
    text = (desk / "events.toml").read_text().replace('"Europe/Berlin"', '"Asia/Shanghai"', 1)
    text += "[windows.then]\nstart = 2020-01-01T00:00:00Z\nend = 2020-01-02T00:00:00Z\n"
    text += '[events.past]\nkind = "presence"\nregion = "clinic"\nwindow = "then"\nepsilon = 1.0\n'
    (desk / "events.toml").write_text(text)
    words = "protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml"
    ended = run(*words, "--no-report")
    assert ended.code == 0, ended.err
    assert "window 'morning' is 09:00 to 13:00 in Asia/Shanghai, which is 03:00" in ended.err
    assert "not on these days, so nothing is promised about it: past" in ended.out


def test_a_secret_place_is_never_shown_during_its_hours_if_asked(run: Run, desk: Path) -> None:
    words = "protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml"
    assert run(*words, "--avoid-secret", "--calibration", "every-output").code == 3
    ended = run(*words, "--avoid-secret", "--seed", 1, "--no-report")
    assert ended.code == 0, ended.err
    certificate = load_certificate(desk / "day.protected.certificate.json")
    clinic = set(certificate.place.circle(52.52, 13.40, 0.4))
    shown = {step: cell for step, (cell, _) in certificate.releases.items()}
    assert not clinic & {shown[step] for step in range(9, 13)}
    assert "avoid secret True" in str(certificate)
    checked = "audit", desk / "day.protected.certificate.json", "-m", desk / "model.npz"
    assert run(*checked, "--samples", 1, "--steps", 3).code == 0


def test_days_begin_with_their_year(run: Run, desk: Path) -> None:
    """06.05.2024 may be a day of May or of June, and a model must not see the wrong one."""
    for text in ("06.05.2024", "05/06/2024", "May 6 2024"):
        ended = run("fit", desk / "day.gpx", "-o", desk / "m.npz", "--until", text)
        assert ended.code == 3
        assert "write the year first" in ended.err


def test_what_cannot_be_told_is_asked_for_in_options(run: Run, desk: Path) -> None:
    (desk / "a.csv").write_text("05/06/2024 08:00,52.5,13.4\n05/06/2024 09:00,52.5,13.4\n")
    words = "quantify", desk / "a.csv", "-m", desk / "model.npz", "-e", desk / "events.toml"
    said = run(*words).err
    assert "--column time=1 --column latitude=2 --column longitude=3" in said
    numbered = ("--column", "time=1", "--column", "latitude=2", "--column", "longitude=3")
    said = run(*words, *numbered).err
    assert "say which with --time-format '%d/%m/%Y %H:%M' or" in said
    said = run(*words, *numbered, "--time-format", "%d/%m/%Y %H:%M").err
    assert "--time-zone UTC" in said


def test_a_second_release_of_the_same_track_is_refused(run: Run, desk: Path) -> None:
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    assert run("protect", desk / "day.gpx", *paths, "--no-report").code == 0
    before = (desk / "day.protected.gpx").read_bytes()
    ended = run("protect", desk / "day.gpx", *paths, "--no-report")
    assert ended.code == 3
    assert "a second release of the same time reveals more" in " ".join(ended.err.split())
    assert (desk / "day.protected.gpx").read_bytes() == before
    assert run("protect", desk / "day.gpx", *paths, "--no-report", "--force").code == 0


def test_a_new_release_leaves_nothing_of_the_one_it_replaces(run: Run, desk: Path) -> None:
    words = "protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml"
    assert run(*words, "--public-report").code == 0
    assert (desk / "day.protected.report.html").exists()
    assert run(*words, "--force", "--no-report").code == 0
    assert names(desk / "day.private") == {"diary.csv", "certificate.json"}
    assert not list(desk.glob("day.protected.report*"))


def test_what_is_read_is_never_written_over(run: Run, desk: Path) -> None:
    words = "-m", desk / "model.npz", "-e", desk / "events.toml", "--force"
    before = (desk / "day.gpx").read_bytes()
    ended = run("protect", desk / "day.gpx", *words, "-o", desk / "day.gpx")
    assert ended.code == 3
    assert "is an input and would be overwritten" in ended.err
    assert run("fit", desk / "day.gpx", "-o", desk / "day.gpx", "--force").code == 3
    assert (desk / "day.gpx").read_bytes() == before


def test_a_private_folder_that_others_can_see_is_refused(run: Run, desk: Path) -> None:
    (desk / "open").mkdir(mode=0o755)
    before = names(desk)
    words = "protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml"
    ended = run(*words, "--private", desk / "open")
    assert ended.code == 3
    assert "others can look into" in ended.err
    assert names(desk) == before


@pytest.mark.parametrize("at", ["day.protected.report-map.svg", "day.protected.certificate.json"])
def test_a_folder_in_the_way_leaves_everything_as_it_was(run: Run, desk: Path, at: str) -> None:
    words = "protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml"
    run(*words, "--public-report", "--no-report", "--seed", 1)
    (desk / at).unlink()
    (desk / at).mkdir()
    before = {p: p.read_bytes() for p in desk.rglob("*") if p.is_file()}
    ended = run(*words, "--public-report", "--no-report", "--force", "--seed", 2)
    assert ended.code == 5
    assert {p: p.read_bytes() for p in desk.rglob("*") if p.is_file()} == before


def test_hidden_events_are_hidden_from_the_public_report_too(run: Run, desk: Path) -> None:
    words = "protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml"
    assert run(*words, "--hide-events", "--public-report", "--no-report").code == 0
    for path in desk.glob("day.protected*"):
        assert b"treatment" not in path.read_bytes()


def test_nothing_in_a_name_steers_the_terminal(run: Run, desk: Path) -> None:
    text = city.EVENTS.replace("[events.treatment]", '[events."x\\u001b[2Jy"]').replace(
        '"treatment and not quiet"', '"quiet"'
    )
    city.events_file(desk, text)
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    ended = run("protect", desk / "day.gpx", *paths, "--no-report")
    assert ended.code == 3
    assert "contains an unprintable character" in " ".join(ended.err.split())
    assert "\x1b" not in ended.out + ended.err


def test_audit_computes_the_promise_again_and_notices_a_broken_one(run: Run, desk: Path) -> None:
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    run("protect", desk / "day.gpx", *paths, "--no-report", "--seed", 1)
    certificate = desk / "day.protected.certificate.json"
    kept = run("audit", certificate, "-m", desk / "model.npz", "--samples", 2, "--steps", 2)
    assert kept.code == 0, kept.err
    assert kept.out.count(": kept") >= 2
    assert "lower bounds" in kept.out
    content = json.loads(certificate.read_text())
    content["protections"][0]["epsilon"] = 0.01
    certificate.write_text(json.dumps(content))
    broken = run("audit", certificate, "-m", desk / "model.npz", "--json")
    assert broken.code == 4
    assert broken.json["protections"]["treatment"]["kept"] is False
    assert broken.json["protections"]["odd"]["kept"] is True
    assert "the other 0.1 may be anything" in broken.json["against"]
    assert "drawn from a seed" in broken.json["caveats"][0]


def test_audit_compares_the_track_with_its_certificate(run: Run, desk: Path) -> None:
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    run("protect", desk / "day.gpx", *paths, "--no-report")
    words = "audit", desk / "day.protected.certificate.json", "-m", desk / "model.npz", "--track"
    assert run(*words, desk / "day.protected.gpx").code == 0
    other = run(*words, desk / "day.gpx")
    assert other.code == 3
    assert "is not the track that" in other.err


def test_explain_says_what_a_certificate_and_a_number_mean(run: Run, desk: Path) -> None:
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    run("protect", desk / "day.gpx", *paths, "--no-report", "--hide-events")
    certificate = desk / "day.protected.certificate.json"
    ended = run("explain", certificate)
    assert ended.code == 0
    assert "The events are withheld" in ended.out
    assert "treatment" not in certificate.read_text()
    mine = desk / "day.private" / "certificate.json"
    assert run("audit", mine, "-m", desk / "model.npz").code == 0
    number = run("explain", "--epsilon", 0.5)
    assert "An observer who gave 1:9 before gives at least 1:14.9 and at most 1:5.45 now" in (
        number.out
    )
    assert "any: whatever they believe" in run("explain", "--adversaries").out
    assert run("explain").code == 3
    assert run("explain", "--epsilon", 0).code == 3


def test_quantify_says_which_event_and_when(run: Run, desk: Path) -> None:
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    words = "quantify", desk / "day.gpx", *paths, "--budget", 3, "--seed", 1
    told = run(*words, "--json").json
    shown = run(*words)
    assert shown.code == 0
    for name, found in told.items():
        step = int(np.argmax(found["losses"]))
        assert f"“{name}”" in shown.out
        assert f"largest loss {found['losses'][step]:.4f} at step {step}," in shown.out
    assert not [p for p in desk.iterdir() if "protected" in p.name]


def test_fit_and_simulate_make_a_model_and_tracks_from_it(run: Run, tmp_path: Path) -> None:
    write(city.days(0, 10), tmp_path / "past.csv")
    model = tmp_path / "model.npz"
    where = "--time-zone", city.ZONE, "--bounds", "52.50,13.36,52.54,13.44", "--cells", 30
    ended = run(
        "fit", tmp_path / "past.csv", "-o", model, "--step", "1h", *where, "--share", 0.5, "--json"
    )
    assert ended.code == 0, ended.err
    assert ended.json["account"]["read"] == 240
    assert ended.json["fixes"] == 120
    assert "5 days with fixes" in ended.json["days"]
    learned = load_model(model)
    assert learned.fingerprint == ended.json["fingerprint"]
    assert stat.S_IMODE(model.stat().st_mode) == 0o600
    picture = Path(ended.json["picture"])
    assert picture == model.with_suffix(".map.svg")
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600
    assert "of the time is on the map" in picture.read_text()
    made = run("simulate", "-m", model, "-o", tmp_path / "fake.gpx", "--days", 3, "--seed", 5)
    assert made.code == 0, made.err
    fake = read(tmp_path / "fake.gpx")
    assert 60 < len(fake) <= 72  # GPX has no way to say that somebody is away
    assert fake["track"].nunique() == 3
    assert learned.place.covers(fake["latitude"], fake["longitude"]).all()


def test_one_time_zone_is_that_of_the_model_and_of_times_without_one(
    run: Run, tmp_path: Path
) -> None:
    past = city.days(0, 3)
    naive = past.assign(time=past["time"].dt.tz_convert(city.ZONE).dt.tz_localize(None))
    naive.to_csv(tmp_path / "naive.csv", index=False)
    words = "fit", tmp_path / "naive.csv", "--step", "1h", "--cells", 30, "-o"
    refused = run(*words, tmp_path / "refused.npz")
    assert refused.code == 3
    assert "have no time zone" in refused.err
    fitted = run(*words, tmp_path / "model.npz", "--time-zone", city.ZONE, "--json")
    assert fitted.code == 0, fitted.err
    assert load_model(tmp_path / "model.npz").time_zone == city.ZONE
    assert fitted.json["days"] == "2024-05-06 to 2024-05-08, 3 days with fixes"


def test_the_demo_runs_as_a_command(run: Run, tmp_path: Path) -> None:
    ended = run("demo", "--out", tmp_path / "demo")
    assert ended.code == 0, ended.err
    assert (tmp_path / "demo" / "private" / "report.html").exists()


TRACKS = {
    "empty": ("time,latitude,longitude\n", "holds no fixes"),
    "no times": ("latitude,longitude\n52.5,13.4\n", "has no column for time"),
    "naive": ("time,latitude,longitude\n2024-05-16T08:00:00,52.52,13.4\n", "have no time zone"),
    "mixed": (
        "time,latitude,longitude\n2024-05-16T08:00:00Z,52.52,13.4\n2024-05-16T09:00:00,52.52,13.4\n",
        "1 times of day.csv have no time zone",
    ),
    "not a number": (
        "time,latitude,longitude\n2024-05-16T08:00:00Z,nan,13.4\n",
        "no fix can be used",
    ),
    "latitude 400": (
        "time,latitude,longitude\n2024-05-16T08:00:00Z,400,13.4\n",
        "no fix can be used",
    ),
    "no table": ("\x00\x01", "day.csv"),
}


@pytest.mark.parametrize("case", TRACKS)
def test_a_bad_track_is_refused_and_nothing_written(run: Run, desk: Path, case: str) -> None:
    text, message = TRACKS[case]
    (desk / "day.csv").write_text(text)
    before = names(desk)
    ended = run("protect", desk / "day.csv", "-m", desk / "model.npz", "-e", desk / "events.toml")
    assert ended.code == 3
    assert message in " ".join(ended.err.split())
    assert "Traceback" not in ended.err
    assert names(desk) == before


def test_a_day_off_the_map_is_released_and_its_error_is_said(run: Run, desk: Path) -> None:
    (desk / "day.csv").write_text("time,latitude,longitude\n2024-05-16T08:00:00Z,48.14,11.58\n")
    words = "protect", desk / "day.csv", "-m", desk / "model.npz", "-e", desk / "events.toml"
    ended = run(*words, "--no-report")
    assert ended.code == 0, ended.err
    assert re.search(r"1 fix off the map, 1 shown (as away|on it, .* 5\d\d\.\d km)", ended.out)
    assert "mean error" not in ended.out
    told = run(*words, "--force", "--no-report", "--json").json["private"]
    assert told["mean error km"] is None
    assert told["fixes off the map"] == 1


def test_one_point_is_released_but_teaches_nothing(run: Run, desk: Path) -> None:
    (desk / "one.csv").write_text("time,latitude,longitude\n2024-05-16T08:00:00Z,52.52,13.4\n")
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    told = run("protect", desk / "one.csv", *paths, "--no-report", "--json").json
    assert told["releases"] == 1
    ended = run("fit", desk / "one.csv", "-o", desk / "new.npz")
    assert ended.code == 3
    assert "there is nothing to fit: the 1 fixes" in " ".join(ended.err.split())
    assert not (desk / "new.npz").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--step", "abc"),
        ("--step", "10"),
        ("--time-zone", "Mars/Base"),
        ("--bounds", "1,2,3"),
        ("--bounds", "50,1,40,2"),
        ("--share", "0"),
        ("--column", "time"),
        ("--from", "someday"),
        ("--from", "2030-01-01"),
    ],
)
def test_options_that_cannot_be_are_refused(run: Run, desk: Path, words: tuple[str, str]) -> None:
    ended = run("fit", desk / "day.gpx", "-o", desk / "new.npz", *words)
    assert ended.code == 3
    assert not (desk / "new.npz").exists()


def test_days_without_a_midnight_are_days(run: Run, desk: Path) -> None:
    """In Cairo the clocks went from 0:00 to 1:00 on 28 April 2023."""
    moved = city.days(10, 11)
    moved["time"] = moved["time"] - moved["time"].min() + pd.Timestamp("2023-04-28T00:00Z")
    write(moved, desk / "cairo.csv")
    model = desk / "cairo.npz"
    fitted = run(
        "fit", desk / "cairo.csv", "-o", model, "--time-zone", "Africa/Cairo", "--step", "1h"
    )
    assert fitted.code == 0, fitted.err
    made = run(
        "simulate", "-m", model, "-o", desk / "fake.csv", "--start", "2023-04-27", "--days", 3
    )
    assert made.code == 0, made.err
    starts = read(desk / "fake.csv").groupby("track")["time"].min().dt.tz_convert("Africa/Cairo")
    assert starts.dt.hour.tolist() == [0, 1, 0]


EVENTS = {
    "large": (city.EVENTS.replace("epsilon = 0.8", "epsilon = 1000"), "epsilon 1000 allows"),
    "hour with a zone": (city.EVENTS.replace('"09:00"', '"09:00+02:00"'), "windows.morning.from"),
    "nested": (
        city.EVENTS.replace("treatment and not quiet", "not " * 3000 + "quiet"),
        "events.odd.expression",
    ),
    "malformed": ("[events", "is not TOML"),
    "unknown field": (city.EVENTS + 'colour = "red"\n', "events.odd does not know colour"),
    "zero": (city.EVENTS.replace("epsilon = 0.8", "epsilon = 0"), "events.treatment.epsilon"),
    "region elsewhere": (
        city.EVENTS.replace("latitude = 52.52", "latitude = 10.0"),
        "regions.clinic",
    ),
    "code": (
        city.EVENTS.replace("treatment and not quiet", "__import__('os').remove('day.gpx')"),
        "may use only names, and, or, not and brackets",
    ),
}


@pytest.mark.parametrize("case", EVENTS)
def test_a_bad_events_file_is_refused_and_nothing_written(run: Run, desk: Path, case: str) -> None:
    text, message = EVENTS[case]
    city.events_file(desk, text)
    before = names(desk)
    ended = run("protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml")
    assert ended.code == 3
    assert message in " ".join(ended.err.split())
    assert names(desk) == before


def _tampered(path: Path) -> None:
    with np.load(path) as archive:
        content = {name: archive[name].copy() for name in archive.files}
    content["initial"] = np.roll(content["initial"], 1)
    with path.open("wb") as file:
        np.savez_compressed(file, **content)


def _damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def _pickled(path: Path) -> None:
    np.savez(path, meta=np.array([{"run": print}], dtype=object), allow_pickle=True)


def _of_another_version(path: Path) -> None:
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files if name != "checksum"}
    text = content["meta"].tobytes().replace(b'"format": 3', b'"format": 4')
    content["meta"] = np.frombuffer(text, dtype=np.uint8)
    checksum = np.frombuffer(checksum_of(content), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, checksum=checksum, **content)


def test_a_model_of_another_version_says_so(run: Run, desk: Path) -> None:
    _of_another_version(desk / "model.npz")
    ended = run("simulate", "-m", desk / "model.npz", "-o", desk / "fake.csv")
    assert ended.code == 3
    assert "was made by another version (format 4, this one reads 3)" in " ".join(ended.err.split())
    assert not (desk / "fake.csv").exists()


@pytest.mark.parametrize("spoil", [_tampered, _damaged, _pickled, lambda p: p.write_text("no")])
def test_a_spoilt_model_is_refused_and_nothing_written(
    run: Run, desk: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(desk / "model.npz")
    before = names(desk)
    ended = run("protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml")
    assert ended.code == 3
    assert "model.npz" in ended.err
    assert names(desk) == before


def test_a_folder_that_cannot_be_written_to_leaves_nothing(run: Run, desk: Path) -> None:
    before = names(desk)
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    locked = Path("/proc")  # not even root may write there
    if os.geteuid() != 0:
        locked = desk.parent / "locked"
        locked.mkdir(mode=0o500, exist_ok=True)
    for out in (desk / "nowhere" / "day.csv", desk / "events.toml" / "day.csv", locked / "day.csv"):
        words = "protect", desk / "day.gpx", *paths, "-o", out, "--private", desk / "mine"
        ended = run(*words, "--no-report")
        assert ended.code == 5
        assert "cannot read or write" in ended.err
        assert names(desk) == before


def test_a_full_disk_leaves_nothing(run: Run, desk: Path) -> None:
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    warm = "-o", desk / "warm.csv", "--private", desk / "warm", "--no-report"
    assert run("protect", desk / "day.gpx", *paths, *warm).code == 0
    before = names(desk)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))  # a file cannot grow beyond
    try:
        ended = run("protect", desk / "day.gpx", *paths, "-o", desk / "o.csv", "--no-report")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ended.code == 5
    assert "no file is half written" in " ".join(ended.err.split())
    assert names(desk) == before


def test_the_exit_codes_are_those_of_the_help(
    run: Run, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run("--help")
    text = " ".join(told.out.split())
    assert (
        "0 success, 1 internal error, 2 usage error or missing packages, 3 bad input, 4 a promise "
        "is not kept, 5 a file cannot be read or written, 128 + n ended by signal n" in text
    )
    assert told.code == 0
    assert run("protect").code == 2
    assert run("fly").code == 2
    words = "fit", desk / "day.gpx", "-o"
    assert run(*words, desk / "model.npz").code == 3
    assert run(*words, desk / "nowhere" / "new.npz", "--step", "1h").code == 5
    monkeypatch.setattr(learn, "fit_model", None)
    monkeypatch.setattr(sys, "argv", ["priste", *map(str, words), str(desk / "new.npz")])
    with pytest.raises(TypeError, match="not callable"):  # the interpreter ends with 1
        cli.main()


def test_a_geolife_user_from_end_to_end(run: Run, tmp_path: Path) -> None:
    with tarfile.open(shared_data("geolife-8-users.tar.xz")) as tar:
        members = (m for m in tar if m.name.startswith("Data/000/"))
        tar.extractall(tmp_path, members=members, filter="data")
    user, model = tmp_path / "Data" / "000", tmp_path / "model.npz"
    beijing = "--bounds", "39.75,116.18,40.10,116.62", "--time-zone", "Asia/Shanghai"
    fitted = run("fit", user, "-o", model, *beijing, "--cells", 196, "--share", 0.5, "--json")
    assert fitted.code == 0, fitted.err
    assert fitted.json["map"].startswith("14 × 14 cells")
    assert fitted.json["account"]["read"] == fitted.json["account"]["kept"] == 173_870
    (tmp_path / "events.toml").write_text(
        'time_zone = "Asia/Shanghai"\n'
        "[regions.campus]\ncircle = { latitude = 40.0, longitude = 116.327, radius_km = 0.8 }\n"
        '[windows.morning]\nfrom = "08:00"\nto = "12:00"\n'
        '[events.on_campus]\nkind = "presence"\nregion = "campus"\nwindow = "morning"\n'
        "epsilon = 1.0\n"
    )
    day = "--from", "2009-07-02", "--until", "2009-07-03"
    out = tmp_path / "shared.csv"
    ended = run(
        "protect",
        user,
        "-m",
        model,
        "-e",
        tmp_path / "events.toml",
        *day,
        "-o",
        out,
        "--json",
        "--no-report",
        "--private",
        tmp_path / "mine",
    )
    assert ended.code == 0, ended.err
    assert ended.json["private"]["mean error km"] < 6  # a blind guess has about 20
    certificate = json.loads((tmp_path / "shared.certificate.json").read_text())
    assert certificate["calibration"]["name"] == "OptimalRemap"
    assert len(read(out)) == len(certificate["releases"]) == ended.json["releases"] > 60
    assert certificate["steps"] == 144
    assert promises_hold(certificate, load_model(model), [62, 80, 100, 144])
    assert ": kept" in run("audit", tmp_path / "shared.certificate.json", "-m", model).out


def test_a_set_of_habits_is_fitted_protected_and_held_against_other_days(
    run: Run, tmp_path: Path
) -> None:
    write(city.days(0, 9), tmp_path / "past.csv")
    write(city.days(5, 8), tmp_path / "other.csv")
    write(city.days(10, 11), tmp_path / "day.csv")
    city.events_file(tmp_path)
    model, where = tmp_path / "m.npz", ("--step", "1h", "--time-zone", city.ZONE, "--cells", 25)
    fitted = run("fit", tmp_path / "past.csv", "-o", model, *where, "--order", 1)
    assert fitted.code == 0, fitted.err
    assert "4 habits around the likeliest: usual base" in fitted.out
    assert re.search(r"held-out days: -\d\.\d+ nats per move, \+\d\.\d+ over", fitted.out)
    words = "protect", tmp_path / "day.csv", "-m", model, "-e", tmp_path / "events.toml"
    assert "leave it out" in run(*words, "--calibration", "every-output", "--margin", 0.2).err
    assert run(*words, "--margin", 1.5).code == 3
    ended = run(*words, "--seed", 1)
    assert ended.code == 0, ended.err
    assert "whichever of the 4 habits" in ended.out
    certificate = tmp_path / "day.protected.certificate.json"
    calibration = json.loads(certificate.read_text())["calibration"]
    assert (calibration["margin"], calibration["spending"]) == (0.65, "proportional")
    assert (calibration["focus"], calibration["thrift"]) == (1.5, 0.5)
    assert run(*words, "--seed", 1, "--margin", 0.1, "--force").code == 0
    calibration = json.loads(certificate.read_text())["calibration"]
    assert (calibration["margin"], calibration["spending"]) == (0.1, "proportional")
    against = "audit", certificate, "-m", model, "--against", tmp_path / "other.csv"
    told = run(*against)
    assert told.code == 0, told.err
    assert "An observer who learned this person from the tracks given (not promised)" in told.out
    numbers = run(*against, "--json").json["other habits"]
    for name in ("treatment", "odd"):
        assert f"a loss of {numbers[name]['realised']:.2f}" in told.out
    page = (tmp_path / "day.private" / "report.html").read_text()
    assert "had learned this person from these very days" in page


def test_a_base_that_is_none_is_refused(run: Run, desk: Path) -> None:
    ended = run("fit", desk / "day.gpx", "-o", desk / "new.npz", "--base", "near")
    assert ended.code == 3
    assert "--base is one of uniform, local, usual, others" in ended.err


def test_a_day_without_events_is_released_and_hides_as_well_as_others(run: Run, desk: Path) -> None:
    """Whether a secret can happen on a day is not to be seen in what hides the events."""
    usual = city.EVENTS.replace("epsilon = 1.5", "epsilon = 0.1")
    saturdays = usual.replace('to = "13:00"', 'to = "13:00"\ndays = ["sat"]')
    promised = []
    for name, text in (("there", usual), ("absent", saturdays)):
        (desk / "events.toml").write_text(text)
        words = "protect", desk / "day.gpx", "-m", desk / "model.npz", "-e", desk / "events.toml"
        out = desk / name / "day.csv"
        out.parent.mkdir()
        private = "--private", desk / name / "mine", "--hide-events", "--no-report"
        ended = run(*words, "-o", out, *private)
        assert ended.code == 0, ended.err
        hidden = json.loads(out.with_suffix(".certificate.json").read_text())
        promised.append((hidden["protections"], [s for s in hidden["meaning"] if "ε =" in s]))
    assert promised[0] == promised[1]
    assert len(promised[0][1]) == 2
    assert "No protected event can happen in this time: nothing is promised" in ended.out
    assert "not on these days, so nothing is promised about it: treatment, odd; the public" in (
        ended.out
    )


def test_two_releases_of_one_time_are_warned_about(run: Run, desk: Path) -> None:
    rest = "-m", desk / "model.npz", "-e", desk / "events.toml", "--no-report", "--json"
    words = "protect", desk / "day.gpx", *rest
    assert run(*words).json["warnings"] == []
    again = run(*words, "-o", desk / "again.csv").json["warnings"]
    assert "day.protected.certificate.json: of the same time as this release" in again[0]
    both = run(*words, "-o", desk / "both.csv", "--stream", desk / "me.stream")
    assert "again.certificate.json" in both.json["warnings"][0]
    write(city.days(10, 12), desk / "two.csv")
    words = "protect", desk / "two.csv", *rest
    longer = run(*words, "-o", desk / "longer.csv").json["warnings"]
    assert "of the same time" in longer[0]
    second = "--from", "2024-05-17", "-o", desk / "second.csv"
    later = run(*words, *second).json["warnings"]
    assert "longer.certificate.json: of the same time" in later[0]
    assert "again.certificate.json" in later[1]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "time,latitude,longitude\n2024-05-16T08:00:00Z,113.4,52.5\n",
            (),
            "latitude and longitude may have changed places: say --column",
        ),
        (
            "time,latitude,longitude\n2024-05-16T08:00:00Z,52.5,13.4\n",
            ("--from", "2024-06-01", "--until", "2024-05-01"),
            "--from '2024-06-01' is not before --until '2024-05-01'",
        ),
        (
            "time,latitude,longitude\n16/05/2024 08:00,52.5,13.4\n",
            ("--time-zone", "UTC", "--time-format", "%m/%d/%Y %H:%M"),
            "no time of mine.csv fits --time-format '%m/%d/%Y %H:%M', such as '16/05/2024 08:00'",
        ),
        (
            "2024-05-16T08:00:00Z,52.5,13.4\n",
            ("--column", "longitude=lon"),
            "so it has no header; number its 3 columns, for example with --column time=1",
        ),
        (
            "time,latitude,longitude\n2024-05-16T08:00:00Z,52.5,13.4\n",
            ("--stream", "nowhere/me.stream"),
            "nowhere is not a folder: make it, or choose another --stream",
        ),
    ],
)
def test_a_slip_is_answered_with_what_to_do(
    run: Run, desk: Path, content: str, options: tuple[str, ...], message: str
) -> None:
    (desk / "mine.csv").write_text(content)
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    ended = run("protect", desk / "mine.csv", *paths, *options)
    assert ended.code == 3
    assert message in " ".join(ended.err.split())


def test_a_gpx_track_with_somebody_away_is_the_one_that_was_released(run: Run, desk: Path) -> None:
    save_model(city.traveller(), desk / "model.npz")
    write(city.travels(10, 11), desk / "trip.gpx")
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml"
    assert run("protect", desk / "trip.gpx", *paths, "--no-report").code == 0
    released = read(desk / "trip.protected.gpx")
    assert len(released) < 24
    audit = "audit", desk / "trip.protected.certificate.json", "-m", desk / "model.npz", "--track"
    assert run(*audit, desk / "trip.protected.gpx").code == 0
    write(released.iloc[1:], desk / "other.gpx")
    assert run(*audit, desk / "other.gpx").code == 3


@pytest.mark.parametrize("suffix", [".gpx", ".plt", ".geojson", ".csv"])
def test_a_day_wholly_away_is_released_and_checked_in_any_format(
    run: Run, desk: Path, suffix: str
) -> None:
    save_model(city.traveller(), desk / "model.npz")
    write(city.days(10, 11).iloc[20:22].assign(latitude=48.14, longitude=11.58), desk / "trip.csv")
    out = desk / f"shared{suffix}"
    paths = "-m", desk / "model.npz", "-e", desk / "events.toml", "-o", out
    ended = run("protect", desk / "trip.csv", *paths, "--seed", 0, "--no-report")
    assert "2 places were released, 2 of them as away," in ended.out
    assert ("there it is a gap" in ended.out) == (suffix in (".gpx", ".plt"))
    audit = "audit", desk / "shared.certificate.json", "-m", desk / "model.npz", "--track"
    assert run(*audit, out).code == 0
    assert run(*audit, desk / "day.gpx").code == 3
