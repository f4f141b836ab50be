"""What is read, from which valid file, and how that is spoilt."""

import json
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.tracks.formats import fixtures as apps

from priste.storage import event_json
from priste.tracks import clean, load_certificate, load_model, load_stream, read, read_events
from priste.tracks.certificate_file import to_text
from verification.fuzz.mutations import blind, tokens
from verification.fuzz.spoilers import (
    spoil_archive,
    spoil_certificate,
    spoil_fit,
    spoil_geojson,
    spoil_gpx,
    spoil_json,
    spoil_kml,
    spoil_lines,
    spoil_parquet,
    spoil_secrets,
    spoil_table,
    spoil_zip,
)
from verification.fuzz.valid import (
    CLOCK,
    EVENTS,
    PLACE,
    STEPS,
    certificate,
    model_bytes,
    stream_bytes,
    track,
    written,
)

Spoil = Callable[[bytes, Random], bytes]

_MOST = 2**21  # bytes of an input: what matters is what they claim


@dataclass(frozen=True)
class Reader:
    """A reader, a valid file for it, and the ways in which such a file is spoilt."""

    name: str
    suffix: str
    read: Callable[[Path], object]
    make: Callable[[], bytes]
    spoil: tuple[Spoil, ...]

    @property
    def valid(self) -> bytes:
        """A valid file, the same each time."""
        return self.make()

    def warm(self) -> None:
        """Do once what only the first call needs: its time and memory are no finding."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"valid{self.suffix}"
            path.write_bytes(self.valid)
            self.read(path)
        clean(track())

    def spoilt(self, seed: int) -> bytes:
        """Return the file that goes with a number."""
        random = Random(f"{self.name} {seed}")
        content = random.choice(self.spoil)(self.valid, random)
        return (blind(content, random) if random.random() < 0.1 else content)[:_MOST]


def read_track(path: Path) -> None:
    """Read a track, and clean every tenth: that takes longer than to read it."""
    table = read(path, time_zone="UTC")
    if zlib.crc32(path.read_bytes()) % 10 == 0:
        clean(table)


def read_secrets(path: Path) -> None:
    """Read an events file, and write its events out."""
    for named in read_events(path, PLACE, CLOCK, STEPS):
        event_json.to_json(named.event)
        repr(named)


def read_model(path: Path) -> None:
    """Load a model and turn it to an hour."""
    loaded = load_model(path)
    loaded.mobilities_from(CLOCK.start)[0].transition(0)
    str(loaded.fingerprint)


def read_stream(path: Path) -> None:
    """Load a stream, say how it stands and let a step pass."""
    loaded = load_stream(path)
    str(loaded.account())
    loaded.state.arrive()


def read_certificate(path: Path) -> None:
    """Load a certificate, say what it means and write it again."""
    shown = load_certificate(path)
    str(shown)
    to_text(shown)


def _json() -> bytes:
    return json.dumps(apps.RECORDS).encode()


def _zip() -> bytes:
    return apps.zipped({"doc.kml": apps.KML_TRACK, "a/Records.json": _json()})


def _text(suffix: str) -> Callable[[], bytes]:
    return lambda: written(suffix)


READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader("csv", ".csv", read_track, _text(".csv"), (blind, tokens, spoil_table, spoil_lines)),
        Reader("json", ".json", read_track, _json, (blind, tokens, spoil_json, spoil_json)),
        Reader("kml", ".kml", read_track, apps.KML_TRACK.encode, (blind, spoil_kml, spoil_kml)),
        Reader("tcx", ".tcx", read_track, apps.TCX.encode, (blind, tokens, tokens)),
        Reader("fit", ".fit", read_track, apps.fit, (blind, spoil_fit, spoil_fit)),
        Reader("zip", ".zip", read_track, _zip, (blind, spoil_zip, spoil_zip)),
        Reader("gpx", ".gpx", read_track, _text(".gpx"), (blind, tokens, tokens, spoil_gpx)),
        Reader(
            "geojson", ".geojson", read_track, _text(".geojson"), (blind, tokens, spoil_geojson)
        ),
        Reader("plt", ".plt", read_track, _text(".plt"), (blind, tokens, tokens, spoil_lines)),
        Reader("parquet", ".parquet", read_track, _text(".parquet"), (blind, spoil_parquet)),
        Reader("model", ".npz", read_model, model_bytes, (blind, spoil_archive, spoil_archive)),
        Reader(
            "stream", ".stream", read_stream, stream_bytes, (blind, spoil_archive, spoil_archive)
        ),
        Reader(
            "certificate",
            ".json",
            read_certificate,
            lambda: json.dumps(certificate()).encode(),
            (blind, tokens, spoil_certificate, spoil_certificate),
        ),
        Reader(
            "events", ".toml", read_secrets, EVENTS.encode, (blind, spoil_secrets, spoil_secrets)
        ),
    )
}
"""By name: what is read, from what, and how it is spoilt."""
