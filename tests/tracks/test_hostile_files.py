"""Files that nobody should have written are refused in words, soon and in little memory."""

import hashlib
import io
import json
import os
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from verification.fuzz.readers import READERS

from priste import Grid, Mobility, at, cli, events, presence, protection
from priste.errors import (
    CertificateError,
    EventError,
    EventsFileError,
    MobilityError,
    ModelFileError,
    PristeError,
    TrackError,
)
from priste.storage import limits
from priste.tracks import (
    Clock,
    LocalMap,
    Model,
    clean,
    fit_model,
    load_certificate,
    load_model,
    names,
    protect_track,
    read,
    read_events,
    read_geolife,
    save_model,
    track_table,
)
from priste.tracks.certificate_file import to_json
from tests.tracks import city

Arrays = dict[str, Any]
HOUR = pd.Timedelta("1h")
DAY = Clock(city.DAYS[10], HOUR)


def refused(error: type[PristeError], match: str, call: Callable[[], object]) -> None:
    """Hold that a call is refused for a reason, in a message of a few printable lines, soon."""
    start = time.process_time()
    with pytest.raises(error, match=match) as caught:
        call()
    message = str(caught.value)
    assert len(message) < 2_000
    assert all(line.isprintable() for line in message.split("\n"))
    assert time.process_time() - start < 2.0


# --- model files -----------------------------------------------------------------------------


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    """The arrays of a model whose one matrix is sparse."""
    near = sparse.diags_array([0.5, 0.5, 0.5], offsets=[-1, 0, 1], shape=(26, 26)).toarray()
    matrix = sparse.csr_array(near / near.sum(axis=1, keepdims=True))
    save_model(Model(city.PLACE, HOUR, (Mobility(matrix),), "UTC", {}), tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as archive:
        return {name: archive[name] for name in archive.files}


def resaved(arrays: Arrays, path: Path) -> Path:
    """Write arrays as a model file whose checksum is right."""
    digest = hashlib.sha256()
    for name in sorted(set(arrays) - {"checksum"}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode() + array.tobytes())
    checksum = np.frombuffer(digest.digest(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, **(arrays | {"checksum": checksum}))
    return path


def changed(array: Any, place: int, value: float) -> Any:
    copy = np.array(array)
    copy[place] = value
    return copy


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("habit 0 matrix 0 indices", 3, 10**8),
        ("habit 0 matrix 0 indices", 3, 26),
        ("habit 0 matrix 0 indices", 0, -(10**8)),
        ("habit 0 matrix 0 indptr", 5, 10**8),
        ("habit 0 matrix 0 indptr", 5, 0),
        ("habit 0 matrix 0 indptr", 0, 1),
        ("habit 0 matrix 0 indptr", -1, 10**8),
        ("habit 0 matrix 0 data", 0, np.nan),
        ("habit 0 matrix 0 data", 0, -1.0),
        ("initial", 0, np.inf),
        ("habit 0 cell_of_state", 3, 10**9),
        ("habit 0 cell_of_state", 0, -1),
    ],
)
def test_no_index_or_number_of_a_model_leads_astray(
    arrays: Arrays, tmp_path: Path, name: str, place: int, value: float
) -> None:
    arrays[name] = changed(arrays[name], place, value)
    path = resaved(arrays, tmp_path / "bad.npz")
    refused(ModelFileError, "bad.npz does not hold a model", lambda: load_model(path))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: {"habit 0 matrix 0 data": a["habit 0 matrix 0 data"][:5]},
        lambda a: {"habit 0 matrix 0 indptr": a["habit 0 matrix 0 indptr"][:5]},
        lambda a: {"habit 0 matrix 0 indices": a["habit 0 matrix 0 indices"].astype(float)},
        lambda a: {"habit 0 matrix 0 indices": a["habit 0 matrix 0 indices"].astype(np.uint8)},
        lambda a: {"habit 0 matrix 0 data": a["habit 0 matrix 0 data"].astype("c16")},
        lambda a: {"habit 0 matrix 0 data": a["habit 0 matrix 0 data"].astype("U9")},
        lambda a: {"habit 0 matrix 0 data": a["habit 0 matrix 0 data"].reshape(1, -1)},
        lambda _: {"initial": np.zeros((26, 26))},
        lambda a: {"habit 0 cell_of_state": a["habit 0 cell_of_state"].astype(float)},
        lambda _: {"habit 0 cell_of_state": np.zeros((0,), dtype=np.int64)},
        lambda _: {"matrix 1": np.zeros((3, 3))},
        lambda _: {"habit 0 matrix 0": np.zeros((26, 26))},
        lambda _: {"meta": np.frombuffer(b"[" * 100_000, dtype=np.uint8)},
        lambda _: {"meta": np.frombuffer(b"[1]", dtype=np.uint8)},
        lambda _: {"meta": np.frombuffer(b'{"format": 1}', dtype=np.uint8)},
    ],
)
def test_arrays_that_make_no_model_are_refused(
    arrays: Arrays, tmp_path: Path, spoil: Callable[[Arrays], Arrays]
) -> None:
    path = resaved(arrays | spoil(arrays), tmp_path / "bad.npz")
    refused(ModelFileError, "bad.npz is not a model file", lambda: load_model(path))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"matrices": [1]', '"matrices": [2000000000]'),
        ('"matrices": [1]', '"matrices": []'),
        ('"matrices": [1]', '"matrices": [1, 1]'),
        ('"matrices": [1]', f'"matrices": [{"1, " * 40}1]'),
        ('"matrices": [1]', '"matrices": 1'),
        ('"rows": 5', '"rows": 21000'),
        ('"rows": 5', '"rows": 1' + "0" * 400),
        ('"rows": 5', '"rows": ' + "9" * 5_000),
        ('"latitude": 52.52', '"latitude": "52"'),
        ('"latitude": 52.52', '"latitude": NaN'),
        ('"cell_size_km": 1.0', '"cell_size_km": 1e300'),
        ('"step_seconds": 3600.0', '"step_seconds": 1e300'),
        ('"step_seconds": 3600.0', '"step_seconds": null'),
        ('"time_zone": "UTC"', '"time_zone": "../../etc/passwd"'),
        ('"provenance": {}', '"provenance": {"a": "\\u001b[2J"}'),
        ('"provenance": {}', '"provenance": {"a": [[1]]}'),
        ('"provenance": {}', '"provenance": 3'),
        ('"provenance": {}', '"provenance": {}, "provenance": {}'),
    ],
)
def test_a_model_that_describes_itself_wrongly_is_refused(
    arrays: Arrays, tmp_path: Path, old: str, new: str
) -> None:
    text = arrays["meta"].tobytes().decode()
    assert old in text
    arrays["meta"] = np.frombuffer(text.replace(old, new).encode(), dtype=np.uint8)
    path = resaved(arrays, tmp_path / "bad.npz")
    refused(ModelFileError, "bad.npz (is not a model|does not hold)", lambda: load_model(path))


