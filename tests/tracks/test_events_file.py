from pathlib import Path

import pandas as pd
import pytest

from priste import Grid, Protect, at, at_least, pattern, presence
from priste.errors import EventsFileError
from priste.tracks import Clock, LocalMap, read_events
from priste.tracks.events_file import Reader, asked_events
from priste.tracks.events_remarks import absent_events
from priste.tracks.where_and_when import where_and_when

PLACE = LocalMap(Grid(10, 10, cell_size=1.0), 52.5, 13.4)
WIDE = LocalMap(Grid(10, 10, cell_size=1.0, elsewhere=True), 52.5, 13.4)
CLOCK = Clock(pd.Timestamp("2024-05-03T00:00", tz="Europe/Berlin"), pd.Timedelta(hours=1))

GOOD = """
time_zone = "Europe/Berlin"

[regions.clinic]
circle = { latitude = 52.5, longitude = 13.4, radius_km = 0.2 }
[regions.home]
cells = [3, 4]
[regions.work]
polygon = [[13.41, 52.51], [13.42, 52.51], [13.42, 52.52]]
[regions.zone]
geojson = "zone.geojson"

[windows.office]
from = "09:00"
to = 17:00:00
days = ["mon", "tue", "wed", "thu", "fri"]
[windows.trip]
start = 2024-05-03T20:00:00+02:00
end = 2024-05-04T02:00:00

[events.treatment]
kind = "presence"
region = "clinic"
window = "office"
epsilon = 0.5

[events.often]
kind = "visits"
region = "zone"
window = "office"
at_least = 2
epsilon = 1
sides = "event"

[events.commute]
kind = "pattern"
regions = ["home", "work", "home"]
start = 2024-05-03T08:00:00

[events.secret]
kind = "expression"
expression = "commute and not (treatment or often)"
epsilon = 0.7
"""

ZONE = """{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {},
"geometry": {"type": "Polygon",
"coordinates": [[[13.39, 52.49], [13.391, 52.49], [13.39, 52.491]]]}}]}"""


def load(tmp_path: Path, text: str, n_steps: int = 48) -> list[Protect]:
    (tmp_path / "zone.geojson").write_text(ZONE)
    (tmp_path / "events.toml").write_text(text)
    return read_events(tmp_path / "events.toml", PLACE, CLOCK, n_steps)


def test_an_event_can_be_about_several_windows_together(tmp_path: Path) -> None:
    text = GOOD.replace(
        "[events.treatment]",
        '[windows.late]\nfrom = "16:00"\nto = "22:00"\n[events.treatment]',
    ).replace('window = "office"\nepsilon = 0.5', 'window = ["office", "late"]\nepsilon = 0.5')
    found = {p.name: p for p in load(tmp_path, text)}
    clinic = PLACE.circle(52.5, 13.4, 0.2)
    hours = [*range(9, 22), *range(40, 46)]  # a Friday and a Saturday
    assert found["treatment"].event == presence(clinic, hours)
    daily = {
        p.name: p
        for p in load(tmp_path, text.replace("epsilon = 0.5", "epsilon = 0.5\neach_day = true"))
    }
    assert daily["treatment 2024-05-03"].event == presence(clinic, range(9, 22))
    assert daily["treatment 2024-05-04"].event == presence(clinic, range(40, 46))


@pytest.mark.parametrize("windows", ["[]", '["office", "night"]', '["office", 3]', "3"])
def test_windows_that_are_none_are_refused(tmp_path: Path, windows: str) -> None:
    text = GOOD.replace('window = "office"\nepsilon = 0.5', f"window = {windows}\nepsilon = 0.5")
    with pytest.raises(EventsFileError, match="events.treatment.window names .* not a window"):
        load(tmp_path, text)


def test_each_day_can_be_an_event_of_its_own(tmp_path: Path) -> None:
    text = GOOD.replace('kind = "presence"', 'kind = "presence"\neach_day = true').replace(
        'days = ["mon", "tue", "wed", "thu", "fri"]', ""
    )
    found = {p.name: p for p in load(tmp_path, text)}
    clinic = PLACE.circle(52.5, 13.4, 0.2)
    assert found["treatment 2024-05-03"].event == presence(clinic, range(9, 17))
    assert found["treatment 2024-05-04"].event == presence(clinic, range(33, 41))
    assert "treatment" not in found
    with pytest.raises(EventsFileError, match="events.treatment.each_day must be true or false"):
        load(tmp_path, text.replace("each_day = true", "each_day = 1"))
    with pytest.raises(EventsFileError, match="events.commute does not know each_day"):
        load(tmp_path, GOOD.replace('kind = "pattern"', 'kind = "pattern"\neach_day = true'))


