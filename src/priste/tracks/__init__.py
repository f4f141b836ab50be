"""Real tracks: read, clean, discretise, protect and write them.

A track table is a plain `pandas.DataFrame` with the columns `track` (which track a fix belongs
to), `time` (zone-aware, kept in UTC), `latitude` and `longitude` (degrees, WGS 84); further columns
are kept. Nothing here changes a table in place.

Needs the extra: ``pip install 'priste[tracks]'``.
"""

from priste.extras import needs_extra

with needs_extra("priste.tracks", "tracks"):
    from priste.tracks.adversary import Adversary
    from priste.tracks.certificate import Certificate
    from priste.tracks.certificate_check import Check, Verdict
    from priste.tracks.certificate_file import load_certificate, save_certificate
    from priste.tracks.chain import StreamCheck, StreamVerdict, check
    from priste.tracks.cleaning import Account, Rules, clean
    from priste.tracks.events_file import read_events
    from priste.tracks.exposure import Exposure, expose_track
    from priste.tracks.files import read, write
    from priste.tracks.formats.geolife import read_geolife
    from priste.tracks.many import Delivered, certificates_of, protect_many
    from priste.tracks.model import Model, fit_model
    from priste.tracks.model_file import load_model, save_model
    from priste.tracks.observer import Observed, Sharing, observe
    from priste.tracks.other_habits import against
    from priste.tracks.places import LocalMap
    from priste.tracks.protect import ProtectedTrack, Stream, protect_track
    from priste.tracks.steps import Clock, as_track, discretise, unbroken
    from priste.tracks.stream_file import load_stream, save_stream
    from priste.tracks.table import track_table
    from priste.tracks.track_stream import TrackStream
    from priste.tracks.windows import Window

__all__ = [
    "Account",
    "Adversary",
    "Certificate",
    "Check",
    "Clock",
    "Delivered",
    "Exposure",
    "LocalMap",
    "Model",
    "Observed",
    "ProtectedTrack",
    "Rules",
    "Sharing",
    "Stream",
    "StreamCheck",
    "StreamVerdict",
    "TrackStream",
    "Verdict",
    "Window",
    "against",
    "as_track",
    "certificates_of",
    "check",
    "clean",
    "discretise",
    "expose_track",
    "fit_model",
    "load_certificate",
    "load_model",
    "load_stream",
    "observe",
    "protect_many",
    "protect_track",
    "read",
    "read_events",
    "read_geolife",
    "save_certificate",
    "save_model",
    "save_stream",
    "track_table",
    "unbroken",
    "write",
]
