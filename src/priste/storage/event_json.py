"""Events as plain JSON values and back, so that a certificate can say what it is about."""

from typing import Any

from priste.checks import shown
from priste.errors import EventError
from priste.events import AllOf, AnyOf, At, AtLeast, Event, Not, at, at_least, presence, writable
from priste.protection import Protect


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as nested dictionaries."""
    return _to_json(writable(event))


def _to_json(event: Event) -> dict[str, Any]:
    match event:
        case At(cells, step):
            return {"presence": {"cells": list(cells), "steps": [step]}}
        case AnyOf((At(cells, _), *_)) if event == presence(cells, event.steps):
            return {"presence": {"cells": list(cells), "steps": list(event.steps)}}
        case AnyOf(events):
            return {"any": [_to_json(part) for part in events]}
        case AllOf(events):
            return {"all": [_to_json(part) for part in events]}
        case AtLeast(k, events):
            return {"at_least": {"k": k, "events": [_to_json(part) for part in events]}}
        case Not(inner):
            return {"not": _to_json(inner)}
    raise EventError(f"an event is made of at, presence, pattern, ...; got {event!r}")


def from_json(value: Any) -> Event:
    """Return the event that `to_json` wrote."""
    try:
        return writable(_from_json(value))
    except RecursionError:
        raise EventError("the event is nested too deeply") from None


def same_promise(one: Protect, other: Protect) -> bool:
    """Tell whether two protections promise the same, however their events were put together."""
    promised = [(p.epsilon, p.sides, to_json(p.event)) for p in (one, other)]
    return promised[0] == promised[1]


def _from_json(value: Any) -> Event:
    match value:
        case {"presence": {"cells": cells, "steps": [step]}}:
            return at(cells, step)
        case {"presence": {"cells": cells, "steps": steps}}:
            return presence(cells, steps)
        case {"any": [_, *_] as parts}:
            return AnyOf(tuple(map(_from_json, parts)))
        case {"all": [_, *_] as parts}:
            return AllOf(tuple(map(_from_json, parts)))
        case {"at_least": {"k": k, "events": [*parts]}}:
            return at_least(k, map(_from_json, parts))
        case {"not": inner}:
            return Not(_from_json(inner))
    raise EventError(f"this is not an event: {shown(value)}")
