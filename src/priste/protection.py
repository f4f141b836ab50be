"""What a user asks for: an event, and how much anybody may learn about it."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import get_args

from priste.checks import listing, positive
from priste.errors import ProtectionError
from priste.events import Event
from priste.worst_case import Sides

MAX_EPSILON = 200
"""The largest ε: nobody's odds are a factor e^200 from another's."""


@dataclass(frozen=True, repr=False)
class Protect:
    """A promise: nobody's odds on `event` change by more than a factor ``exp(epsilon)``.

    `sides` is "both" (odds may neither rise nor fall by more) or "event" (they may not rise).
    `name` is what reports and certificates call the event; without one it goes by its position.
    """

    event: Event
    epsilon: float
    _: KW_ONLY
    sides: Sides = "both"
    name: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise ProtectionError(
                f"Protect takes an event made of at, presence, ..., got {type(self.event).__name__}"
            )
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", ProtectionError))
        if self.epsilon > MAX_EPSILON:
            raise ProtectionError(
                f"epsilon {self.epsilon:g} allows odds to change by any factor; "
                f"at most {MAX_EPSILON}"
            )
        if self.sides not in get_args(Sides):
            raise ProtectionError(
                f"sides must be one of {listing(get_args(Sides))}, got {self.sides!r}"
            )
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise ProtectionError(f"the name of a protection must be text, got {self.name!r}")

    def __repr__(self) -> str:
        others = "" if self.sides == "both" else f", sides={self.sides!r}"
        others += "" if self.name is None else f", name={_cut(self.name, 30)!r}"
        return f"Protect({_cut(repr(self.event), 40)}, epsilon={self.epsilon:g}{others})"


def names_of(protections: Iterable[Protect]) -> list[str]:
    """Return what to call each protection: its name, or its position as in ``event 1``."""
    return [p.name or f"event {i}" for i, p in enumerate(protections, start=1)]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
