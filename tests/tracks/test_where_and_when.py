"""What a certificate says of an event is a place and hours."""

import pandas as pd
import pytest

from priste import Event, Grid, at, pattern, presence
from priste.events import Withheld
from priste.tracks import Clock, LocalMap
from priste.tracks.where_and_when import where_and_when

PLACE = LocalMap(Grid(5, 5, cell_size=1.0), 52.5, 13.4)
CLOCK = Clock(pd.Timestamp("2024-05-03T00:00", tz="Europe/Berlin"), pd.Timedelta(hours=1))


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            presence([12], range(9, 13)),
            "within 0.7 km of 52.5000, 13.4000, 2024-05-03 09:00 to 13:00 Europe/Berlin",
        ),
        (
            presence([12, 13], [9, 33]),
            "within 1.1 km of 52.5000, 13.4074, 2024-05-03 09:00 to 2024-05-04 10:00 with gaps, "
            "Europe/Berlin",
        ),
        (at(12, 23), "within 0.7 km of 52.5000, 13.4000, 2024-05-03 23:00 to 24:00 Europe/Berlin"),
        (
            ~pattern([range(25), [3]], 0),
            "within 3.5 km of 52.5000, 13.4000, 2024-05-03 00:00 to 02:00 Europe/Berlin",
        ),
        (Withheld(), ""),
    ],
)
def test_an_event_is_told_in_places_and_hours(event: Event, words: str) -> None:
    assert where_and_when(event, PLACE, CLOCK, "Europe/Berlin") == words
