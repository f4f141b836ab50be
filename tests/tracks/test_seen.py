"""Which days a model has seen, and what it then cannot protect."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priste.errors import ModelFileError, TrackError
from priste.tracks import Model, fit_model, load_model, protect_track, save_model
from priste.tracks.seen import DAYS, USERS, days_seen, seen_in, stretches_of
from tests.tracks import city, streams


def learned(table: pd.DataFrame) -> Model:
    return fit_model(table, step="1h", place=city.PLACE, time_zone=city.ZONE)


def test_days_in_a_row_are_one_stretch_in_the_zone_of_the_model() -> None:
    table = pd.concat([city.days(0, 3), city.days(5, 6), city.days(8, 10)])
    assert seen_in(table, city.ZONE) == {
        DAYS: ["2024-05-06/2024-05-08", "2024-05-11/2024-05-11", "2024-05-14/2024-05-15"]
    }
    late = table.head(1).assign(time=pd.Timestamp("2024-05-06T22:30Z"))
    assert seen_in(late, city.ZONE)[DAYS] == ["2024-05-07/2024-05-07"]
    assert seen_in(late, "UTC")[DAYS] == ["2024-05-06/2024-05-06"]


def test_users_are_kept_if_the_table_names_them() -> None:
    table = city.days(0, 2).assign(user=["b", "a"] * 24)
    both = ["2024-05-06/2024-05-07"]
    assert seen_in(table, city.ZONE)[USERS] == {"a": both, "b": both}
    first = pd.concat([city.days(0, 2).assign(user="b"), city.days(1, 4).assign(user="a")])
    assert seen_in(first, city.ZONE) == {
        DAYS: ["2024-05-06/2024-05-09"],
        USERS: {"a": ["2024-05-07/2024-05-09"], "b": ["2024-05-06/2024-05-07"]},
    }
    many = pd.DataFrame({"time": table["time"].iloc[0], "user": range(2000)})
    assert USERS not in seen_in(many, city.ZONE)


def test_very_many_stretches_become_coarser_and_miss_no_day() -> None:
    times = pd.date_range("1900-01-01", periods=25_000, freq="2D", tz="UTC")
    found = seen_in(pd.DataFrame({"time": times}), "UTC")
    assert stretches_of(found) == [(times[0].date(), times[-1].date())]


def test_a_model_keeps_it_in_its_file(tmp_path: Path) -> None:
    model = learned(city.days(0, 3).assign(user="a"))
    save_model(model, tmp_path / "m.npz")
    back = load_model(tmp_path / "m.npz")
    assert back.provenance == model.provenance
    assert back.provenance[DAYS] == ["2024-05-06/2024-05-08"]
    assert back.provenance[USERS] == {"a": ["2024-05-06/2024-05-08"]}


@pytest.mark.parametrize(
    "provenance",
    [
        {DAYS: "2024-05-06/2024-05-08"},
        {DAYS: ["2024-05-06"]},
        {DAYS: ["2024-05-09/2024-05-08"]},
        {DAYS: ["2024-05-06/2024-05-08/2024-05-09"]},
        {DAYS: ["x/y"]},
        {DAYS: [["2024-05-06", "2024-05-08"]]},
        {DAYS: ["2024-05-06/2024-05-08"] * 10_001},
        {USERS: "a"},
        {USERS: ["a"]},
        {USERS: {"a": "2024-05-06/2024-05-08"}},
        {USERS: {"a": ["2024-05-09/2024-05-08"]}},
        {USERS: {"a": ["2024-05-06/2024-05-08"] * 10_001}},
        {USERS: {"\x07": []}},
        {USERS: {f"{number}": [] for number in range(1_001)}},
        {"other": ["a"]},
    ],
)
def test_a_file_with_other_days_or_users_is_refused(tmp_path: Path, provenance: Any) -> None:
    model = city.model()
    spoilt = Model(model.place, model.step, model.mobilities, model.time_zone, provenance)
    save_model(spoilt, tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="m.npz is not a model file"):
        load_model(tmp_path / "m.npz")


def test_only_the_days_of_the_same_person_or_of_nobody_known_count() -> None:
    first, last = date(2024, 5, 8), date(2024, 5, 11)
    ranges = ["2024-05-06/2024-05-08", "2024-05-11/2024-05-14"]
    both = ["2024-05-08", "2024-05-11"]
    assert days_seen({DAYS: ranges}, first, last, None) == both
    assert days_seen({DAYS: ranges}, first, last, "a") == both
    together = {DAYS: ranges, USERS: {"a": ranges, "b": ranges}}
    assert days_seen(together, first, last, "a") == both
    assert days_seen(together, first, last, None) == both
    assert days_seen({DAYS: ranges, USERS: {"b": ranges}}, first, last, "a") == []
    in_turn = {DAYS: ranges, USERS: {"a": ranges[:1], "b": ranges[1:]}}
    assert days_seen(in_turn, first, last, "a") == both[:1]
    assert days_seen(in_turn, first, last, "b") == both[1:]
    assert days_seen(in_turn, first, last, "c") == []
    assert days_seen(in_turn, first, last, None) == both
    unclaimed = {DAYS: ranges, USERS: {"b": ranges[:1]}}
    assert days_seen(unclaimed, first, last, "a") == both[1:]
    assert days_seen({USERS: {"a": ranges}}, first, last, "a") == both
    assert days_seen({DAYS: ranges}, date(2024, 5, 9), date(2024, 5, 10), None) == []
    assert days_seen({}, first, last, "a") == []


def test_a_model_is_refused_for_days_that_it_has_seen() -> None:
    model = learned(city.days(5, 11))
    expected = "learned from days that are to be protected: 2024-05-16. .*nobody accounts for"
    with pytest.raises(TrackError, match=expected):
        protect_track(city.days(10, 11), model, streams.events())
    with pytest.raises(TrackError, match=expected):
        protect_track(city.days(10, 11), model, streams.events(), stream="none.stream")
    one = city.days(10, 11).head(1)
    told = protect_track(one, model, streams.events(), model_has_seen_these_days=True)
    assert any("learned from days that are protected here" in c for c in told.certificate.caveats)


def test_other_people_may_have_taught_the_model() -> None:
    table = city.days(5, 11)
    model = learned(table.assign(user=np.where(np.arange(len(table)) < 72, "b", "c")))
    one = city.days(10, 11).head(1)
    track = protect_track(one.assign(user="a"), model, streams.events())
    assert not any("learned" in caveat for caveat in track.certificate.caveats)
    with pytest.raises(TrackError, match="learned from days"):
        protect_track(one.assign(user="c"), model, streams.events())
    protect_track(one.assign(user="b"), model, streams.events())  # who taught it other days
