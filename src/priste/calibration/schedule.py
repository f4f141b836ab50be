"""The sequence of weaker versions of a mechanism that calibrations walk down."""

import sys
from collections.abc import Iterator

from priste.checks import positive, whole
from priste.errors import ProtectionError
from priste.mechanisms.mechanism import Mechanism


def checked_schedule(decay: float, weakenings: int) -> None:
    """Refuse a schedule that would not become weaker, or not end."""
    if positive(decay, "decay", ProtectionError) >= 1:
        raise ProtectionError(f"decay must lie strictly between 0 and 1, got {decay!r}")
    whole(weakenings, "weakenings", ProtectionError, least=0)


def weaker_and_weaker(mechanism: Mechanism, decay: float, weakenings: int) -> Iterator[Mechanism]:
    """Yield the mechanism, its weaker versions, and finally the one that reveals nothing."""
    nothing = mechanism.uninformative()
    for k in range(weakenings + 1):
        if mechanism.budget == 0:
            break
        yield mechanism
        if k == weakenings or mechanism.budget * decay < sys.float_info.min:
            break
        mechanism = mechanism.weaker(decay)
    rows = nothing.lottery()
    if nothing.budget != 0 or (rows != rows[0]).any():
        raise ProtectionError(
            f"the uninformative version of {type(mechanism).__name__} must have budget 0 and give "
            f"the same distribution from every cell"
        )
    yield nothing
