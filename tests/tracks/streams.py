"""A person's days in one stream, for tests of what goes on from day to day."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from priste.tracks import ProtectedTrack, protect_track
from tests.tracks import city

EVENTS = """
time_zone = "Europe/Berlin"
regions.clinic.circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }
windows.morning = { from = "09:00", to = "13:00" }
[events.treatment]
kind = "presence"
region = "clinic"
window = "morning"
epsilon = 0.8
"""


@cache
def events() -> Path:
    return city.events_file(Path(mkdtemp()), EVENTS)


def days(n: int = 2) -> tuple[ProtectedTrack, ...]:
    """The first `n` of two days, each going on from the one before."""
    return _days(n)


@cache
def _days(n: int) -> tuple[ProtectedTrack, ...]:
    if n == 1:
        missing = Path(mkdtemp()) / "me.stream"
        day = city.days(10, 11)
        return (protect_track(day, city.model(), events(), stream=missing, seed=1),)
    first = days(1)[0]
    day = city.days(11, 12)
    return first, protect_track(day, city.model(), events(), stream=first.continued)
