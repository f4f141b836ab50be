"""Four ways to share the same day, to look at side by side."""

from collections.abc import Sequence
from typing import NamedTuple

from priste.events import atoms
from priste.mechanisms import Mechanism
from priste.protection import Protect
from priste.tracks.observer import Observed, Sharing, observe
from priste.tracks.protect import ProtectedTrack, Stream


class Way(NamedTuple):
    """A way to share a day, in words."""

    key: str
    name: str
    sentence: str


RAW = Way("raw", "Your track as it is", "Every fix is shared.")
SILENT = Way(
    "silent",
    "A privacy zone",
    "Nothing is shared inside the secret places: what trackers offer today. Silence gives it away.",
)
NOISE = Way(
    "noise",
    "Noise alone",
    "Every fix is moved at random (planar Laplace). Fixes add up, and habits fill the gaps.",
)
PROTECTED = Way(
    "protected",
    "Protected by PriSTE",
    "One place a step, drawn so that nobody’s odds on a secret leave the band.",
)


def usual_ways(
    stream: Stream, protections: Sequence[Protect], noise: Mechanism
) -> list[tuple[Way, Observed]]:
    """Return what an observer concludes from what people share today.

    The noise is drawn from a seed: it is an example to look at, and is not released.
    """
    zone = sorted({cell for p in protections for part in atoms(p.event) for cell in part.cells})
    sharings = [
        (RAW, Sharing.raw(stream)),
        (SILENT, Sharing.silent_in(stream, zone)),
        (NOISE, Sharing.noisy(stream, noise, seed=0)),
    ]
    return [(way, observe(sharing, protections)) for way, sharing in sharings]


def protected_way(track: ProtectedTrack) -> tuple[Way, Observed]:
    """Return what the same observer concludes from a protected day."""
    return PROTECTED, observe(Sharing.protected(track), track.protections)