def test_places_and_clocks_become_events(tmp_path: Path) -> None:
    found = {p.name: p for p in load(tmp_path, GOOD)}
    assert list(found) == ["treatment", "often", "secret"]  # commute has no epsilon of its own
    office = range(9, 17)  # the 3rd is a Friday, the 4th a Saturday
    clinic = PLACE.circle(52.5, 13.4, 0.2)
    treatment = presence(clinic, office)
    assert found["treatment"].event == treatment
    assert found["treatment"].epsilon == 0.5
    zone = PLACE.polygon([(13.39, 52.49), (13.391, 52.49), (13.39, 52.491)])
    often = at_least(2, [at(zone, step) for step in office])
    assert found["often"].event == often
    assert found["often"].sides == "event"
    work = PLACE.polygon([(13.41, 52.51), (13.42, 52.51), (13.42, 52.52)])
    commute = pattern([[3, 4], work, [3, 4]], start=8)
    assert found["secret"].event == commute & ~(treatment | often)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "visits"', 'kind = "stay"', "events.often.kind must be one of presence, .*'stay'"),
        (
            'region = "clinic"',
            'region = "spa"',
            "events.treatment.region names 'spa'.*there are clinic",
        ),
        ('region = "clinic"', "", "events.treatment needs region"),
        (
            'window = "office"\nepsilon',
            'window = "night"\nepsilon',
            "events.treatment.window names 'night'",
        ),
        (
            "epsilon = 0.5",
            "epsilon = 0",
            "events.treatment.epsilon: epsilon must be .* above 0, got 0",
        ),
        ("epsilon = 0.5", 'epsilon = "low"', "events.treatment.epsilon: epsilon must be .*'low'"),
        ("epsilon = 0.5", "epsilom = 0.5", "events.treatment does not know epsilom; it knows kind"),
        ('sides = "event"', 'sides = "left"', "events.often.sides must be one of both, event"),
        (
            "at_least = 2",
            "at_least = 99",
            "events.often.at_least: at_least asks for 99 of 8 events",
        ),
        ("at_least = 2", "at_least = 1.5", "events.often.at_least must be a whole number, got 1.5"),
        ("radius_km = 0.2", "radius_km = -1", "regions.clinic.circle: radius must be .* got -1"),
        (", radius_km = 0.2", "", "regions.clinic.circle needs radius_km"),
        ("latitude = 52.5,", 'latitude = "x",', "regions.clinic.circle.latitude must be a number"),
        ("cells = [3, 4]", "cells = [3, 400]", "regions.home.cells: .*off the map: 400"),
        ("cells = [3, 4]", "cells = [3]\ncircle = {}", "regions.home needs exactly one of circle"),
        ('geojson = "zone', 'geojson = "none', "regions.zone.geojson: none.geojson is not GeoJSON"),
        ('from = "09:00"', 'from = "nine"', "windows.office.from must be an hour .* got 'nine'"),
        ('"mon", "tue"', '"monday", "tue"', "windows.office: days are mon, .* not .monday"),
        ('time_zone = "Europe/Berlin"', "", "needs a time zone|has no time zone"),
        ('time_zone = "Europe/Berlin"', 'time_zone = "X/Y"', "time_zone 'X/Y' is not known|X/Y"),
        ("end = 2024-05-04T02:00:00", "end = 2024-05-01T02:00:00", None),
        (
            "start = 2024-05-03T08:00:00\n",
            'start = "08:00"\n',
            "events.commute.start must be a moment",
        ),
        (
            "start = 2024-05-03T08:00:00\n",
            "start = 2024-05-04T23:00:00\n",
            "events.commute.start: a part of the pattern lies outside the stream",
        ),
        ('"commute and not', '"commute xor not', "events.secret.expression cannot be read"),
        ('"commute and not', '"walk and not', "events.secret.expression: 'walk' is not an event"),
        ('"commute and not', '"len(commute) and not', "may use only names, and, or, not"),
        ('"commute and not', '"secret and not', "events.secret is defined by itself"),
        ("[windows.trip]", "[windows.trip", "events.toml is not TOML"),
        ("[events.secret]", "[places.x]\n[events.secret]", "the file does not know places"),
    ],
)
def test_mistakes_are_named_with_their_field(
    tmp_path: Path, old: str, new: str, message: str | None
) -> None:
    assert old in GOOD
    if message is None:  # a window that no event uses is not looked at
        load(tmp_path, GOOD.replace(old, new, 1))
        return
    with pytest.raises(EventsFileError, match=message):
        load(tmp_path, GOOD.replace(old, new, 1))


def test_there_may_be_no_event_on_a_day(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD, n_steps=5) == []
    path = tmp_path / "events.toml"
    assert absent_events(Reader.of(path, PLACE, CLOCK, 5)) == ["treatment", "often", "secret"]
    asked = asked_events(path, PLACE, CLOCK)
    assert [(p.name, p.epsilon, p.sides) for p in asked] == [
        ("treatment", 0.5, "both"),
        ("often", 1.0, "event"),
        ("secret", 0.7, "both"),
    ]


def test_a_zone_that_does_not_exist_is_blamed_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(EventsFileError, match=r"^time_zone"):
        load(tmp_path, GOOD.replace("Europe/Berlin", "Europe/Bern"))


def test_decimal_commas_are_recognised(tmp_path: Path) -> None:
    with pytest.raises(EventsFileError, match="write decimals with a point, as in 52.5"):
        load(tmp_path, GOOD.replace("epsilon = 0.5", "epsilon = 0,5"))


