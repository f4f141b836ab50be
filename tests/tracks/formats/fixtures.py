"""The same three fixes as a dozen apps write them.

Made by hand from the formats' own descriptions, unless a test says otherwise.
"""

import io
import json
import struct
import zipfile
from typing import Any

import pandas as pd

TIMES = pd.to_datetime(
    ["2024-05-06T06:00:00Z", "2024-05-06T06:10:00Z", "2024-05-06T06:20:30Z"], utc=True
)
LATITUDES, LONGITUDES = [52.5200, 52.5210, -33.8688], [13.4000, 13.4100, 151.2093]
UNIX = [int(time.timestamp()) for time in TIMES]
ISO = [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in TIMES]
FIXES = list(zip(ISO, UNIX, LATITUDES, LONGITUDES, strict=True))


def e7(degrees: float) -> int:
    return round(degrees * 1e7)


def table(rows: list[str], header: str) -> str:
    return "\n".join([header, *rows]) + "\n"


RECORDS = {
    "locations": [
        {
            "latitudeE7": e7(lat),
            "longitudeE7": e7(lon),
            "accuracy": 20,
            "activity": [{"activity": [{"type": "STILL", "confidence": 99}], "timestamp": iso}],
            "source": "WIFI",
            "deviceTag": -577680260,
            "timestamp": iso,
        }
        for iso, _, lat, lon in FIXES
    ]
}
OLD_RECORDS = {
    "locations": [
        {"timestampMs": f"{unix}000", "latitudeE7": e7(lat), "longitudeE7": e7(lon), "accuracy": 9}
        for _, unix, lat, lon in FIXES
    ]
}
SEMANTIC = {
    "timelineObjects": [
        {
            "activitySegment": {
                "startLocation": {"latitudeE7": e7(LATITUDES[0]), "longitudeE7": e7(LONGITUDES[0])},
                "endLocation": {"latitudeE7": e7(LATITUDES[1]), "longitudeE7": e7(LONGITUDES[1])},
                "duration": {"startTimestamp": ISO[0], "endTimestamp": ISO[1]},
                "distance": 700,
                "activityType": "WALKING",
                "waypointPath": {"waypoints": [{"latE7": 525200000, "lngE7": 134000000}]},
            }
        },
        {
            "placeVisit": {
                "location": {
                    "latitudeE7": e7(LATITUDES[2]),
                    "longitudeE7": e7(LONGITUDES[2]),
                    "placeId": "ChIJ",
                    "name": "Town Hall",
                },
                "duration": {"startTimestamp": ISO[2], "endTimestamp": ISO[2]},
                "otherCandidateLocations": [{"latitudeE7": 1, "longitudeE7": 2}],
            }
        },
    ]
}
ANDROID = {
    "semanticSegments": [
        {
            "startTime": "2024-05-06T08:00:00.000+02:00",
            "endTime": "2024-05-06T10:00:00.000+02:00",
            "timelinePath": [
                {"point": f"{lat}°, {lon}°", "time": iso} for iso, _, lat, lon in FIXES[:2]
            ],
        },
        {
            "startTime": ISO[2],
            "endTime": ISO[2],
            "visit": {
                "hierarchyLevel": 0,
                "topCandidate": {
                    "placeId": "ChIJ",
                    "placeLocation": {"latLng": f"{LATITUDES[2]}°, {LONGITUDES[2]}°"},
                },
            },
        },
    ],
    "rawSignals": [
        {"position": {"LatLng": f"{LATITUDES[0]}°, {LONGITUDES[0]}°", "timestamp": ISO[0]}},
        {"wifiScan": {"deliveryTime": ISO[0], "devicesRecords": [{"mac": 1, "rawRssi": -60}]}},
    ],
    "userLocationProfile": {"frequentPlaces": [{"placeLocation": "52.52°, 13.4°"}]},
}
IPHONE = [
    {
        "startTime": "2024-05-06T08:00:00.000+02:00",
        "endTime": "2024-05-06T10:00:00.000+02:00",
        "timelinePath": [
            {
                "point": f"geo:{LATITUDES[k]},{LONGITUDES[k]}",
                "durationMinutesOffsetFromStartTime": str(10 * k),
            }
            for k in range(2)
        ],
    },
    {
        "startTime": ISO[2],
        "endTime": ISO[2],
        "visit": {
            "topCandidate": {"placeLocation": f"geo:{LATITUDES[2]},{LONGITUDES[2]}"},
            "isTimelessVisit": "false",
        },
    },
]
OWNTRACKS = [
    {"_type": "location", "tid": "ab", "acc": 5, "batt": 80, "lat": lat, "lon": lon, "tst": unix}
    for _, unix, lat, lon in FIXES
]
OVERLAND = {
    "locations": [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
            "properties": {"timestamp": iso, "motion": ["walking"], "battery_level": 0.8},
        }
        for iso, _, lat, lon in FIXES
    ],
    "current": {"name": "trip"},
}
DAWARICH = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [str(lon), str(lat)]},
            "properties": {"timestamp": unix, "battery": 80, "velocity": "0", "tracker_id": "a"},
        }
        for _, unix, lat, lon in FIXES
    ],
}
OLD_DAWARICH = {"me@example.org": {"dawarich-export": OWNTRACKS}}
POLARSTEPS = {
    "locations": [{"lat": lat, "lon": lon, "time": float(unix)} for _, unix, lat, lon in FIXES]
}
TRIP = {
    "id": 1,
    "cover_photo": {"path": "x"},
    "all_steps": [
        {"location": {"lat": lat, "lon": lon, "name": "town"}, "start_time": float(unix)}
        for _, unix, lat, lon in FIXES
    ],
}
IMMICH = {
    "assets": {
        "total": 3,
        "items": [
            {
                "id": f"{unix}",
                "exifInfo": {"latitude": lat, "longitude": lon, "dateTimeOriginal": iso},
            }
            for iso, unix, lat, lon in FIXES
        ],
    }
}
TRACCAR_CLIENT = [
    {
        "location": {"timestamp": iso, "coords": {"latitude": lat, "longitude": lon}},
        "device_id": "1",
    }
    for iso, _, lat, lon in FIXES
]
RECORDED = (
    "".join(
        f"{iso}\t*                 \t{json.dumps(fix)}\n"
        for iso, fix in zip(ISO, OWNTRACKS, strict=True)
    )
    + f'{ISO[2]}\tlwt               \t{{"_type":"lwt","tst":{UNIX[2]}}}\n'
)
LINE: dict[str, Any] = {
    "type": "Feature",
    "properties": {"coordTimes": [unix * 1000 for unix in UNIX]},
    "geometry": {
        "type": "LineString",
        "coordinates": [[lon, lat] for _, _, lat, lon in FIXES],
    },
}
TRACCAR_CSV = table(
    [
        f"{k},1,osmand,{iso},{iso},{iso},true,{lat},{lon},30.0,0.0"
        for k, (iso, _, lat, lon) in enumerate(FIXES)
    ],
    "id,deviceId,protocol,serverTime,deviceTime,fixTime,valid,latitude,longitude,altitude,speed",
)
SECONDS_CSV = table([f"{u},{a},{o}" for _, u, a, o in FIXES], "tst,lat,lng")
MILLISECONDS_CSV = table([f"{u}000,{a},{o}" for _, u, a, o in FIXES], "timestamp,lat,lng")
E7_CSV = table([f"{i},{e7(a)},{e7(o)}" for i, _, a, o in FIXES], "time,latitudeE7,longitudeE7")
GERMAN_CSV = table(
    [
        f'"06.05.2024";"{i[11:19]}";"{a:.4f}";"{o:.4f}"'.replace("52.", "52,")
        .replace("13.", "13,")
        .replace("-33.", "-33,")
        .replace("151.", "151,")
        for i, _, a, o in FIXES
    ],
    '"Datum";"Uhrzeit";"Breitengrad";"Längengrad"',
)
HEMISPHERES_CSV = table(
    [f"{i}\t{abs(a)}{'N' if a > 0 else 'S'}\t{o}E" for i, _, a, o in FIXES],
    "Time (UTC)\tLatitude [deg]\tLongitude [deg]",
)
AMERICAN_CSV = table(
    [f"05/26/2024 {i[11:19]},{a},{o}" for i, _, a, o in FIXES], "Time,Latitude,Longitude"
)
HEADERLESS_CSV = "\n".join(f"{i},{a},{o}" for i, _, a, o in FIXES) + "\n"

