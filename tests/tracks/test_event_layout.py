"""What an events file asks for in a stretch of a stream."""

from datetime import time
from pathlib import Path

import pandas as pd
import pytest

from priste import Event, Grid, at_least, pattern, presence
from priste.errors import EventsFileError
from priste.events import At
from priste.tracks import Clock, LocalMap, Window, read_events
from priste.tracks.event_layout import lay_out

PLACE = LocalMap(Grid(10, 10, cell_size=1.0), 52.5, 13.4)
FRIDAY = pd.Timestamp("2024-05-03T00:00", tz="Europe/Berlin")
CLOCK = Clock(FRIDAY, pd.Timedelta(hours=1))
DAY = 24

HEAD = """
time_zone = "Europe/Berlin"
regions.clinic.cells = [3, 4]
regions.club.cells = [7]
windows.office = { from = "09:00", to = "17:00", days = ["mon", "tue", "wed", "thu", "fri"] }
windows.night = { from = "22:00", to = "02:00" }
windows.trip = { start = 2024-05-05T08:00:00, end = 2024-05-07T08:00:00 }
windows.summer = { from = "09:00", to = "11:00", start = 2024-05-04T00:00:00 }
windows.always = { start = 2024-05-04T00:00:00 }
"""
OFFICE = 'kind = "presence", region = "clinic", window = "office"'
NIGHT = 'kind = "presence", region = "club", window = "night"'


def laid(tmp_path: Path, events: str, steps: range) -> dict[str, Event]:
    path = tmp_path / "events.toml"
    path.write_text(HEAD + "[events]\n" + events)
    found = lay_out(path, PLACE, CLOCK, steps)
    named = {str(asked.protection.name): asked.protection.event for asked in found}
    assert len(named) == len(found)
    return named


def test_a_window_that_recurs_is_an_event_of_every_day(tmp_path: Path) -> None:
    found = laid(tmp_path, f"treatment = {{ {OFFICE}, epsilon = 0.5 }}", range(5 * DAY))
    assert found == {
        "treatment 2024-05-03": presence([3, 4], range(9, 17)),
        "treatment 2024-05-06": presence([3, 4], range(3 * DAY + 9, 3 * DAY + 17)),
        "treatment 2024-05-07": presence([3, 4], range(4 * DAY + 9, 4 * DAY + 17)),
    }


def test_several_windows_of_a_day_are_one_event_of_that_day(tmp_path: Path) -> None:
    both = 'kind = "presence", region = "clinic", window = ["office", "night"]'
    found = laid(tmp_path, f"out = {{ {both}, epsilon = 0.5 }}", range(2 * DAY))
    assert found == {
        "out 2024-05-02": presence([3, 4], range(2)),  # the end of the night before
        "out 2024-05-03": presence([3, 4], [*range(9, 17), *range(22, 26)]),
        "out 2024-05-04": presence([3, 4], range(DAY + 22, DAY + 26)),
    }


def test_windows_of_every_day_do_not_go_together_with_one_that_ends(tmp_path: Path) -> None:
    both = 'kind = "presence", region = "clinic", window = ["office", "trip"]'
    with pytest.raises(EventsFileError, match=r"events.out.window: .* do not go together"):
        laid(tmp_path, f"out = {{ {both}, epsilon = 0.5 }}", range(2 * DAY))


def test_a_stretch_begins_where_the_one_before_it_ended(tmp_path: Path) -> None:
    """Whatever the stretches are, together they ask for every event once, and in full."""
    events = f"treatment = {{ {OFFICE}, epsilon = 0.5 }}\nout = {{ {NIGHT}, epsilon = 1 }}"
    whole = laid(tmp_path, events, range(20 * DAY))
    parts: dict[str, Event] = {}
    for first, last in ((0, 30), (30, 47), (47, 200), (200, 20 * DAY)):
        part = laid(tmp_path, events, range(first, last))
        assert not set(part) & set(parts)
        parts |= part
    assert parts == whole
    nights = Window("Europe/Berlin", opens=time(22), closes=time(2)).by_day(CLOCK, 21 * DAY)
    days = {f"out {day}": steps for day, steps in nights.items() if steps[0] < 20 * DAY}
    assert {name: e for name, e in whole.items() if name in days} == {
        name: presence([7], steps) for name, steps in days.items()
    }


def test_the_small_hours_of_the_first_day_are_cut_by_its_start(tmp_path: Path) -> None:
    found = laid(tmp_path, f"out = {{ {NIGHT}, epsilon = 1 }}", range(DAY))
    assert found["out 2024-05-02"] == presence([7], [0, 1])
    assert found["out 2024-05-03"] == presence([7], [22, 23, 24, 25])
    visits = NIGHT.replace("presence", "visits")
    found = laid(tmp_path, f"out = {{ {visits}, at_least = 3, epsilon = 1 }}", range(DAY))
    assert found == {"out 2024-05-03": at_least(3, [At((7,), step) for step in range(22, 26)])}


