"""Which column is which: the names that apps, portals and people give them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from priste.checks import listing, shown
from priste.errors import TrackError

COLUMNS = ("track", "time", "latitude", "longitude")

_KNOWN_AS = {
    "time": (
        *(
            "time",
            "timestamp",
            "datetime",
            "fixtime",
            "recordedat",
            "tst",
            "timestampms",
            "gpstime",
        ),
        *("utctime", "timeutc", "utc", "localtime", "dateandtime", "when", "timestampunix"),
        *(
            "zeit",
            "uhrzeit",
            "zeitstempel",
            "datumzeit",
            "horodatage",
            "heure",
            "dateheure",
            "fechahora",
        ),
        *("marcadetiempo", "hora", "dataora", "ora", "tijd", "tijdstip", "datumtijd", "datahora"),
        *("unixtime", "epoch", "posixtime"),
    ),
    "latitude": (
        *("latitude", "lat", "y", "latitudee7", "late7", "latitudedegrees", "gpslatitude"),
        *("breite", "breitengrad", "latitud", "latitudine", "breedtegraad", "breddgrad"),
    ),
    "longitude": (
        *("longitude", "lon", "lng", "long", "x", "longitudee7", "lone7", "lnge7"),
        *("longitudedegrees", "gpslongitude", "lange", "laenge", "langengrad", "laengengrad"),
        *("longitud", "longitudine", "lengtegraad", "langdgrad"),
    ),
    "track": ("track", "trackid", "trajectory", "trajectoryid", "trip", "tripid"),
    "date": ("date", "datum", "fecha", "data", "day", "tag"),
}


def plain(name: str) -> str:
    """Return a name as it is compared: no case, accents, units, spaces or signs."""
    without_unit = re.sub(r"[(\[].*", "", name)
    letters = unicodedata.normalize("NFKD", without_unit).casefold()
    return re.sub(r"[^a-z0-9]", "", letters)


def recognised(names: Sequence[str], given: Mapping[str, str], where: str) -> dict[str, str]:
    """Return the column of each thing that a fix needs, those that were given first.

    A date is added where the time has a column of its own.
    """
    unknown = set(given) - set(COLUMNS)
    if unknown:
        raise TrackError(f"columns= knows {listing(COLUMNS)}, not {listing(sorted(unknown))}")
    absent = [shown(theirs) for theirs in given.values() if theirs not in names]
    if absent:
        raise TrackError(
            f"{where} has no column {listing(absent)}; it has {listing(list(names), 12)}"
        )
    found = dict(given)
    for ours, candidates in _KNOWN_AS.items():
        if ours in found:
            continue
        theirs = [
            name for name in names if plain(name) in candidates and name not in given.values()
        ]
        if ours == "date":
            if len(theirs) == 1 and "time" not in given:
                found[ours] = theirs[0]
        elif len(theirs) == 1 or ours in theirs:
            found[ours] = ours if ours in theirs else theirs[0]
        elif ours == "time" and not theirs and (days := _dates(names)):
            found[ours] = days[0]
        elif ours != "track" or theirs:
            problem = f"several columns ({listing(theirs)})" if theirs else "no column"
            raise TrackError(
                f"{where} has {problem} for {ours} (it has {listing(list(names), 12)}); "
                f"say which with columns={{'{ours}': ...}}"
            )
    if found.get("date") == found["time"]:
        del found["date"]
    return found


def _dates(names: Sequence[str]) -> list[str]:
    """Return a column of dates that may hold the time of day as well."""
    dates = [name for name in names if plain(name) in _KNOWN_AS["date"]]
    return dates if len(dates) == 1 else []
