"""Days that go on from one another."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from priste import Exponential, Protect, at
from priste.calibration import EveryOutput
from priste.errors import EventsFileError, PristeError, ProtectionError, TrackError
from priste.tracks import (
    Model,
    ProtectedTrack,
    TrackStream,
    check,
    fit_model,
    load_certificate,
    protect_track,
    save_certificate,
)
from priste.tracks.event_layout import HORIZON
from tests.tracks import city, streams


def go_on(
    day: int, events: Any = None, model: Model | None = None, **options: Any
) -> ProtectedTrack:
    """Protect one more day after the first."""
    table = options.pop("table", city.days(day, day + 1) if day < 12 else later(day))
    return protect_track(
        table,
        model or city.model(),
        events or streams.events(),
        stream=options.pop("stream", streams.days(1)[0].continued),
        **options,
    )


def later(day: int) -> pd.DataFrame:
    """Fixes of a day after those of the city."""
    moved = city.days(11, 12)
    return moved.assign(time=moved["time"] + pd.Timedelta(days=day - 11))


def test_a_stream_begins_with_the_first_day() -> None:
    (first,) = streams.days(1)
    stream = first.continued
    assert stream is not None
    assert stream.clock.start == city.DAYS[10]
    assert [release.step for release in first.releases] == list(range(24))
    assert stream.step == 24
    assert stream.number == 1
    assert stream.end == city.DAYS[11]


def test_the_next_day_goes_on() -> None:
    first, second = streams.days()
    assert [release.step for release in second.releases] == list(range(24, 48))
    released = pd.concat([first.released, second.released])
    assert released["time"].tolist() == city.days(10, 12)["time"].tolist()
    assert second.certificate.steps == range(24, 48)
    assert second.continued is not None
    assert second.continued.number == 2
    assert "loss treatment 2024-05-17" in second.diary


def test_days_without_fixes_are_steps_that_pass() -> None:
    result = go_on(13)
    assert [release.step for release in result.releases] == list(range(72, 96))
    assert result.certificate.steps == range(24, 96)  # what comes after it has no gap to it
    assert result.continued is not None
    assert result.continued.account()["treatment 2024-05-17"].state == "settled"


@pytest.mark.parametrize(
    "table", [city.days(10, 11), city.days(9, 10), city.days(10, 12), city.days(10, 11).tail(1)]
)
def test_a_day_that_is_released_already_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(TrackError, match="are released already, wholly or partly: the stream has"):
        go_on(10, table=table)


def test_each_day_is_asked_for_once_and_a_week_ahead() -> None:
    (first,) = streams.days(1)
    names = [f"treatment {city.DAYS[10].date() + pd.Timedelta(days=d)}" for d in range(8)]
    assert first.certificate.names == names
    assert pd.Timedelta(days=7) == HORIZON
    second = streams.days()[1]
    (new,) = set(second.certificate.names) - set(names)
    assert new == "treatment 2024-05-24"
    link = second.certificate.link
    assert link is not None
    asked = dict(zip(second.certificate.names, (s.asked for s in link.standings), strict=True))
    assert asked[new] == 24
    assert {asked[name] for name in names if name in asked} == {0}


def test_what_happens_while_nothing_is_released_is_asked_for_too() -> None:
    """After a gap of three weeks, the days of the gap are protected from what comes after."""
    result = go_on(31)
    stream = result.continued
    assert stream is not None
    names = {entry.name for entry in stream.account()}
    assert {f"treatment 2024-06-0{d}" for d in range(1, 7)} <= names


def test_a_changed_event_is_refused_and_a_new_one_is_not(tmp_path: Path) -> None:
    for old, new in (("epsilon = 0.8", "epsilon = 0.5"), ('"13:00"', '"14:00"')):
        path = city.events_file(tmp_path, streams.EVENTS.replace(old, new))
        with pytest.raises(EventsFileError, match=r"events.treatment: .*stays promised; give"):
            go_on(11, path)
    more = streams.EVENTS + streams.EVENTS[streams.EVENTS.index("[events.") :].replace(
        "treatment", "therapy"
    )
    stream = streams.days(1)[0].continued
    assert stream is not None
    names = [w.name for w in stream.asking(city.events_file(tmp_path, more), 48).state.watched]
    assert "therapy 2024-05-17" in names
    assert names.count("treatment 2024-05-17") == 1


TIMED = """
time_zone = "Europe/Berlin"
regions.clinic.cells = [12]
windows.once = { start = 2024-05-%sT09:00:00, end = 2024-05-%sT11:00:00 }
events.once = { kind = "presence", region = "clinic", window = "once", epsilon = 1 }
"""


def test_an_event_of_its_own_time_is_asked_for_before_it_begins(tmp_path: Path) -> None:
    stream = streams.days(1)[0].continued
    assert stream is not None
    soon = stream.asking(city.events_file(tmp_path, TIMED % (20, 20)), 48)
    assert soon.asked["once"] == 24
    far = stream.asking(city.events_file(tmp_path, TIMED % (28, 28)), 48)
    assert "once" not in far.asked
    again = soon.asking(city.events_file(tmp_path, TIMED % (20, 20)), 48)
    assert len(again.state.watched) == len(soon.state.watched)
    with pytest.raises(EventsFileError, match="events.once began at 2024-05-16 .* asked for"):
        stream.asking(city.events_file(tmp_path, TIMED % (16, 18)), 48)


def test_a_stream_with_nothing_to_protect_does_not_begin(tmp_path: Path) -> None:
    path = city.events_file(tmp_path, TIMED % (29, 29))
    with pytest.raises(EventsFileError, match="no event begins in the first days of the stream"):
        go_on(10, path, stream=tmp_path / "none.stream")


def test_protections_of_a_stream_have_names() -> None:
    stream = streams.days(1)[0].continued
    assert stream is not None
    named = stream.asking([Protect(at(3, 30), 1, name="there")], 48)
    assert named.asked["there"] == 24
    with pytest.raises(ProtectionError, match="give every protection of a stream a name"):
        stream.asking([Protect(at(3, 30), 1)], 48)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adversary": "any"}, "began with another adversary"),
        ({"rho": 0.2}, "began with another adversary"),
        ({"mechanism": Exponential(city.PLACE.grid, 1.0)}, "began with another mechanism"),
        ({"calibration": EveryOutput()}, "began with another calibration"),
        ({"seed": 1}, "a seed is given when a stream begins"),
    ],
)
def test_a_stream_goes_on_as_it_began(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtectionError, match=message):
        go_on(11, **options)


def other_model(first: int, last: int) -> Model:
    days = city.days(first, last)
    return fit_model(days, step="1h", place=city.PLACE, time_zone=city.ZONE, order=1, habits=1)


def test_a_model_is_exchanged_only_on_request_and_for_one_that_has_seen_no_day() -> None:
    with pytest.raises(ProtectionError, match="this is another; --exchange-model"):
        go_on(11, model=other_model(0, 5))
    for spoilt in (other_model(9, 11), other_model(5, 12)):
        with pytest.raises(TrackError, match="learned from days that are to be protected"):
            go_on(11, model=spoilt, exchange_model=True, model_has_seen_these_days=True)
    elsewhere = replace(other_model(0, 5), time_zone="UTC")
    with pytest.raises(ProtectionError, match="the map, the step and the zone"):
        go_on(11, model=elsewhere, exchange_model=True)


def test_an_exchanged_model_stays_until_what_is_live_is_settled() -> None:
    other = other_model(0, 5)
    stream = streams.days(1)[0].continued
    assert stream is not None
    live = [entry.name for entry in stream.account().of("live")]
    assert live
    exchanged = stream.exchanging(other)
    assert exchanged.models == (city.model(), other)
    result = go_on(11, model=other, exchange_model=True)
    assert result.continued is not None
    account = result.continued.account()
    assert all(account[name].state == "settled" for name in live)
    assert result.continued.models == (other,)
    assert result.certificate.model == other.fingerprint


def test_a_day_without_a_release_must_not_have_been_seen_either() -> None:
    """What the model has learned from the day between tells about the event of that day."""
    model = other_model(11, 12)
    first = go_on(10, model=model, stream="none.stream")
    with pytest.raises(TrackError, match="learned from days that are to be protected: 2024-05-17"):
        go_on(12, model=model, stream=first.continued)


def test_a_stream_goes_on_when_everything_is_settled(tmp_path: Path) -> None:
    events = city.events_file(tmp_path, TIMED % (16, 16))
    first = go_on(10, events, stream=tmp_path / "new.stream")
    second = go_on(12, events, stream=first.continued)
    third = go_on(13, events, stream=second.continued)
    assert third.certificate.names == []
    assert len(third.releases) == 24
    certificates = []
    for result in (first, second, third):
        save_certificate(result.certificate, tmp_path / "c.json")
        certificates.append(load_certificate(tmp_path / "c.json"))
    found = check(certificates, city.model())
    assert found.kept
    assert [verdict.name for verdict in found.verdicts] == ["once"]


def test_an_error_leaves_the_stream_as_it_was() -> None:
    stream = streams.days(1)[0].continued
    assert stream is not None
    before = stream.account()
    with pytest.raises(PristeError):
        go_on(11, table=city.days(11, 12).head(0))
    assert stream.account() == before
    assert repr(stream).startswith("<TrackStream: 1 certificates, until 2024-05-17")
    assert isinstance(stream, TrackStream)
