import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.secret import SecretBox

from priste.errors import PayloadError
from priste.serve.payloads import EXAMPLE, SOURCES, Fix, Message
from tests.tracks.tables import shared_data

MOMENT = 1_700_000_000_000_000
FIX = Fix(MOMENT, 52.5, 13.4)


def read(
    source: str, body: Any = b"", *, query: str = "", kind: str = "", key: bytes | None = None
) -> list[Fix]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return SOURCES[source].read(Message(query, kind, content), key)


OWNTRACKS = {
    "_type": "location",
    "lat": 52.5,
    "lon": 13.4,
    "tst": 1700000000,
    "tid": "AN",
    "acc": 12,
    "batt": 80,
    "topic": "owntracks/u/d",
    "_id": "ab",
}
TRACCAR = {
    "device_id": "1",
    "location": {
        "timestamp": "2023-11-14T22:13:20.000Z",
        "coords": {"latitude": 52.5, "longitude": 13.4, "accuracy": 5},
        "is_moving": False,
        "event": "motionchange",
        "battery": {"level": 1, "is_charging": False},
        "activity": {"type": "still"},
    },
}
FORWARDED = {
    "position": {"fixTime": "2023-11-14T22:13:20.000+00:00", "latitude": 52.5, "longitude": 13.4},
    "device": {"uniqueId": "1"},
}
FEATURE = {
    "type": "Feature",
    "geometry": {"type": "Point", "coordinates": [13.4, 52.5]},
    "properties": {"timestamp": "2023-11-14T22:13:20Z", "motion": ["driving"]},
}
QUERY = "id=1&timestamp=1700000000&lat=52.5&lon=13.4&accuracy=10&batt=50"


def test_each_app_is_understood() -> None:
    assert read("owntracks", OWNTRACKS) == [FIX]
    assert read("traccar", TRACCAR) == [FIX]
    assert read("traccar", FORWARDED) == [FIX]
    assert read("traccar", query=QUERY) == [FIX]
    assert read("traccar", QUERY.encode(), kind="application/x-www-form-urlencoded") == [FIX]
    assert read("overland", {"locations": [FEATURE, FEATURE], "current": FEATURE}) == [FIX] * 3
    assert read("gpslogger", query="lat=52.5&lon=13.4&time=2023-11-14T22:13:20.000Z") == [FIX]
    assert read("gpslogger", {"lat": 52.5, "lon": 13.4, "timestamp": 1700000000}) == [FIX]
    plain = {"time": "2023-11-14T22:13:20Z", "latitude": 52.5, "longitude": 13.4}
    assert read("fixes", plain) == [FIX]
    assert read("fixes", [plain, plain]) == read("fixes", {"fixes": [plain, plain]}) == [FIX, FIX]


@pytest.mark.parametrize(
    "time", ["1700000000", "1700000000000", "2023-11-14T22:13:20Z", "2023-11-14 22:13:20"]
)
def test_traccar_writes_time_in_seconds_milliseconds_or_words(time: str) -> None:
    assert read("traccar", query=f"id=1&lat=52.5&lon=13.4&timestamp={time}") == [FIX]
    assert read("traccar", query=f"id=1&location=52.5,13.4&timestamp={time}") == [FIX]


def test_an_encrypted_message_needs_the_key_padded_with_zeros() -> None:
    key = b"sesame"
    sealed = SecretBox(key.ljust(32, b"\0")).encrypt(json.dumps(OWNTRACKS).encode())
    message = {"_type": "encrypted", "data": base64.b64encode(sealed).decode()}
    assert read("owntracks", message, key=key) == [FIX]
    with pytest.raises(PayloadError, match="encrypted with another key, or damaged"):
        read("owntracks", message, key=b"sesam")
    with pytest.raises(PayloadError, match="encrypted, and no key is set"):
        read("owntracks", message)
    broken: tuple[object, ...] = (None, 7, "", "????", [], base64.b64encode(sealed[:-1]).decode())
    for data in broken:
        with pytest.raises(PayloadError):
            read("owntracks", {"_type": "encrypted", "data": data}, key=key)