GPX = """

<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{}</trkseg>
</trk></gpx>""".format(
    "".join(f'<trkpt lat="{a}" lon="{o}"><time>{i}</time></trkpt>' for i, _, a, o in FIXES)
)
KML = """<?xml version="1.0" encoding="UTF-8"?>
<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">
<Document>%s</Document></kml>"""
KML_TRACK = KML % (
    "<Placemark><gx:Track>"
    + "".join(f"<when>{i}</when>" for i in ISO)
    + "".join(f"<gx:coord>{o} {a} 30</gx:coord>" for _, _, a, o in FIXES)
    + "</gx:Track></Placemark>"
)
KML_PLACES = KML % "".join(
    f"<Placemark><name>p</name><TimeStamp><when>{i}</when></TimeStamp>"
    f"<Point><coordinates>{o},{a},0</coordinates></Point></Placemark>"
    for i, _, a, o in FIXES
)
KML_SPANS = KML % (
    f"<Placemark><TimeSpan><begin>{ISO[0]}</begin><end>{ISO[1]}</end></TimeSpan><LineString>"
    f"<coordinates>{LONGITUDES[0]},{LATITUDES[0]} 13.405,52.5205 {LONGITUDES[1]},{LATITUDES[1]}"
    "</coordinates></LineString></Placemark>"
    f"<Placemark><TimeStamp><when>{ISO[2]}</when></TimeStamp><Point><coordinates>"
    f"{LONGITUDES[2]},{LATITUDES[2]}</coordinates></Point></Placemark>"
)
TCX = """<?xml version="1.0"?><TrainingCenterDatabase
xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities>
<Activity Sport="Other"><Id>x</Id><Lap StartTime="x"><Track>
<Trackpoint><Time>2024-05-06T05:59:00Z</Time></Trackpoint>{}
</Track></Lap></Activity></Activities></TrainingCenterDatabase>""".format(
    "".join(
        f"<Trackpoint><Time>{i}</Time><Position><LatitudeDegrees>{a}</LatitudeDegrees>"
        f"<LongitudeDegrees>{o}</LongitudeDegrees></Position></Trackpoint>"
        for i, _, a, o in FIXES
    )
)


def zipped(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def fit() -> bytes:
    """A FIT file: what a record holds (timestamp, latitude, longitude), and three of them."""
    since = pd.Timestamp("1989-12-31", tz="UTC").timestamp()
    fields = bytes((253, 4, 0x86, 0, 4, 0x85, 1, 4, 0x85))
    body = bytes((0x40, 0, 0)) + struct.pack("<HB", 20, 3) + fields
    for _, unix, latitude, longitude in FIXES:
        places = (round(value * 2**31 / 180) for value in (latitude, longitude))
        body += b"\0" + struct.pack("<Iii", int(unix - since), *places)
    return sealed(body)


def sealed(body: bytes) -> bytes:
    """A FIT file with these messages, and checksums that are right."""
    head = struct.pack("<BBHI4s", 14, 0x20, 2140, len(body), b".FIT")
    head += struct.pack("<H", _crc(head))
    return head + body + struct.pack("<H", _crc(head + body))


def _crc(content: bytes) -> int:
    table: tuple[int, ...] = (0, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401)
    table += (0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400)
    crc = 0
    for byte in content:
        for part in (byte & 15, byte >> 4):
            crc = (crc >> 4) & 0x0FFF ^ table[crc & 15] ^ table[part]
    return crc