def test_an_array_that_claims_more_than_it_has_is_not_allocated(
    arrays: Arrays, tmp_path: Path
) -> None:
    path = resaved(arrays, tmp_path / "bad.npz")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + "\n"
    members["initial.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    refused(ModelFileError, "'initial' claims a size", lambda: load_model(path))


def test_an_archive_that_unfolds_without_end_is_refused_unread(tmp_path: Path) -> None:
    path, content = tmp_path / "bomb.npz", io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("initial.npy", bytes(1000))
    claim = content.getvalue().rindex(b"PK\x01\x02") + 24  # the size in the table of contents
    path.write_bytes(
        content.getvalue()[:claim] + struct.pack("<L", 2**32 - 9) + content.getvalue()[claim + 4 :]
    )
    refused(
        ModelFileError, "arrays in bytes: 4,294,967,287, the limit is", lambda: load_model(path)
    )
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(4_400):
            archive.writestr(f"{i}.npy", b"")
    refused(ModelFileError, "number of arrays: 4,400, the limit is", lambda: load_model(path))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("initial.npy", bytes(1000))
    refused(ModelFileError, "uses a compression", lambda: load_model(path))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok"])
def test_a_sparse_matrix_with_an_index_astray_is_refused(kind: str) -> None:
    matrix: Any = sparse.csr_array(np.full((4, 4), 0.25)).asformat(kind)
    if kind == "coo":
        matrix.coords[0][3] = 10**8
    elif kind == "lil":
        matrix.rows[0][1] = 10**8
    elif kind == "dok":
        matrix._dict[(10**8, 1)] = 0.5
    else:
        matrix.indices[-1] = 10**8
    refused(MobilityError, "is not a sparse matrix of numbers", lambda: Mobility(matrix))
    assert Mobility(sparse.csr_array(np.eye(3))).n_cells == 3


@pytest.mark.parametrize("start", [-(2**31), 2**31 - 1, -1])
@pytest.mark.parametrize("row", [1, 2, 4])
def test_rows_that_begin_anywhere_are_refused_however_far_away(row: int, start: int) -> None:
    matrix = sparse.csr_array(np.full((4, 4), 0.25))
    matrix.indptr[row] = start
    refused(MobilityError, "is not a sparse matrix of numbers", lambda: Mobility(matrix))


# --- certificates ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    events = city.events_file(tmp_path_factory.mktemp("events"))
    protected = protect_track(city.days(10, 11), city.model(), events, seed=1)
    return json.dumps(to_json(protected.certificate))


def nested(depth: int) -> str:
    return '{"not": ' * depth + '{"presence": {"cells": [0], "steps": [1]}}' + "}" * depth


def event(text: str) -> Callable[[str], str]:
    def replaced(certificate: str) -> str:
        content = json.loads(certificate)
        content["protections"][0]["event"] = "HERE"
        return json.dumps(content).replace('"HERE"', text)

    return replaced


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (('"steps": 24', '"steps": 2000000000'), "2,000,000,000, the limit is 100,000; take"),
        (('"steps": 24', '"steps": ' + "9" * 400), "more than 18 digits, the limit is"),
        (('"steps": 24', '"steps": ' + "9" * 5_000), "is not a certificate"),
        (('"rows": 5', '"rows": 21000, "x": 1'), "105,000, the limit is 10,000"),
        (('"rows": 5', '"rows": 1' + "0" * 400), "more than 18 digits, the limit is 10,000"),
        (('"cell_size_km": 1.0', '"cell_size_km": 1e300'), "the limit is 20,000"),
        (('"latitude": 52.52', '"latitude": 1' + "0" * 400), "needs a latitude within 90"),
        (('"epsilon": 0.8', '"epsilon": 1e308'), "at most 200"),
        (('"epsilon": 0.8', '"epsilon": 1' + "0" * 400), "must be a finite number"),
        (('"epsilon": 0.8', '"epsilon": 1e999'), "must be a finite number"),
        (('"epsilon": 0.8', '"epsilon": NaN'), "NaN is not a JSON number"),
        (('"rho": 0.1', '"rho": 1' + "0" * 400), "rho must lie in"),
        (('"budget": 1.0', '"budget": 1e300'), "the limit is 1,000,000"),
        (('"step_seconds": 3600.0', '"step_seconds": 1e300'), "does not hold a certificate"),
        (('"step_seconds": 3600.0', '"step_seconds": 1e9'), "does not hold a certificate"),
        (('"start": "2024', '"start": "9999'), "between 1900 and 2200"),
        (('"start": "2024', '"start": "99999'), "does not hold a certificate"),
        (('"start": "2024', '"start": "2199'), None),
        (('"name": "treatment"', '"name": "a\\u0007b"'), "contains an unprintable character"),
        (('"name": "treatment"', '"name": "\\ud800"'), "surrogates not allowed"),
        (
            ('"name": "treatment"', '"name": "' + "a" * 100_000 + '"'),
            "100,000 characters, the limit",
        ),
        (('"made_by": "', '"made_by": "\\u001b[2J'), "contains an unprintable character"),
        (('"caveats": ["', '"caveats": ["\\u0000'), "can be printed"),
        (('"rho": 0.1', '"rho": 0.1, "rho": 0.2'), "a key occurs twice"),
        (event('{"presence": {"cells": [0], "steps": [2000000000]}}'), "the limit is 1,000,000"),
        (event('{"presence": {"cells": [0], "steps": [999999]}}'), "100,000 steps are followed"),
        (event('{"presence": {"cells": [99], "steps": [1]}}'), "the map has 26 cells"),
        (event('{"any": []}'), "this is not an event"),
        (event(nested(50)), None),
        (event(nested(120)), "the nesting of its lists: 12., the limit is 64"),
        (event(nested(100_000)), "the nesting of its lists"),
        (lambda text: "\ufeff" + text, None),
        (lambda text: text[: len(text) // 2], "is not a certificate"),
        (lambda _: "", "is not a certificate"),
        (lambda text: text.replace("treatment", "\0"), "is not a certificate"),
    ],
)
def test_a_certificate_that_asks_for_too_much_is_refused(
    certificate: str, tmp_path: Path, spoil: Any, match: str | None
) -> None:
    if isinstance(spoil, tuple):
        assert spoil[0] in certificate
        old, new = spoil
        text = certificate.replace(old, new, 1)
    else:
        text = spoil(certificate)
    path = tmp_path / "c.json"
    path.write_text(text, encoding="utf-8")
    if match is None:
        assert str(load_certificate(path))
    else:
        refused(CertificateError, match, lambda: load_certificate(path))


def test_one_ticket_for_all_cells_takes_no_room_for_each(certificate: str, tmp_path: Path) -> None:
    content = json.loads(certificate)
    content["map"] |= {"rows": 100, "columns": 100}
    content["steps"] = 10_000
    content["releases"] = [{"step": t, "cell": 0, "tickets": 7} for t in range(10_000)]
    (tmp_path / "c.json").write_text(json.dumps(content))
    columns = load_certificate(tmp_path / "c.json").columns()
    assert len(columns[0]) == 10_001
    assert sum(column.base.nbytes for column in columns if column.base is not None) < 10**6


# --- events files ----------------------------------------------------------------------------


def load_events(folder: Path, text: str | bytes) -> object:
    path = folder / "events.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_events(path, city.PLACE, DAY, 24)


def chain(length: int, words: tuple[str, str]) -> str:
    return city.EVENTS.replace("odd", "e0") + "".join(
        f'[events.e{i}]\nkind = "expression"\nexpression = "e{i - 1} {words[i % 2]} e{i - 1}"\n'
        for i in range(1, length)
    )


def with_region(shape: str) -> str:
    circle = "circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }"
    return city.EVENTS.replace(circle, shape)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (chain(40, ("and", "or")), "conditions"),
        (chain(40, ("and", "and")), "conditions"),
        (chain(200, ("and", "or")), "conditions|define each other"),
        (city.EVENTS.replace("treatment", "a" * 100_000), "100,000 characters, the limit is 200"),
        (
            city.EVENTS.replace("[events.quiet]", '[events."a\\u0007"]'),
            "contains an unprintable character",
        ),
        (
            city.EVENTS.replace("[events.quiet]", '[events."a\\u202e"]'),
            "contains an unprintable character",
        ),
        (city.EVENTS.replace('"clinic"', '"' + "x" * 100_000 + '"'), "which is not a region"),
        (city.EVENTS + "[x]\ny = " + "[" * 100_000, "is not TOML: the nesting"),
        (city.EVENTS + "[x]\ny = " + "{a=" * 100_000, "is not TOML: the nesting"),
        (city.EVENTS + ".".join(["a"] * 100_000) + " = 1", "the parts of a key"),
        (city.EVENTS + "[" + " . ".join(["'a'"] * 100_000) + "]", "the parts of a key"),
        (city.EVENTS + "x = " + "9" * 5_000, "is not TOML"),
        (city.EVENTS.replace("0.8", "1e308"), "at most 200"),
        (city.EVENTS.replace("0.8", "1" + "0" * 400), "must be a finite number"),
        (city.EVENTS.replace("0.8", "nan"), "must be a finite number"),
        (city.EVENTS.replace("at_least = 2", "at_least = 1" + "0" * 400), "at_least"),
        (city.EVENTS.replace('"09:00"', "1" + "0" * 400), "must be an hour"),
        (city.EVENTS.replace('from = "09:00"', "start = 0001-01-01T00:00:00"), "1900 and 2200"),
        (city.EVENTS.replace('from = "09:00"', "start = 9999-12-31T23:59:59Z"), "1900 and 2200"),
        (city.EVENTS.replace("Europe/Berlin", "\\u0000"), "is not known"),
        (city.EVENTS.replace('time_zone = "Europe/Berlin"', "time_zone = [[1]]"), "is not known"),
        (
            city.EVENTS.replace('"Europe/Berlin"', str(["Europe/Berlin"] * 3000), 1),
            "is not known",
        ),
        (
            'time_zone = "08:00:60"\nregions.a.cells = [3]\nwindows.w.start = 2024-05-01T08:00:00\n'
            'events.e = {kind = "presence", region = "a", window = "w", epsilon = 1}',
            "'08:00:60' is not known",
        ),
        (city.EVENTS.replace("radius_km = 0.4", "radius_km = inf"), "must be a finite number"),
        (city.EVENTS.replace("radius_km = 0.4", "radius_km = 1" + "0" * 400), "regions.clinic"),
        (city.EVENTS.replace("latitude = 52.52", "latitude = 1" + "0" * 400), "regions.clinic"),
        (with_region("polygon = [[1" + "0" * 400 + ", 1], [2, 2], [3, 3]]"), "regions.clinic"),
        (
            with_region("polygon = [" + "[13.4, 52.5], " * 20_000 + "]"),
            "20,000, the limit is 10,000",
        ),
        (with_region("cells = [1" + "0" * 400 + "]"), "regions.clinic"),
        (with_region('geojson = "/dev/zero"'), "it is a folder, a pipe or a device"),
        (with_region('geojson = "a\\u0000b"'), "cannot be read"),
        (with_region("geojson = [[1]]"), "regions.clinic.geojson"),
        (city.EVENTS.replace("treatment and", "not " * 2_000 + "treatment and"), "expression"),
        (city.EVENTS.replace("treatment and", "(" * 300 + "treatment and"), "cannot be read"),
        (city.EVENTS.replace("treatment and", "treatment and " * 2_000), "the limit is 10,000"),
        ("[regions]\n" + "".join(f"a{i} = {{}}\n" for i in range(2_000)), "the limit is 1,000"),
        ("x" * 2 * 2**20, "2,097,152, the limit is 1,048,576"),
        (city.EVENTS.encode("utf-16"), "is not TOML"),
        (b"\xff\xfe\x00", "is not TOML"),
        (b"\0", "is not TOML"),
        (b"", "has no events"),
        (b"\xef\xbb\xbf", "has no events"),
    ],
)
def test_an_events_file_that_asks_for_too_much_is_refused(
    tmp_path: Path, text: str | bytes, match: str
) -> None:
    refused(EventsFileError, match, lambda: load_events(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("[" * 100_000, "the nesting of its lists"),
        (
            '{"type": "Polygon", "coordinates": [[[1' + "0" * 400 + ", 2], [3, 4], [5, 6]]]}",
            "corners",
        ),
        ('{"type": "Polygon", "coordinates": [[[NaN, 2], [3, 4], [5, 6]]]}', "not a JSON number"),
        ('{"type": "Polygon", "coordinates": [7]}', "is not GeoJSON"),
        ('{"type": "Polygon", "coordinates": [[[1, 2], [3], [5, 6]]]}', "corners"),
        ('{"features": 3}', "is not GeoJSON"),
        ("[]", "is not GeoJSON"),
        ("", "is not GeoJSON"),
    ],
)
def test_a_region_from_a_hostile_file_is_refused(tmp_path: Path, content: str, match: str) -> None:
    (tmp_path / "zone.geojson").write_text(content)
    text = with_region('geojson = "zone.geojson"')
    refused(EventsFileError, match, lambda: load_events(tmp_path, text))


