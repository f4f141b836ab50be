"""Four ways to share the same day, to look at side by side."""

from collections.abc import Sequence
from typing import NamedTuple

from priste.events import atoms
from priste.mechanisms import Mechanism, PlanarLaplace
from priste.progress import Progress
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
    "Every fix is moved at random, {km} on average (planar Laplace). Fixes add up, and habits fill "
    "the gaps.",
)
PROTECTED = Way(
    "protected",
    "Protected by PriSTE",
    "One place a step, drawn so that nobody’s odds on a secret leave the band.",
)


def usual_ways(
    stream: Stream,
    protections: Sequence[Protect],
    noise: Mechanism,
    progress: Progress | None = None,
) -> list[tuple[Way, Observed]]:
    """Return what an observer concludes from what people share today.

    If `noise` is none that moves fixes by a distance, planar Laplace noise of 2 km is looked at. It
    is drawn from a seed: it is an example to look at, and is not released.
    """
    if not isinstance(noise, PlanarLaplace):
        noise = PlanarLaplace(stream.model.place.grid, 1.0)
    zone = sorted({cell for p in protections for part in atoms(p.event) for cell in part.cells})
    moved = NOISE._replace(sentence=NOISE.sentence.format(km=f"{2 / noise.budget:g} km"))
    sharings = [
        (RAW, Sharing.raw(stream)),
        (SILENT, Sharing.silent_in(stream, zone)),
        (moved, Sharing.noisy(stream, noise, seed=0)),
    ]
    return [(way, observe(sharing, protections, progress)) for way, sharing in sharings]


def protected_way(track: ProtectedTrack, progress: Progress | None = None) -> tuple[Way, Observed]:
    """Return what the same observer concludes from a protected day."""
    return PROTECTED, observe(Sharing.protected(track), track.protections, progress)
