"""Real tracks: read, cleaned, brought to steps and cells of a map, and written back.

A track table is a plain `pandas.DataFrame` with the columns `track` (which track a fix belongs
to), `time` (zone-aware, kept in UTC), `latitude` and `longitude` (degrees, WGS 84); further columns
travel along. Nothing here changes a table in place.

Needs the extra: ``pip install priste[tracks]``.
"""

from priste.tracks.cleaning import Account, Rules, clean
from priste.tracks.discretise import Clock, as_track, discretise, unbroken
from priste.tracks.files import read, write
from priste.tracks.geolife import read_geolife
from priste.tracks.places import LocalMap
from priste.tracks.table import track_table

__all__ = [
    "Account",
    "Clock",
    "LocalMap",
    "Rules",
    "as_track",
    "clean",
    "discretise",
    "read",
    "read_geolife",
    "track_table",
    "unbroken",
    "write",
]
