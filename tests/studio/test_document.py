import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.demo import EVENTS
from priste.errors import EventsFileError, StudioError
from priste.studio.document import from_text, to_tables, to_text, week_of, windows_of
from priste.tracks import Clock
from priste.tracks.events_file import Reader
from priste.tracks.fields import hour
from priste.tracks.windows import Window
from tests.tracks import city

weeks = st.lists(st.sets(st.integers(0, 23)).map(sorted), min_size=7, max_size=7)

PAGE: dict[str, Any] = {
    "time_zone": "Europe/Berlin",
    "places": [
        {"name": "clinic", "circle": {"latitude": 52.52, "longitude": 13.4, "radius_km": 0.4}},
        {"name": "home", "polygon": [[13.39, 52.5], [13.41, 52.5], [13.41, 52.51]]},
    ],
    "secrets": [
        {"name": "at clinic", "place": "clinic", "week": [[9, 10]] * 5 + [[], []], "epsilon": 0.5},
        {"name": "at home", "place": "home", "week": [[0, 1, 22, 23]] * 7, "epsilon": 1.0},
    ],
    "kept": "",
}


@given(weeks)
def test_painted_hours_come_back_from_their_windows(week: list[list[int]]) -> None:
    windows = windows_of(week)
    if any(week):
        assert week_of(windows) == week
    else:
        assert windows == []


@given(weeks)
def test_the_windows_hold_exactly_the_painted_hours(week: list[list[int]]) -> None:
    clock = Clock(pd.Timestamp("2024-05-06", tz="Europe/Berlin"), pd.Timedelta("1h"))  # a Monday
    held: set[int] = set()
    for table in windows_of(week):
        opens, closes = hour(table["from"], "w.from"), hour(table["to"], "w.to")
        whole_day = (table["from"], table["to"]) == ("00:00", "24:00")
        ends = (None, None) if whole_day else (opens, closes)
        days = tuple(table["days"]) if "days" in table else None
        window = Window("Europe/Berlin", opens=ends[0], closes=ends[1], days=days)
        held |= set(window.steps(clock, 7 * 24))
    assert held == {24 * day + hour for day, hours in enumerate(week) for hour in hours}


def test_what_is_on_the_page_comes_back_from_its_file() -> None:
    assert from_text(to_text(PAGE).encode()) == PAGE


def test_the_file_protects_what_was_drawn() -> None:
    clock = Clock(pd.Timestamp("2024-05-06", tz="Europe/Berlin"), pd.Timedelta("1h"))
    tables = tomllib.loads(to_text(PAGE))
    found = Reader(tables, Path(), city.PLACE, clock, 24).protections()
    clinic, home = (each.event for each in found)
    assert clinic.steps == (9, 10)
    assert home.steps == (0, 1, 22, 23)
    assert found[0].epsilon == 0.5


def test_the_demo_can_be_drawn() -> None:
    page = from_text(EVENTS.encode())
    assert page["kept"] == ""
    again, before = tomllib.loads(to_text(page)), tomllib.loads(EVENTS)
    assert again["regions"] == before["regions"]
    assert [*again["windows"].values()] == [*before["windows"].values()]
    assert again["events"]["treatment"] == before["events"]["treatment"] | {"window": "treatment"}


def test_what_cannot_be_drawn_is_kept_as_it_was_written() -> None:
    text = """
time_zone = "Europe/Berlin"
[regions.here]
cells = [3, 4]
[regions.clinic]
circle = { latitude = 52.52, longitude = 13.4, radius_km = 0.4 }
[windows.once]
start = 2024-05-06T08:00:00+02:00
end = 2024-05-06T09:30:00+02:00
[windows.half]
from = "09:30"
to = "10:30"
[windows.morning]
from = "09:00"
to = "12:00"
[events.visit]
kind = "visits"
region = "clinic"
window = "half"
at_least = 2
epsilon = 1.0
[events.there]
kind = "presence"
region = "here"
window = "once"
[events.plain]
kind = "presence"
region = "clinic"
window = "morning"
epsilon = 0.5
[events.either]
kind = "expression"
expression = "visit or there"
epsilon = 2.0
"""
    page = from_text(text.encode())
    assert [secret["name"] for secret in page["secrets"]] == ["plain"]
    again, before = tomllib.loads(to_text(page)), tomllib.loads(text)
    assert again["events"] == before["events"] | {
        "plain": before["events"]["plain"] | {"window": "plain"}
    }
    for part in ("once", "half"):
        assert again["windows"][part] == before["windows"][part]
    assert again["regions"] == before["regions"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"places": [{"name": "x"}]}, "needs a circle or a polygon"),
        ({"places": [PAGE["places"][0], PAGE["places"][0]]}, "two of the name 'clinic'"),
        ({"secrets": [PAGE["secrets"][0] | {"week": [[]] * 7}]}, "has no hours; paint some"),
        ({"secrets": [PAGE["secrets"][0] | {"week": [[24]] * 7}]}, "hours from 0 to 23"),
        ({"secrets": [PAGE["secrets"][0] | {"week": 3}]}, "not as the page writes them"),
        ({"secrets": [{}]}, "not as the page writes them"),
        ({"places": [{"name": "a\nb", "circle": {}}]}, "unprintable"),
        ({"kept": "no toml ="}, "what is kept is not TOML"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(change: dict[str, object], message: str) -> None:
    with pytest.raises((StudioError, EventsFileError), match=message):
        to_tables(PAGE | change)


@pytest.mark.parametrize("content", [b"\xff", b"[[regions]]", b"regions = 3", b"[events]\nx = 3"])
def test_a_file_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises((StudioError, EventsFileError)):
        from_text(content)
