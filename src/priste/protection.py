"""What a user asks for: an event, and how much anyone may learn about it."""

from dataclasses import dataclass
from typing import get_args

from priste.checks import listing, positive
from priste.errors import ProtectionError
from priste.events import Event
from priste.worst_case import Sides

MAX_EPSILON = 200
"""The largest ε: nobody's odds are a factor e^200 from another's."""


@dataclass(frozen=True)
class Protect:
    """Nobody's odds on `event` may change by more than a factor ``exp(epsilon)``.

    `sides` is "both" (odds may neither rise nor fall by more) or "event" (they may not rise).
    """

    event: Event
    epsilon: float
    sides: Sides = "both"

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
