"""What is secret: Boolean expressions over "at this step, in this region".

>>> from priste import at, presence
>>> hospital = presence({7, 8}, steps=range(3, 6))
>>> hospital & ~at(0, step=9)
presence in {7, 8} at steps 3 to 5 and not (at {0} at step 9)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from priste.checks import cell_set, is_whole, shown, whole
from priste.errors import EventError
from priste.grid import Region

MAX_STEP = 1_000_000
"""The last step that an event may look at: all steps up to it are followed."""

MAX_CONDITIONS = 100_000
"""How many `at` an event may have, written out in full."""

MAX_DEPTH = 100
"""How deep the parts of an event may lie in each other where it is written out in full."""

_MANY = 6  # conditions; the text of more fits on no line

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

    def __repr__(self) -> str:
        conditions, depth = extent(self)
        if (conditions > _MANY or depth > MAX_DEPTH) and not _is_presence(self):
            return f"an event of {conditions:,} conditions at {_steps(self.steps)}"
        return self._text()

    def _text(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, repr=False)
class At(Event):
    """In one of `cells` at `step`."""

    cells: Region
    step: int

    def _holds(self, path: Sequence[int]) -> bool:
        return path[self.step] in self.cells

    def _text(self) -> str:
        return f"at {_cells(self.cells)} at step {self.step}"


@dataclass(frozen=True, repr=False)
class AllOf(Event):
    """Every one of `events`."""

    events: tuple[Event, ...]

    def _holds(self, path: Sequence[int]) -> bool:
        return all(event._holds(path) for event in self.events)

    def _text(self) -> str:
        return " and ".join(_bracketed(event) for event in self.events)


@dataclass(frozen=True, repr=False)
class AnyOf(Event):
    """At least one of `events`."""

    events: tuple[Event, ...]

    def _holds(self, path: Sequence[int]) -> bool:
        return any(event._holds(path) for event in self.events)

    def _text(self) -> str:
        first = self.events[0]
        if isinstance(first, At) and _is_presence(self):
            return f"presence in {_cells(first.cells)} at {_steps(self.steps)}"
        return " or ".join(_bracketed(event) for event in self.events)


@dataclass(frozen=True, repr=False)
class AtLeast(Event):
    """At least `k` of `events`, repeats counted as often as they stand there."""

    k: int
    events: tuple[Event, ...]

    def _holds(self, path: Sequence[int]) -> bool:
        return sum(event._holds(path) for event in self.events) >= self.k

    def _text(self) -> str:
        return f"at least {self.k} of [{', '.join(map(repr, self.events))}]"


@dataclass(frozen=True, repr=False)
class Not(Event):
    """Not `event`."""

    event: Event

    def _holds(self, path: Sequence[int]) -> bool:
        return not self.event._holds(path)

    def _text(self) -> str:
        return f"not ({self.event!r})"


@dataclass(frozen=True, repr=False)
class Withheld(Event):
    """An event that is not told: it stands in a certificate whose owner keeps the events secret."""

    def _text(self) -> str:
        return "a withheld event"


def at(cells: Numbers, step: int) -> Event:
    """Return the event of being in one of `cells` at `step`."""
    return At(cell_set(cells, "at", EventError), _step(step, "step"))


def presence(cells: Numbers, steps: Numbers) -> Event:
    """Return the event of being in one of `cells` at any of `steps` (PRESENCE of the paper)."""
    region = cell_set(cells, "presence", EventError)
    several = [steps] if is_whole(steps) else _iterated(steps, "the steps of presence")
    chosen = sorted({_step(step, "step") for step in several})
    if not chosen:
        raise EventError("presence needs at least one step")
    return _joined(AnyOf, [At(region, step) for step in chosen])


def pattern(regions: Iterable[Numbers], start: int) -> Event:
    """Return the event of being in each of `regions` in turn, one a step (PATTERN of the paper).

    The first region is that of step `start`.
    """
    start = _step(start, "start")
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
        elif isinstance(part, Withheld):
            raise EventError(
                "this event is withheld: the certificate that names it is with its owner, in the "
                "private folder"
            )
        else:
            raise EventError(f"an event is made of at, presence, pattern, ...; got {part!r}")


def extent(event: Event) -> tuple[int, int]:
    """Return how many conditions an event has, written out in full, and how deep it is nested.

    A part that stands in it twice is counted twice and looked at once.
    """
    known: dict[int, tuple[int, int]] = {}
    pending = [event]
    while pending:
        part = pending[-1]
        inner = (part.event,) if isinstance(part, Not) else getattr(part, "events", ())
        missing = [each for each in inner if id(each) not in known]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        sizes = [known[id(each)] for each in inner]
        known[id(part)] = (
            sum(size for size, _ in sizes) or 1,
            1 + max((depth for _, depth in sizes), default=0),
        )
    return known[id(event)]


def writable(event: Event) -> Event:
    """Return an event that can be written out in full; refuse one that is too large for that."""
    conditions, depth = extent(event)
    if conditions > MAX_CONDITIONS or depth > MAX_DEPTH:
        count = f"{conditions:,}" if conditions < 10**18 else "more than 10^18"
        raise EventError(
            f"the event has {count} conditions, nested {depth} deep; the limits are "
            f"{MAX_CONDITIONS:,} and {MAX_DEPTH}; use fewer parts, or name them less often"
        )
    return event


def _step(step: object, what: str) -> int:
    number = whole(step, what, EventError, least=0)
    if number > MAX_STEP:
        raise EventError(
            f"{what} is {shown(step)}, the limit is {MAX_STEP:,}; count steps from the start of "
            f"the stream, or use longer ones"
        )
    return number


def _iterated(values: Any, what: str) -> Iterable[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise EventError(f"{what} must be a collection, got {shown(values)}")
    return values


def _operands(kind: type[AllOf] | type[AnyOf], *events: Event) -> tuple[Event, ...]:
    """Return the operands with those of the same kind opened, so that chains stay flat."""
    flat: list[Event] = []
    for event in events:
        if not isinstance(event, Event):
            raise EventError(f"events combine with events, got {type(event).__name__}")
        flat.extend(event.events if isinstance(event, kind) else (event,))
    if len(flat) > MAX_CONDITIONS:
        raise EventError(
            f"the event has {len(flat):,} parts, the limit is {MAX_CONDITIONS:,}; use fewer"
        )
    return tuple(flat)


def _joined(kind: type[AllOf] | type[AnyOf], parts: list[Event]) -> Event:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _is_presence(event: Event) -> bool:
    """Tell whether an event is being in one region at any of several steps."""
    if not isinstance(event, AnyOf):
        return False
    first = event.events[0]
    return isinstance(first, At) and all(
        isinstance(part, At) and part.cells == first.cells for part in event.events
    )


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
    there = set(steps)
    starts = [step for step in steps if step - 1 not in there]
    ends = [step for step in steps if step + 1 not in there]
    runs = [f"{s} to {e}" if e > s else f"{s}" for s, e in zip(starts, ends, strict=True)]
    shown = ", ".join(runs[:6])
    return f"steps {shown}, ... {len(steps)} steps" if len(runs) > 6 else f"steps {shown}"