def test_an_event_of_the_library_has_limits_too() -> None:
    refused(EventError, "step is 2000000000, the limit is 1,000,000", lambda: at(0, 2 * 10**9))
    refused(EventError, "step is", lambda: presence([0], [10**400]))
    shared = at(0, 0) | at(1, 1)
    for _ in range(40):
        shared = (shared & at(0, 1)) | (shared & at(0, 2))
    assert "conditions at steps 0 to 2" in repr(shared)  # and not two to the power of forty

    def doubled() -> None:
        event = at(0, 0)
        for _ in range(40):
            event = event & event

    refused(EventError, "the limit is 100,000", doubled)
    many = presence([0], range(0, 40_000, 2))
    assert repr(many).endswith("20000 steps")


# --- tracks ----------------------------------------------------------------------------------

OLD_AND_NEW = "time,lat,lon\n2001-02-01T00:00:00Z,52.5,13.4\n2026-01-01T00:00:00Z,52.5,13.4\n"
POINT = (
    '{"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": %s}'
)
COLLECTION = '{"type": "FeatureCollection", "features": [%s]}'
PLT = "\n" * 6 + "52.5,13.4,0,100,45000,2024-05-06,%s\n"
GPX = (
    '<?xml version="1.0"?>%s<gpx version="1.1" creator="x"><trk><name>%s</name>%s<trkseg>'
    '<trkpt lat="52.5" lon="13.4"><time>%s</time></trkpt></trkseg></trk></gpx>'
)
WHEN = "2024-05-06T08:00:00Z"


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.csv", " \n", "a.csv is empty"),
        ("a.csv", "\0\0\0", "is no track"),
        ("a.csv", "time,lat,lon\n".encode("utf-16"), "holds no fixes"),
        ("a.csv", "time,lat,lon\n" + ",".join(["1"] * 50_000), "is not a CSV file"),
        ("a.csv", "time,lat,lon\n1" + "," * 100_000, "columns: [0-9,]*, the limit is 256"),
        ("a.csv", "time,lat,lon\n1,2,3,4\n", "is not a CSV file|are numbers"),
        ("a.csv", ",".join(["a"] * 100_000), "the number of columns: [0-9,]*, the limit is 256"),
        ("a.csv", '"' + "a" * 1000 + '",lat,lon\n1,2,3\n', "1,000 characters, the limit is 200"),
        ("a.csv", f"time,lat,lon,track\n{WHEN},1,2," + "x" * 100_000, "100,000 characters"),
        ("a.csv", "time,lat,lon\n" + "9" * 5_000 + ",1,2\n", None),
        ("a.csv", "0." + "3" * 30_000 + "x,1,2\n", "lat|header"),
        ("a.csv", "1" + " " * 50_000 + "x,1,2\n", "lat|header"),
        ("a.csv", f"time,lat,lon\n{WHEN},1" + "1" * 50_000 + "x,2\n", "no numbers"),
        ("a.csv", f"time,lat,lon\n{WHEN},1 N" + " " * 100_000 + "x,2\n", "no numbers"),
        ("a.csv", "time,lat,lon\n1/2/2024" + " " * 50_000 + "x,1,2\n", None),
        (
            "a.json",
            '[{"visit": {"topCandidate": {"placeLocation": "%s1,2"}}}]' % (" " * 99_999),
            "no fixes",
        ),
        ("a.plt", PLT % "", None),
        ("a.plt", PLT % "25:61:61", None),
        ("a.plt", "\n" * 6 + ",".join(["1"] * 100_000) + "\n", "number of columns"),
        ("a.plt", PLT.replace("2024", "99999") % "08:00:00", None),
        ("a.plt", PLT.replace("52.5", "x") % "08:00:00", "holds no numbers"),
        ("a.plt", "\0" * 100, "is no track"),
        ("a.geojson", "", "is empty"),
        ("a.geojson", "[" * 100_000, "the nesting of its lists"),
        ("a.geojson", POINT % ("[" * 70 + "]" * 70), "the nesting of its lists"),
        ("a.geojson", POINT.replace("1, 2", "NaN, 2") % "{}", "NaN is not a JSON number"),
        ("a.geojson", POINT.replace("1, 2", "9" * 5_000 + ", 2") % "{}", "is not JSON"),
        ("a.geojson", POINT.replace("1, 2", "1" + "0" * 400 + ", 2") % '{"time": 1}', "a.geojson"),
        ("a.geojson", POINT % '{"a": 1, "a": 2}', "a key occurs twice"),
        ("a.geojson", POINT % "[[1]]", "feature 0 cannot be read"),
        ("a.geojson", POINT % '{"time": {}}', None),
        ("a.geojson", POINT % f'{{"time": "{WHEN}", "user": {{}}, "track": [1]}}', None),
        ("a.geojson", POINT % f'{{"time": "{WHEN}", "track": "\\u0007\\u0000"}}', None),
        ("a.geojson", POINT % '{"track": "\\ud800"}', "surrogates not allowed"),
        ("a.geojson", POINT % f'{{"time": "{WHEN}", "track": "\\ud83d\\ude00"}}', None),
        ("a.geojson", COLLECTION % ", ".join(POINT % f'{{"p{i}": 1}}' for i in range(999)), "256"),
        ("a.gpx", GPX % ('<!DOCTYPE gpx [<!ENTITY a "b">]>', "&a;", "", WHEN), "document type"),
        ("a.gpx", GPX % ("", "a", "<a>" * 90 + "</a>" * 90, WHEN), "limit is 64"),
        ("a.gpx", GPX % ("", "a", "<a>" * 50_000 + "</a>" * 50_000, WHEN), "limit is 64"),
        ("a.gpx", GPX % ("", "a" * 1_000, "", WHEN), "characters, the limit is 200"),
        ("a.gpx", GPX % ("", "a", "", "99999-01-01T00:00:00Z"), None),
        ("a.gpx", GPX.replace("52.5", "1e999") % ("", "a", "", WHEN), "holds no numbers"),
        ("a.gpx", GPX.replace('"1.0"', '"1.0" encoding="utf-16"') % ("", "a", "", ""), "not a GPX"),
        ("a.gpx", "", "is empty"),
    ],
)
def test_a_track_file_that_nobody_should_have_written_is_refused_or_read(
    tmp_path: Path, name: str, content: str | bytes, match: str | None
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if match is None:
        table = clean(read(path))[0]
        assert all(track.isprintable() for track in table["track"])
    else:
        refused(TrackError, match, lambda: read(path))


@pytest.mark.parametrize("suffix", [".csv", ".gpx", ".geojson", ".plt", ".parquet"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    (tmp_path / f"folder{suffix}").mkdir()
    for name in ("pipe", "zero"):
        path = tmp_path / f"{name}{suffix}"
        refused(TrackError, "it is a folder, a pipe or a device", partial(read, path))
    path = tmp_path / f"folder{suffix}"
    refused(TrackError, "holds no track that can be read", partial(read, path))
    for load in (load_certificate, load_model):
        refused(PristeError, "it is a folder, a pipe or a device", partial(load, path))
    if suffix == ".plt":
        refused(TrackError, "it is a folder, a pipe or a device", lambda: read_geolife(tmp_path))


def test_names_that_cannot_be_printed_are_written_so_that_they_can() -> None:
    frame = pd.DataFrame({"time": [WHEN], "lat": [1.0], "lon": [2.0], "track": ["a\x1b[2J\nb"]})
    assert track_table(frame)["track"].tolist() == ["a\\x1b[2J\\nb"]
    assert frame["track"].tolist() == ["a\x1b[2J\nb"]


# --- Parquet ---------------------------------------------------------------------------------


def parquet(path: Path, columns: dict[str, Any], metadata: dict[str, str] | None = None) -> Path:
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, path)
    return path


GOOD = {"time": [WHEN], "latitude": [52.5], "longitude": [13.4]}
FAR = pa.array([2**62], pa.timestamp("ms"))
POINTS = {"version": "1.0.0", "primary_column": "g", "columns": {"g": {"encoding": "WKB"}}}


@pytest.mark.parametrize(
    ("columns", "metadata", "match"),
    [
        (GOOD, {"pandas": "{"}, None),
        (GOOD, {"pandas": '{"columns": 3, "index_columns": [7]}'}, None),
        (GOOD, {"pandas": "[" * 10_000}, None),
        (GOOD, {"geo": "{"}, "is not a Parquet file"),
        (GOOD, {"geo": "[" * 100_000}, "is not a Parquet file"),
        (GOOD, {"geo": '{"columns": 3}'}, "is not a Parquet file"),
        (GOOD, {"geo": json.dumps(POINTS)}, "is not a Parquet file"),
        (
            GOOD | {"g": [b"\x01\x02\x00\x00\x00\xff\xff\xff\xff"]},
            {"geo": json.dumps(POINTS)},
            "not a",
        ),
        (GOOD | {"time": FAR}, None, "a.parquet"),
        (GOOD | {"time": [[1]]}, None, "time.* holds lists"),
        (GOOD | {"time": [{"x": 1}]}, None, None),
        (GOOD | {"latitude": [b"\xff"]}, None, "a.parquet"),
        (GOOD | {"latitude": ["1" + "0" * 400]}, None, "holds no numbers"),
        ({f"c{i}": [1] for i in range(300)}, None, "300, the limit is 256"),
        (GOOD | {"LAT": [1.0]}, None, None),
        ({}, None, "is not a Parquet|no fixes"),
    ],
)
def test_a_parquet_file_of_a_stranger_is_refused_or_read(
    tmp_path: Path, columns: dict[str, Any], metadata: dict[str, str] | None, match: str | None
) -> None:
    path = parquet(tmp_path / "a.parquet", columns, metadata)
    if match is None:
        assert len(read(path)) == 1
    else:
        refused(TrackError, match, lambda: clean(read(path)))


def test_a_parquet_file_that_unfolds_without_end_is_refused(tmp_path: Path) -> None:
    rows = pa.array(np.zeros(3_000_000, np.int32))
    same = pa.array([52.5]).take(rows)
    path = parquet(tmp_path / "rows.parquet", {"time": same, "latitude": same, "longitude": same})
    assert path.stat().st_size < 100_000
    refused(TrackError, "unfolds to, in bytes: 72,000,000, the limit is", lambda: read(path))
    few = rows.slice(0, 20_000)
    text = pa.DictionaryArray.from_arrays(few, ["a" * 20_000])
    same = same.slice(0, 20_000)
    path = parquet(tmp_path / "text.parquet", {"time": text, "latitude": same, "longitude": same})
    refused(TrackError, "unfolds to, in bytes: 400,.*, the limit is", lambda: read(path))


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[WHEN, WHEN, 1.0, 2.0]], columns=["time", "time", "lat", "lon"])
    refused(TrackError, "two columns for time", lambda: track_table(frame))
    other = frame.set_axis(["time", "ts", "lat", "lon"], axis=1)
    refused(TrackError, "two columns for time", lambda: track_table(other, columns={"time": "ts"}))


