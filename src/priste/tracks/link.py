"""The place of a certificate in a stream, and how its events stand at its end."""

import math
from dataclasses import dataclass
from typing import get_args

from priste.checks import is_whole, shown
from priste.errors import CertificateError
from priste.events import MAX_STEP
from priste.stream.account import Entry, State
from priste.stream.share import checked_eta


@dataclass(frozen=True)
class Standing:
    """How an event stands: when it was asked for, its state, and what it was charged."""

    asked: int
    """The step of the next release when it was asked for."""
    state: State
    activation: float
    merging: float

    def __post_init__(self) -> None:
        _step(self.asked, "asked")
        if self.state not in get_args(State):
            raise CertificateError(f"an event is waiting, live or settled, not {shown(self.state)}")
        for name in ("activation", "merging"):
            charge = getattr(self, name)
            good = isinstance(charge, float | int) and not isinstance(charge, bool)
            if not good or not 0 <= charge < math.inf:
                raise CertificateError(f"the charge for {name} is a number, got {shown(charge)}")

    @classmethod
    def of(cls, entry: Entry, asked: int) -> "Standing":
        """Return how an event of an account stands."""
        return cls(asked, entry.state, entry.activation, entry.merging)


@dataclass(frozen=True)
class Link:
    """A certificate's number in its stream (from 1), its first step, and the one before it."""

    number: int
    first: int
    eta: float
    """The share of an event's ε that its activation may cost, and the merging of beliefs."""
    before: str | None = None
    """The SHA-256 of the file of the certificate before it."""
    standings: tuple[Standing, ...] = ()
    """One for each protection; none where events are withheld."""

    def __post_init__(self) -> None:
        _step(self.first, "first")
        if not is_whole(self.number) or not 1 <= self.number <= MAX_STEP:
            raise CertificateError(f"certificates are numbered from 1, got {shown(self.number)}")
        is_first = self.number == 1
        if is_first != (self.before is None) or is_first != (self.first == 0):
            raise CertificateError(
                "only the first certificate of a stream begins at step 0 with none before it"
            )
        if self.before is not None and not is_sha256(self.before):
            raise CertificateError(f"the certificate before is named by {shown(self.before)}")
        checked_eta(self.eta, CertificateError)


def is_sha256(value: object) -> bool:
    """Tell whether a value is a SHA-256 in lower-case hexadecimal digits."""
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _step(value: object, name: str) -> None:
    if not is_whole(value) or not 0 <= value <= MAX_STEP:
        raise CertificateError(f"{name} is a step up to {MAX_STEP:,}, got {shown(value)}")