def test_the_cost_does_not_grow_with_the_age_of_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []
    by_day = Window.by_day

    def counted(self: Window, clock: Clock, among: int | range) -> object:
        looked_at.append(among if isinstance(among, int) else len(among))
        return by_day(self, clock, among)

    monkeypatch.setattr(Window, "by_day", counted)
    late = 10_000 * DAY
    found = laid(tmp_path, f"treatment = {{ {OFFICE}, epsilon = 0.5 }}", range(late, late + DAY))
    assert max(looked_at) <= 5 * DAY
    assert len(found) <= 1


def test_what_has_a_time_of_its_own_is_one_event_and_can_wait(tmp_path: Path) -> None:
    trip = 'away = { kind = "presence", region = "club", window = "trip", epsilon = 1 }\n'
    walk = (
        'walk = { kind = "pattern", regions = ["club", "clinic"], start = 2024-05-06T08:00:00, '
        "epsilon = 1 }"
    )
    assert laid(tmp_path, trip + walk, range(2 * DAY)) == {}
    found = laid(tmp_path, trip + walk, range(2 * DAY + 9))
    assert found == {"away": presence([7], range(2 * DAY + 8, 4 * DAY + 8))}
    found = laid(tmp_path, trip + walk, range(90 * DAY, 91 * DAY))
    assert set(found) == {"away", "walk"}  # long ago: who asks decides
    assert found["walk"] == pattern([[7], [3, 4]], 3 * DAY + 8)
    each = trip.replace("epsilon", "each_day = true, epsilon")
    assert list(laid(tmp_path, each, range(9 * DAY))) == [f"away 2024-05-0{d}" for d in (5, 6, 7)]


def test_an_expression_is_one_of_each_day(tmp_path: Path) -> None:
    """On a day without one of its parts, that part cannot happen."""
    parts = f"a = {{ {OFFICE} }}\nb = {{ {NIGHT} }}\n"

    def combined(text: str) -> dict[str, Event]:
        line = f'c = {{ kind = "expression", expression = "{text}", epsilon = 1 }}'
        return laid(tmp_path, parts + line, range(12, 4 * DAY))

    club = {d: presence([7], range(DAY * d + 22, DAY * d + 26)) for d in range(4)}
    monday = presence([3, 4], range(3 * DAY + 9, 3 * DAY + 17))
    assert combined("a and not b") == {"c 2024-05-06": monday & ~club[3]}
    assert combined("a or b") == {
        "c 2024-05-04": club[1],
        "c 2024-05-05": club[2],
        "c 2024-05-06": monday | club[3],
    }
    assert combined("a or not a") == {"c 2024-05-06": monday | ~monday}
    assert combined("not a and b")["c 2024-05-04"] == club[1]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            'x = { kind = "presence", region = "club", window = "always", epsilon = 1 }',
            "events.x.window: 'always' goes on without end.*give it hours or days",
        ),
        (
            f'a = {{ {OFFICE} }}\nt = {{ kind = "presence", region = "club", window = "trip" }}\n'
            'x = { kind = "expression", expression = "a and t", epsilon = 1 }',
            "events.x.expression: a and t do not go together in a stream",
        ),
        (
            'x = { kind = "pattern", regions = ["club", "club"], start = 2024-05-02T23:00:00 }',
            "events.x.start: the pattern begins before the stream",
        ),
        (
            'x = { kind = "expression", expression = "y", epsilon = 1 }\n'
            'y = { kind = "expression", expression = "x" }',
            "events.x is defined by itself",
        ),
        (f"x = {{ {OFFICE} }}", "no event has an epsilon"),
        (f"x = {{ {OFFICE}, sides = 'both' }}", "events.x.sides needs an epsilon"),
        (f"x = {{ {OFFICE}, epsilon = 0 }}", "events.x.epsilon"),
        (f"x = {{ {OFFICE}, colour = 1, epsilon = 1 }}", "events.x does not know colour"),
        (
            f'a = {{ {OFFICE} }}\nx = {{ kind = "expression", expression = "len(a)" }}',
            "events.x.expression.* may use only names",
        ),
        (
            f'a = {{ {OFFICE} }}\nx = {{ kind = "expression", expression = "a or b" }}',
            "events.x.expression: 'b' is not an event; there are a, x",
        ),
    ],
)
def test_what_cannot_be_laid_out_is_named_with_its_field(
    tmp_path: Path, events: str, message: str
) -> None:
    with pytest.raises(EventsFileError, match=message):
        laid(tmp_path, events, range(5 * DAY))


def test_expressions_that_fan_out_cost_no_more_than_their_number(tmp_path: Path) -> None:
    lines = [f"e0 = {{ {OFFICE} }}"]
    for i in range(1, 40):
        both = f"e{i - 1} or e{i - 1}"
        lines.append(f'e{i} = {{ kind = "expression", expression = "{both}" }}')
    with pytest.raises(EventsFileError, match="events.e14.* the event has 131,072 parts"):
        laid(tmp_path, "\n".join(lines), range(2 * DAY))


def test_a_single_day_is_what_the_file_says_without_a_stream(tmp_path: Path) -> None:
    found = laid(tmp_path, f"treatment = {{ {OFFICE}, epsilon = 0.5 }}", range(DAY))
    (alone,) = read_events(tmp_path / "events.toml", PLACE, CLOCK, DAY)
    assert list(found.values()) == [alone.event]
