import json

import pytest
from hypothesis import given

from priste import EventError, at, at_least, pattern, presence
from priste.events import Event
from priste.storage.event_json import from_json, to_json
from tests.strategies import events


@given(events(n_cells=4, n_steps=4))
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


@pytest.mark.parametrize(
    "event",
    [
        at(3, 0),
        presence([1, 2], range(5, 9)),
        pattern([[1], [2, 3]], start=4),
        at_least(2, [at(1, 2), at(1, 2), at(0, 3)]),
        presence([1], [2, 3]) | at(7, 1),
    ],
)
def test_the_kinds_of_events_come_back(event: Event) -> None:
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


@pytest.mark.parametrize("value", [None, [], {"run": "rm"}, {"any": 3}])
def test_what_is_no_event_is_refused(value: object) -> None:
    with pytest.raises(EventError, match="this is not an event"):
        from_json(value)