def test_what_does_not_occur_on_a_day_is_not_there(tmp_path: Path) -> None:
    """A file with an event of weekdays and one of weekends works on either."""
    weekend = f"""{GOOD}
[windows.weekend]
days = ["sat", "sun"]
[events.outing]
kind = "presence"
region = "home"
window = "weekend"
epsilon = 0.3
[events.both]
kind = "expression"
expression = "treatment or outing"
epsilon = 0.4
[events.neither]
kind = "expression"
expression = "not outing"
epsilon = 0.4
"""
    path, later = tmp_path / "events.toml", Clock(CLOCK.start + pd.Timedelta(days=1), CLOCK.length)
    friday = {p.name: p.event for p in load(tmp_path, weekend, n_steps=24)}
    assert set(friday) == {"treatment", "often", "secret", "both"}
    assert friday["both"] == friday["treatment"]
    assert absent_events(Reader.of(path, PLACE, CLOCK, 24)) == ["outing", "neither"]
    saturday = {p.name: p.event for p in read_events(path, PLACE, later, 24)}
    assert set(saturday) == {"outing", "both", "neither"}
    assert saturday["neither"] == ~saturday["outing"]
    assert saturday["both"] == saturday["outing"] == presence([3, 4], range(24))
    assert absent_events(Reader.of(path, PLACE, later, 24)) == ["treatment", "often", "secret"]


def test_files_without_protection_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EventsFileError, match="has no events"):
        load(tmp_path, 'time_zone = "UTC"')
    with pytest.raises(EventsFileError, match="nothing would be protected"):
        load(
            tmp_path,
            GOOD.replace("epsilon = 0.5", "")
            .replace('epsilon = 1\nsides = "event"', "")
            .replace("epsilon = 0.7", ""),
        )
    with pytest.raises(EventsFileError, match="cannot be read"):
        read_events(tmp_path / "none.toml", PLACE, CLOCK, 5)


@pytest.mark.parametrize(
    ("hours", "steps"),
    [
        ('from = "18:00"\nto = "24:00"', range(18, 24)),
        ('from = "00:00"\nto = "24:00"', range(24)),
        ('from = "00:00"\nto = "06:00"', range(6)),
    ],
)
def test_a_day_may_end_at_24_hours(tmp_path: Path, hours: str, steps: range) -> None:
    text = GOOD.replace('from = "09:00"\nto = 17:00:00', hours)
    event = next(p.event for p in load(tmp_path, text, n_steps=24) if p.name == "treatment")
    assert event == presence(PLACE.circle(52.5, 13.4, 0.2), steps)


def test_a_day_does_not_begin_at_24_hours(tmp_path: Path) -> None:
    with pytest.raises(
        EventsFileError, match='windows.office.from must be an hour such as "09:00"'
    ):
        load(tmp_path, GOOD.replace('from = "09:00"', 'from = "24:00"'))


def test_a_region_off_the_map_is_told_where_the_map_is(tmp_path: Path) -> None:
    off = GOOD.replace("latitude = 52.5, longitude = 13.4,", "latitude = 48.1, longitude = 11.6,")
    with pytest.raises(
        EventsFileError,
        match="regions.clinic.circle.*off the map, whose cells lie between latitude 52.460 and "
        "52.540, longitude 13.334 and 13.466",
    ):
        load(tmp_path, off)


AWAY = """
time_zone = "Europe/Berlin"
[regions.away]
elsewhere = true
[windows.day]
from = "09:00"
to = "11:00"
[events.trip]
kind = "presence"
region = "away"
window = "day"
epsilon = 0.5
"""


def test_an_event_may_be_about_what_is_off_the_map(tmp_path: Path) -> None:
    path = tmp_path / "events.toml"
    path.write_text(AWAY)
    (protection,) = read_events(path, WIDE, CLOCK, 24)
    assert protection.event == presence({100}, [9, 10])
    about = where_and_when(protection.event, WIDE, CLOCK, "Europe/Berlin")
    assert about == "off the map, 2024-05-03 09:00 to 11:00 Europe/Berlin"
    both = where_and_when(presence({0, 100}, [9]), WIDE, CLOCK, "Europe/Berlin")
    assert both.startswith("off the map or within 0.7 km of 52.4")
    with pytest.raises(EventsFileError, match=r"the map has no cell .* \(--elsewhere\)"):
        read_events(path, PLACE, CLOCK, 24)
    for value in ("false", "1", '"yes"'):
        path.write_text(AWAY.replace("true", value))
        with pytest.raises(EventsFileError, match=r"regions.away.elsewhere can only be true"):
            read_events(path, WIDE, CLOCK, 24)


def test_exchanged_coordinates_of_a_circle_are_suspected(tmp_path: Path) -> None:
    text = GOOD.replace("latitude = 52.5", "latitude = 113.4")
    with pytest.raises(EventsFileError, match="has it changed places with the longitude"):
        load(tmp_path, text)