# --- what is asked of good files -------------------------------------------------------------


def test_a_stream_of_decades_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(OLD_AND_NEW)
    table, model = read(tmp_path / "a.csv"), city.model()
    events = city.events_file(tmp_path)
    expected = r"steps of the stream: 218,\d+, the limit is 100,000; take a shorter time"
    refused(TrackError, expected, lambda: protect_track(table, model, events))


def test_learning_takes_memory_for_fixes_and_not_for_the_time_between() -> None:
    old = pd.to_datetime(["2001-02-01T00:00:00Z", "2001-02-01T00:00:01Z", "2026-01-01T00:00:00Z"])
    table = track_table(pd.DataFrame({"time": old, "lat": 52.5, "lon": 13.4}))
    start = time.process_time()
    model = fit_model(table, step="1s", cells=4)
    assert time.process_time() - start < 2
    assert model.provenance["steps"] == 3
    assert model.provenance["moves"] == 1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"cells": 1_000_000}, "1,000,000, the limit is 10,000; use fewer"),
        ({"cells": 10**30}, "more than 18 digits, the limit is 10,000"),
        ({"step": "1s", "time_of_day": True}, "86,400, the limit is 1,440; use longer steps"),
        ({"step": "1min", "time_of_day": True, "cells": 400}, "the size of the model in bytes"),
        ({"step": "1e400D"}, "a step is a length of time"),
        ({"step": "99999999999999D"}, "a step is a length of time"),
        ({"step": "10000D"}, "at most 366 days"),
        ({"step": "x" * 100_000}, "a step is a length of time"),
        ({"step": "\0"}, "a step is a length of time"),
    ],
)
def test_a_model_of_any_size_is_not_begun(options: dict[str, Any], match: str) -> None:
    table = city.days(0, 1).assign(latitude=np.linspace(52.4, 52.6, 24))
    refused(TrackError, match, lambda: fit_model(table, **options))


