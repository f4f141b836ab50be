"""The numbers of the page are those of the library for the same inputs."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priste import PlanarLaplace, posterior_odds, prior_odds
from priste.errors import PristeError, StudioError
from priste.events import atoms
from priste.studio.desk import Desk
from priste.studio.document import to_text
from priste.studio.runs import Run
from priste.studio.setting import Setting
from priste.studio.work import SEEN, price, protect, watch
from priste.tracks import Stream, fit_model, load_certificate, load_model, read
from priste.tracks.observer import Sharing, observe
from priste.wording import as_odds
from tests.studio.days import DAY, ZONE, document, gpx, question
from tests.tracks import city


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    found = Desk()
    path = gpx(tmp_path_factory.mktemp("tracks"))
    found.add_file(path.name, path, ZONE)
    return found


def run(work: Any) -> Run:
    done = Run("1", "test")
    work(done)
    return done


@pytest.fixture(scope="module")
def protected(desk: Desk) -> Run:
    return run(protect(desk, Setting.of(question())))


def model_of(desk: Desk) -> Any:
    other = desk.table[desk.table["time"].dt.tz_convert(ZONE).dt.date.astype(str) != DAY]
    return fit_model(
        other,
        step="1h",
        cells=100,
        time_zone=ZONE,
        habits=1,
        order=1,
        base="local",
        smoothing=1.0,
        time_of_day=True,
    )


def test_the_leak_is_what_the_library_finds(desk: Desk, tmp_path: Path) -> None:
    shown = json.loads(run(watch(desk, Setting.of(question()))).result)["picture"]
    model = model_of(desk)
    table = city.days(10, 11)
    stream = Stream.of(table, model)
    events = city.events_file(tmp_path, to_text(document()))
    (secret,) = stream.protections(events)
    mobility = model.mobilities_from(stream.clock.start)[0]
    cells = sorted({cell for part in atoms(secret.event) for cell in part.cells})
    assert shown["secrets"][0]["cells"] == cells
    assert shown["secrets"][0]["before"] == pytest.approx(prior_odds(secret.event, mobility))
    noise = PlanarLaplace(model.place.grid, 1.0)
    sharings = {
        "raw": Sharing.raw(stream),
        "silent": Sharing.silent_in(stream, cells),
        "noise": Sharing.noisy(stream, noise, seed=0),
    }
    assert [way["key"] for way in shown["ways"]] == list(sharings)
    for way in shown["ways"]:
        sharing = sharings[way["key"]]
        odds = posterior_odds(secret.event, mobility, sharing.columns)
        told = [np.inf if each == "certain" else each for each in way["odds"]["treatment"]]
        np.testing.assert_allclose(told, odds, rtol=1e-9)
        assert way["words"]["treatment"] == [as_odds(each) for each in odds]
        rows = observe(sharing, [secret]).whereabouts
        for (where, shares), row in zip(way["where"], rows, strict=True):
            np.testing.assert_allclose(shares, row[where], rtol=1e-3)
            assert row.sum() - sum(shares) < 0.06


def test_the_certificate_and_the_model_pass_the_audit(protected: Run, tmp_path: Path) -> None:
    for name in ("certificate.json", "model.npz"):
        (tmp_path / name).write_bytes(protected.files[name]())
    certificate = load_certificate(tmp_path / "certificate.json")
    (verdict,) = certificate.check(load_model(tmp_path / "model.npz")).verdicts
    assert verdict.largest <= 0.8
    shown = json.loads(protected.result)
    assert shown["sentences"] == list(certificate.sentences())
    odds = shown["picture"]["ways"][-1]["odds"]["treatment"]
    np.testing.assert_allclose(odds, verdict.after, rtol=1e-9)


def test_the_released_track_is_what_is_shown(protected: Run, tmp_path: Path) -> None:
    (tmp_path / "track.csv").write_bytes(protected.files["track.csv"]())
    table = read(tmp_path / "track.csv")
    shown = json.loads(protected.result)["picture"]
    assert len(table) == sum(cell is not None for cell in shown["ways"][-1]["cells"])


def test_the_numbers_of_the_curves_can_be_had(protected: Run) -> None:
    table = pd.read_csv(io.BytesIO(protected.files["odds.csv"]()))
    shown = json.loads(protected.result)["picture"]
    for way in shown["ways"]:
        part = table[table["way"] == way["key"]]
        told = [np.inf if each == "certain" else each for each in way["odds"]["treatment"]]
        np.testing.assert_allclose(part["odds"], told, rtol=1e-12)
        errors = [np.nan if each is None else each for each in way["errors"]]
        np.testing.assert_allclose(part["error_km"], errors, rtol=1e-12)


def test_the_model_has_not_seen_the_day(desk: Desk, protected: Run) -> None:
    assert json.loads(protected.result)["remarks"] == []
    certificate = json.loads(protected.files["certificate.json"]())
    assert "seen" not in json.dumps(certificate["caveats"])
    model, seen = desk.model(Setting.of(question()), lambda _: None)
    assert not seen
    assert model.fingerprint


def test_a_single_day_is_looked_at_with_a_warning() -> None:
    desk = Desk()
    desk.add("one day", city.days(10, 11))
    found = run(protect(desk, Setting.of(question())))
    assert json.loads(found.result)["remarks"] == [SEEN]
    assert "learned from" in json.dumps(json.loads(found.files["certificate.json"]())["caveats"])


def test_a_simulated_day_is_one_that_never_was(desk: Desk) -> None:
    shown = json.loads(run(watch(desk, Setting.of(question(day="simulated")))).result)["picture"]
    assert "17 May 2024" in shown["day"]
    again = json.loads(run(watch(desk, Setting.of(question(day="simulated")))).result)["picture"]
    other = Setting.of(question(day="simulated", seed=5))
    assert again["track"] == shown["track"]
    assert json.loads(run(watch(desk, other)).result)["picture"]["track"] != shown["track"]


def test_the_price_falls_as_more_may_be_learned(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priste.studio.work.EPSILONS", (0.1, 1.0, 4.0))
    points = json.loads(run(price(desk, Setting.of(question(noise="none")), "treatment")).result)[
        "price"
    ]
    assert [point["epsilon"] for point in points] == [0.1, 1.0, 4.0]
    assert points[0]["km"] > points[-1]["km"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 7}, "a step has 5, 10, 15, 30, 60 minutes, got 7"),
        ({"cells": 5}, "a map has 100"),
        ({"observer": "god"}, "the observer must be one of known, near, any"),
        ({"noise": 3}, "the noise must be one of none"),
        ({"habits": None}, "the habits must be one of quick, careful"),
        ({"time_zone": "Mars/Base"}, "time_zone 'Mars/Base' is not known"),
        ({"document": 3}, "places and secrets"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PristeError, match=message):
        Setting.of(question(**change))


def test_what_is_missing_is_named(desk: Desk) -> None:
    with pytest.raises(StudioError, match="drop one on the page"):
        run(watch(Desk(), Setting.of(question())))
    with pytest.raises(StudioError, match="no fix on that day"):
        run(watch(desk, Setting.of(question(day="1999-01-01"))))
    empty = document() | {"secrets": []}
    with pytest.raises(StudioError, match="draw a place, and paint hours"):
        run(protect(desk, Setting.of(question(document=empty))))
    with pytest.raises(StudioError, match="choose the secret"):
        price(desk, Setting.of(question()), "another")
    kept = '[regions.far]\ngeojson = "/etc/passwd"\n'
    with pytest.raises(StudioError, match="is in another file; draw it"):
        run(watch(desk, Setting.of(question(document=document() | {"kept": kept}))))


def test_several_people_are_refused() -> None:
    table = city.days(0, 2)
    both = pd.concat([table.assign(user="ada"), table.assign(user="ben")])
    with pytest.raises(StudioError, match="several people"):
        Desk().add("both", both)


def test_the_page_draws_few_points_of_many() -> None:
    many = Desk()
    random = np.random.default_rng(1)
    n = 100_000
    times = pd.date_range("2024-05-01", periods=n, freq="20s", tz="UTC").astype(
        "datetime64[us, UTC]"
    )
    walk = np.cumsum(random.normal(0, 1e-4, (n, 2)), axis=0)
    table = pd.DataFrame(
        {"track": "0", "time": times, "latitude": 52.5 + walk[:, 0], "longitude": 13.4 + walk[:, 1]}
    )
    many.add("walk", table)
    summary = many.summary("UTC")
    assert sum(map(len, summary["track"])) <= 20_001
    assert sum(day["fixes"] for day in summary["days"]) == n


def test_a_secret_that_cannot_happen_that_day_is_named(desk: Desk) -> None:
    (weekday,) = document()["secrets"]
    weekend = weekday | {"name": "outing", "week": [[]] * 5 + [[10]] * 2}
    page = document() | {"secrets": [*document()["secrets"], weekend]}
    shown = json.loads(run(watch(desk, Setting.of(question(document=page)))).result)  # a Thursday
    assert [secret["name"] for secret in shown["picture"]["secrets"]] == ["treatment"]
    assert "“outing” cannot happen on this day" in " ".join(shown["remarks"])


def test_the_certificate_for_others_says_nothing_of_the_secrets(protected: Run) -> None:
    text = protected.files["hidden.certificate.json"]().decode()
    assert "treatment" not in text
    assert "presence" not in text
    assert "0.8" in text


def test_a_simulated_day_is_as_long_as_the_day_that_comes() -> None:
    short = Desk()
    table = city.days(0, 11)
    shift = pd.Timestamp("2024-03-30", tz=ZONE) - table["time"].max().tz_convert(ZONE).normalize()
    short.add("spring", table.assign(time=table["time"] + shift))
    shown = json.loads(run(watch(short, Setting.of(question(day="simulated")))).result)["picture"]
    assert len(shown["times"]) == 23
    assert shown["clock"][-1] == "23:00"


def test_a_place_beside_the_tracks_is_on_the_map(desk: Desk) -> None:
    page = document()
    page["places"][0]["circle"] = {"latitude": 52.56, "longitude": 13.40, "radius_km": 0.2}
    shown = json.loads(run(watch(desk, Setting.of(question(document=page)))).result)["picture"]
    assert shown["secrets"][0]["cells"]


def test_a_model_from_a_file_that_has_seen_the_day_is_named(
    desk: Desk, protected: Run, tmp_path: Path
) -> None:
    (tmp_path / "model.npz").write_bytes(protected.files["model.npz"]())
    other = Desk()
    other.add("days", city.days(0, 11))
    other.open_model(tmp_path / "model.npz")
    seen = json.loads(run(watch(other, Setting.of(question(day="2024-05-10")))).result)
    unseen = json.loads(run(watch(other, Setting.of(question()))).result)
    assert (SEEN in seen["remarks"], SEEN in unseen["remarks"]) == (True, False)
    other.forget_model()
    assert other.given is None
    assert desk.given is None


def test_each_fix_is_looked_at_with_noise_even_where_none_is_asked_for(desk: Desk) -> None:
    shown = json.loads(run(watch(desk, Setting.of(question(noise="none")))).result)["picture"]
    assert "2 km on average" in shown["ways"][2]["sentence"]
    assert shown["ways"][2]["mean_error"] > 0
