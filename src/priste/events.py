"""What is secret: Boolean expressions over "at this step, in this region".

>>> from priste import at, presence
>>> hospital = presence({7, 8}, steps=range(3, 6))
>>> hospital & ~at(0, step=9)
presence in {7, 8} at steps 3 to 5 and not (at {0} at step 9)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from priste.checks import cell_set, is_whole, whole
from priste.errors import EventError
from priste.grid import Region

Numbers = SupportsIndex | Iterable[SupportsIndex]
"""A whole number or several, of Python or numpy."""


class Event:
    """A Boolean expression; combine with ``&``, ``|`` and ``~``."""

    def __and__(self, other: "Event") -> "Event":
        return AllOf(_operands(AllOf, self, other))

    def __or__(self, other: "Event") -> "Event":
        return AnyOf(_operands(AnyOf, self, other))

    def __invert__(self) -> "Event":
        return Not(self)

    def __bool__(self) -> bool:
        raise EventError(
            "an event has no truth value of its own; combine events with &, | and ~ "
            "instead of 'and', 'or' and 'not'"
        )

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps the expression looks at, sorted."""
        return tuple(sorted({atom.step for atom in atoms(self)}))

    def holds(self, path: Sequence[int]) -> bool:
        """Tell whether the event is true for a path of cells, one per step from step 0."""
        last = self.steps[-1]
        if len(path) <= last:
            raise EventError(
                f"the event looks at steps up to {last}, the path has only {len(path)} cells"
            )
        return self._holds(path)

    def _holds(self, path: Sequence[int]) -> bool:
        raise TypeError(f"{type(self).__name__} cannot read a path of {len(path)} cells")


@dataclass(frozen=True, repr=False)
class At(Event):
    """In one of `cells` at `step`."""

    cells: Region
    step: int

    def _holds(self, path: Sequence[int]) -> bool:
        return path[self.step] in self.cells

    def __repr__(self) -> str:
        return f"at {_cells(self.cells)} at step {self.step}"


@dataclass(frozen=True, repr=False)
class AllOf(Event):
    """Every one of `events`."""

    events: tuple[Event, ...]

    def _holds(self, path: Sequence[int]) -> bool:
        return all(event._holds(path) for event in self.events)

    def __repr__(self) -> str:
        return " and ".join(_bracketed(event) for event in self.events)


@dataclass(frozen=True, repr=False)
class AnyOf(Event):
    """At least one of `events`."""

    events: tuple[Event, ...]

    def _holds(self, path: Sequence[int]) -> bool:
        return any(event._holds(path) for event in self.events)

    def __repr__(self) -> str:
        regions = {event.cells for event in self.events if isinstance(event, At)}
        if len(regions) == 1 and all(isinstance(event, At) for event in self.events):
            return f"presence in {_cells(regions.pop())} at {_steps(self.steps)}"
        return " or ".join(_bracketed(event) for event in self.events)


@dataclass(frozen=True, repr=False)
class AtLeast(Event):
    """At least `k` of `events`, repeats counted as often as they stand there."""

    k: int
    events: tuple[Event, ...]

    def _holds(self, path: Sequence[int]) -> bool:
        return sum(event._holds(path) for event in self.events) >= self.k

    def __repr__(self) -> str:
        return f"at least {self.k} of [{', '.join(map(repr, self.events))}]"


@dataclass(frozen=True, repr=False)
class Not(Event):
    """Not `event`."""

    event: Event

    def _holds(self, path: Sequence[int]) -> bool:
        return not self.event._holds(path)

    def __repr__(self) -> str:
        return f"not ({self.event!r})"


def at(cells: Numbers, step: int) -> Event:
    """Return the event of being in one of `cells` at `step`."""
    return At(cell_set(cells, "at", EventError), whole(step, "step", EventError, least=0))


def presence(cells: Numbers, steps: Numbers) -> Event:
    """Return the event of being in one of `cells` at any of `steps` (PRESENCE of the paper)."""
    region = cell_set(cells, "presence", EventError)
    several = [steps] if is_whole(steps) else _iterated(steps, "the steps of presence")
    chosen = sorted({whole(step, "step", EventError, least=0) for step in several})
    if not chosen:
        raise EventError("presence needs at least one step")
    return _joined(AnyOf, [at(region, step) for step in chosen])


def pattern(regions: Iterable[Numbers], start: int) -> Event:
    """Return the event of being in each of `regions` in turn, one a step (PATTERN of the paper).

    The first region is that of step `start`.
    """
    start = whole(start, "start", EventError, least=0)
    several = _iterated(regions, "the regions of pattern")
    parts = [at(region, start + i) for i, region in enumerate(several)]
    if not parts:
        raise EventError("pattern needs at least one region")
    return _joined(AllOf, parts)


def at_least(k: int, events: Iterable[Event]) -> Event:
    """Return the event that at least `k` of `events` happen."""
    parts = tuple(_iterated(events, "the events of at_least"))
    for part in parts:
        if not isinstance(part, Event):
            raise EventError(f"at_least takes events, got {type(part).__name__}")
    k = whole(k, "k", EventError, least=1)
    if k > len(parts):
        raise EventError(f"at_least asks for {k} of {len(parts)} events, which cannot happen")
    return AtLeast(k, parts)


def atoms(event: Event) -> Iterator[At]:
    """Yield every `At` in the expression; a part that stands in it twice is looked at once."""
    pending, looked_at = [event], set()
    while pending:
        part = pending.pop()
        if id(part) in looked_at:
            continue
        looked_at.add(id(part))
        if isinstance(part, At):
            yield part
        elif isinstance(part, Not):
            pending.append(part.event)
        elif isinstance(part, AllOf | AnyOf | AtLeast):
            pending.extend(part.events)
        else:
            raise EventError(f"an event is made of at, presence, pattern, ...; got {part!r}")


def _iterated(values: Any, what: str) -> Iterable[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise EventError(f"{what} must be a collection, got {values!r}")
    return values


def _operands(kind: type[AllOf] | type[AnyOf], *events: Event) -> tuple[Event, ...]:
    """Return the operands with those of the same kind opened, so that chains stay flat."""
    flat: list[Event] = []
    for event in events:
        if not isinstance(event, Event):
            raise EventError(f"events combine with events, got {type(event).__name__}")
        flat.extend(event.events if isinstance(event, kind) else (event,))
    return tuple(flat)


def _joined(kind: type[AllOf] | type[AnyOf], parts: list[Event]) -> Event:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _bracketed(event: Event) -> str:
    text = repr(event)
    plain = isinstance(event, At | Not | AtLeast) or text.startswith("presence")
    return text if plain else f"({text})"


def _cells(cells: Region) -> str:
    shown = ", ".join(map(str, cells[:6]))
    return f"{{{shown}, ... {len(cells)} cells}}" if len(cells) > 6 else f"{{{shown}}}"


def _steps(steps: tuple[int, ...]) -> str:
    if len(steps) == 1:
        return f"step {steps[0]}"
    starts = [step for step in steps if step - 1 not in steps]
    ends = [step for step in steps if step + 1 not in steps]
    runs = [f"{s} to {e}" if e > s else f"{s}" for s, e in zip(starts, ends, strict=True)]
    shown = ", ".join(runs[:6])
    return f"steps {shown}, ... {len(steps)} steps" if len(runs) > 6 else f"steps {shown}"