def test_a_map_of_the_world_is_refused() -> None:
    refused(TrackError, "larger than 20,000 km", lambda: LocalMap.within(-90, -180, 90, 180))
    refused(TrackError, "limit is 10,000", lambda: LocalMap(Grid(21_000, 21_000), 0.0, 0.0))


@pytest.mark.parametrize(
    "words",
    [
        ("quantify", "old.csv", "-m", "model.npz", "-e", "events.toml"),
        ("fit", "old.csv", "-o", "new.npz", "--cells", "1000000"),
        ("fit", "old.csv", "-o", "new.npz", "--step", "9" * 400),
        ("fit", "old.csv", "-o", "new.npz", "--from", "0001-01-01"),
        ("fit", "old.csv", "-o", "new.npz", "--until", "9" * 400),
        ("fit", "old.csv", "-o", "new.npz", "--bounds", "nan,nan,nan,nan"),
        ("fit", "old.csv", "-o", "new.npz", "--bounds", "-90,-180,90,180"),
        ("fit", "old.csv", "-o", "new.npz", "--bounds", "1e999,2,3,4"),
        ("fit", "old.csv", "-o", "new.npz", "--column", "time=" + "x" * 10_000),
        ("fit", "old.csv", "-o", "new.npz", "--time-zone", "\x1b[2J"),
        ("simulate", "-m", "model.npz", "-o", "new.csv", "--start", "9999-12-31"),
        ("simulate", "-m", "model.npz", "-o", "new.csv", "--days", "2000000000"),
        ("explain", "/dev/zero"),
        ("audit", "certificate.json", "-m", "/dev/zero"),
    ],
)
def test_the_command_ends_with_three_and_a_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    save_model(city.model(), tmp_path / "model.npz")
    city.events_file(tmp_path)
    (tmp_path / "old.csv").write_text(OLD_AND_NEW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["priste", *words])
    start = time.process_time()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr().err
    assert ended.value.code == 3, told
    assert time.process_time() - start < 2
    assert told.startswith("priste: ")
    assert "\x1b" not in told
    assert len(told) < 2_000


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=15)
@given(seed=st.integers(10**6, 2 * 10**6))
def test_whatever_a_file_holds_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, seed: int
) -> None:
    reader = READERS[name]
    path = tmp_path_factory.mktemp("any") / f"input{reader.suffix}"
    path.write_bytes(reader.spoilt(seed))
    with suppress(PristeError):
        reader.read(path)


def test_every_limit_is_listed_with_its_value() -> None:
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()
    for module in (limits, names, events, protection):
        prefix = "" if module is limits else f"{module.__name__}."
        for name, value in vars(module).items():
            if name.startswith("MAX_") and isinstance(value, int | float):
                (row,) = [line for line in page.splitlines() if f"`{prefix}{name}`" in line]
                size = value // limits.MIB if name.endswith("_BYTES") else value
                size = size // 1024 if size == 1024 else size
                assert f"{size:,.0f}" in row, row
