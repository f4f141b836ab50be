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
        {
            "name": "at clinic",
            "place": "clinic",
            "week": [[9, 10]] * 5 + [[], []],
            "epsilon": 0.5,
            "sides": "event",
        },
        {
            "name": "at home",
            "place": "home",
            "week": [[0, 1, 22, 23]] * 7,
            "epsilon": 1.0,
            "sides": "both",
        },
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
    assert (found[0].epsilon, found[0].sides) == (0.5, "event")
    assert (found[1].epsilon, found[1].sides) == (1.0, "both")


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


def test_sides_that_are_none_are_kept_for_the_reader_to_refuse() -> None:
    page = from_text(to_text(PAGE).replace('"event"', '"neither"').encode())
    assert [secret["name"] for secret in page["secrets"]] == ["at home"]
    assert tomllib.loads(to_text(page))["events"]["at clinic"]["sides"] == "neither"


@pytest.mark.parametrize("content", [b"\xff", b"[[regions]]", b"regions = 3", b"[events]\nx = 3"])
def test_a_file_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises((StudioError, EventsFileError)):
        from_text(content)


def test_windows_have_names_of_their_own() -> None:
    first = PAGE["secrets"][0] | {"name": "at place", "week": [[1, 5]] * 7}
    second = PAGE["secrets"][0] | {"name": "at place 2", "week": [[1]] * 7}
    tables = to_tables(
        PAGE
        | {"secrets": [first, second], "kept": '[windows."at place"]\nfrom = "09:30"\nto = "10:00"'}
    )
    used = [tables["events"][name]["window"] for name in ("at place", "at place 2")]
    assert used == [["at place 2", "at place 3"], "at place 2 2"]
    assert len(tables["windows"]) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("regions.x.circle = 3", "regions.x.circle must be a table"),
        ("regions.x.circle = { latitude = 1.0 }", "regions.x.circle needs longitude"),
        ('regions.x.polygon = "x"', "regions.x.polygon must be a list of corners"),
        ("regions.x.polygon = [[1, 2], [3]]", "regions.x.polygon must be a list of corners"),
        ("time_zone = 3", "time_zone: time_zone 3 is not known"),
        ('time_zone = "Europe/Київ"', "is not known"),
        ("colour = 3", "the file does not know colour"),
    ],
)
def test_a_file_that_cannot_be_drawn_is_refused_before_anything_is(line: str, message: str) -> None:
    with pytest.raises(EventsFileError, match=message):
        from_text(line.encode())


@pytest.mark.parametrize(
    "window",
    [
        'from = "09:00"',
        'from = 09:00:30\nto = "10:00"',
        'from = "09:00"\nto = "10:00"\ndays = 3',
        'from = "22:00"\nto = "06:00"',
    ],
)
def test_hours_that_cannot_be_painted_are_kept(window: str) -> None:
    text = f"""
[regions.x]
circle = {{ latitude = 52.5, longitude = 13.4, radius_km = 1 }}
[windows.w]
{window}
[windows.unused]
from = "01:00"
to = "02:00"
[events.e]
kind = "presence"
region = "x"
window = "w"
epsilon = 1
"""
    page = from_text(text.encode())
    assert page["secrets"] == []
    assert page["time_zone"] is None
    again = tomllib.loads(to_text(page | {"time_zone": "UTC"}))
    before = tomllib.loads(text)
    assert (again["windows"], again["events"]) == (before["windows"], before["events"])