@pytest.mark.parametrize("kind", ["transition", "waypoint", "lwt", "status", "card", "cmd", 7])
def test_other_messages_of_owntracks_are_understood_and_hold_no_fix(kind: object) -> None:
    assert read("owntracks", OWNTRACKS | {"_type": kind}) == []
    assert read("owntracks", b"") == read("owntracks", b" \n") == []


LATITUDES: tuple[object, ...] = (91, -1e300, None, "x", [], {}, True, "nan", "inf")
TIMES: tuple[object, ...] = (None, -1, 0, 1e300, "soon", [], {}, True)


@pytest.mark.parametrize(
    "thing",
    [
        *(OWNTRACKS | {"lat": latitude} for latitude in LATITUDES),
        *(OWNTRACKS | {"tst": time} for time in TIMES),
        [],
        [[]],
        7,
        "text",
        None,
        {"locations": 7},
        {"location": {"coords": [1, 2]}},
        {"geometry": {"type": "Point", "coordinates": [1]}, "properties": 7},
        {"position": [], "device": 7},
    ],
)
def test_what_can_be_parsed_is_never_refused(thing: object) -> None:
    for source in ("owntracks", "traccar", "gpslogger"):
        fixes = read(source, thing)
        assert [fix for fix in fixes if abs(fix.latitude) > 90] == []
    if isinstance(thing, dict):
        assert read("overland", {"locations": [thing, FEATURE]})[-1] == FIX


@pytest.mark.parametrize(
    "spoilt",
    [
        {"latitude": 52.5, "longitude": 13.4},
        {"time": "2023-11-14T22:13:20Z", "latitude": 152.5, "longitude": 13.4},
        {"time": "soon", "latitude": 52.5, "longitude": 13.4},
        {},
        7,
        None,
    ],
)
def test_who_wrote_the_sender_hears_which_fix_is_wrong_and_none_is_taken(spoilt: object) -> None:
    good = {"time": "2023-11-14T22:13:20Z", "latitude": 52.5, "longitude": 13.4}
    with pytest.raises(PayloadError, match=r"fix 1 of 2 .* none was taken") as error:
        read("fixes", [good, spoilt])
    assert "152.5" not in str(error.value)
    assert read("fixes", [json.loads(EXAMPLE)])[0][1:] == (48.86, 2.35)


def test_one_bad_fix_of_a_batch_does_not_lose_the_others() -> None:
    bad = {**FEATURE, "geometry": {"type": "Point", "coordinates": ["x", None]}}
    batch = {"locations": [bad, FEATURE, 7, None, {}], "current": None}
    assert read("overland", batch) == [FIX]


@pytest.mark.parametrize("body", [b"{", b"[1,", b'{"a":NaN}', b"{\xff}", b"[" * 5000, b'"\\ud800"'])
def test_what_cannot_be_parsed_is_refused_in_constant_words(body: bytes) -> None:
    for source in ("owntracks", "overland"):
        with pytest.raises(PayloadError) as error:
            read(source, body)
        assert "52" not in str(error.value)


def test_forms_have_limits() -> None:
    with pytest.raises(PayloadError, match="at most 100 fields"):
        read("traccar", query="&".join(f"a{n}=1" for n in range(101)))
    with pytest.raises(PayloadError, match="not UTF-8"):
        read("traccar", b"lat=\xff", kind="application/x-www-form-urlencoded")


@given(st.binary(max_size=200), st.text(max_size=80), st.sampled_from(sorted(SOURCES)))
def test_any_bytes_are_read_or_refused(body: bytes, query: str, source: str) -> None:
    kind = "application/x-www-form-urlencoded"
    try:
        fixes = SOURCES[source].read(Message(query, kind, body), b"key")
    except PayloadError:
        return
    assert all(abs(fix.latitude) <= 90 for fix in fixes)


def test_a_fix_does_not_show_itself() -> None:
    assert "52.5" not in repr(FIX)
    assert "13.4" not in str([FIX])


@pytest.mark.parametrize("name", ["owntracks_http_payloads", "traccar_client_json_payloads"])
def test_payloads_as_the_apps_wrote_them(name: str) -> None:
    source = name.partition("_")[0]
    lines = shared_data(f"trackers/traccar/{name}.jsonl").read_bytes().splitlines()
    found = [fix for line in lines for fix in read(source, line)]
    assert len(found) >= len(lines) // 2
