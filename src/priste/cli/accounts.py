"""How a stream stands: what of every ε is charged, and what is left."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from priste.tracks import TrackStream


def is_stream(path: Path) -> bool:
    """Tell whether a file is an archive, as streams are and certificates are not."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def stream_json(stream: TrackStream) -> dict[str, Any]:
    """Return how a stream stands, in plain values."""
    return {
        "began": _when(stream, 0),
        "goes on at": _when(stream, stream.step),
        "next step": stream.step,
        "certificates": stream.number,
        "last certificate": stream.digest,
        "events laid out until": _when(stream, stream.laid_until),
        "events": {
            entry.name: {
                "state": entry.state,
                "epsilon": entry.epsilon,
                "charged": entry.activation + entry.merging,
                "left": entry.left,
                "moved at most": entry.moved,
            }
            for entry in stream.account()
        },
    }


def stream_lines(stream: TrackStream) -> Iterator[str]:
    """Yield how a stream stands, in words."""
    told = stream_json(stream)
    yield (
        f"A stream since {told['began']}; {stream.number} certificates. It goes on at "
        f"{told['goes on at']} (step {stream.step}). Events are laid out until "
        f"{told['events laid out until']}."
    )
    yield "Waiting: its time has not come. Live: every release is tested. Settled: kept for good.\n"
    yield str(stream.account())


def _when(stream: TrackStream, step: int) -> str:
    local = stream.clock.time_of([step])[0].tz_convert(stream.model.time_zone)
    return f"{local:%Y-%m-%d %H:%M}"
