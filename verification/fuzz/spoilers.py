"""Ways to spoil a file that know what it means: one for each kind."""

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.tracks.formats import fixtures as apps

from priste.storage.archive import checksum
from verification.fuzz.mutations import NUMBERS, TEXTS, as_json, blind, hostile, tokens, value
from verification.fuzz.valid import certificate, track


def spoil_certificate(_: bytes, random: Random) -> bytes:
    """Change values of a certificate, or its event for a random one."""
    content = value(certificate(), random)
    if random.random() < 0.3 and isinstance(content.get("protections"), list):
        event = _random_event(random, random.choice((1, 2, 5, 40)))
        content["protections"] = [{"name": "a", "epsilon": 1.0, "sides": "both", "event": event}]
    return as_json(content, random)


def _random_event(random: Random, depth: int) -> Any:
    if depth == 0 or random.random() < 0.1:
        steps = random.choice(([3], [1, 2, 3], list(range(2_000)), [2 * 10**9], hostile(random)))
        return {
            "presence": {"cells": random.choice(([0], [1, 24], hostile(random))), "steps": steps}
        }
    parts = [_random_event(random, depth - 1) for _ in range(2 if depth < 4 else 1)]
    k = random.choice((0, 1, 2, 10**30, "1"))
    return random.choice(
        (
            {"any": parts},
            {"all": parts},
            {"not": parts[0]},
            {"at_least": {"k": k, "events": parts}},
        )
    )


def spoil_geojson(content: bytes, random: Random) -> bytes:
    """Change values of GeoJSON, points or a line."""
    collection = json.loads(content)
    if random.random() < 0.3:
        points = [f["geometry"]["coordinates"] for f in collection["features"]]
        times = [f["properties"]["time"] for f in collection["features"]]
        line = {"type": "LineString", "coordinates": points}
        collection = {"type": "Feature", "geometry": line, "properties": {"coordTimes": times}}
    return as_json(value(collection, random), random)


def spoil_json(_: bytes, random: Random) -> bytes:
    """Change values of what some app writes as JSON."""
    return as_json(value(random.choice(_APPS), random), random)


_APPS = (
    *(apps.RECORDS, apps.OLD_RECORDS, apps.SEMANTIC, apps.ANDROID, apps.IPHONE, apps.OWNTRACKS),
    *(apps.OVERLAND, apps.DAWARICH, apps.OLD_DAWARICH, apps.POLARSTEPS, apps.TRIP, apps.IMMICH),
    *(apps.TRACCAR_CLIENT, apps.LINE),
)


def spoil_table(_: bytes, random: Random) -> bytes:
    """Change values of a table as some app or country writes it."""
    return tokens(random.choice(_TABLES).encode(), random)


_TABLES = (
    *(apps.TRACCAR_CSV, apps.SECONDS_CSV, apps.MILLISECONDS_CSV, apps.E7_CSV, apps.GERMAN_CSV),
    *(apps.HEMISPHERES_CSV, apps.AMERICAN_CSV, apps.HEADERLESS_CSV, apps.RECORDED),
)


def spoil_kml(_: bytes, random: Random) -> bytes:
    """Change values of a KML file of some kind."""
    return tokens(random.choice((apps.KML_TRACK, apps.KML_PLACES, apps.KML_SPANS)).encode(), random)


def spoil_fit(content: bytes, random: Random) -> bytes:
    """Spoil the messages of a FIT file under checksums that are right."""
    return apps.sealed(blind(content[14:-2], random))


def spoil_zip(_: bytes, random: Random) -> bytes:
    """Pack spoilt files, under names that lead elsewhere."""
    names = ("a.gpx", "../../b.gpx", "/etc/c.kml", "d/e\x00f", "g.zip", ".h", "i" * 300, "CON", "")
    spoilt = (spoil_json, spoil_table, spoil_kml)
    files = {
        random.choice(names): random.choice(spoilt)(b"", random) for _ in range(random.randrange(4))
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return apps.zipped({name or "x": content for name, content in files.items()})


def spoil_secrets(content: bytes, random: Random) -> bytes:
    """Change values of an events file, or add lines that ask for much."""
    text = content.decode()
    turn = random.random()
    if turn < 0.3:  # a value of the file for another, written as TOML
        lines = text.splitlines()
        k = random.randrange(len(lines))
        key, equals, _ = lines[k].partition(" = ")
        if equals:
            lines[k] = f"{key} = {_as_toml(hostile(random))}"
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    if turn < 0.5:
        return (text + random.choice(_MUCH)(random)).encode()
    if turn < 0.6:
        return text.replace("1h", random.choice(TEXTS)).encode("utf-8", "surrogatepass")
    return tokens(content, random)


def _chain(random: Random) -> str:
    words, count = random.choice((("and", "or"), ("and", "and"))), random.choice((5, 40, 70))
    lines = [
        f'[events.e{i}]\nkind = "expression"\nexpression = "e{i - 1} {words[i % 2]} e{i - 1}"\n'
        for i in range(1, count)
    ]
    start = '[events.e0]\nkind = "presence"\nregion = "home"\nwindow = "morning"\n'
    return start + "".join(lines) + "epsilon = 1\n"


_MUCH: tuple[Callable[[Random], str], ...] = (
    _chain,
    lambda random: "x = " + "[" * random.choice((10, 100, 20_000)),
    lambda random: "x = " + "{a=" * random.choice((10, 100, 20_000)),
    lambda random: ".".join(["a"] * random.choice((10, 100, 50_000))) + " = 1\n",
    lambda random: "[" + ". ".join(["'a'"] * random.choice((10, 100, 50_000))) + "]\n",
    lambda random: "".join(f"[regions.r{i}]\n" for i in range(random.choice((10, 2_000)))),
    lambda random: (
        "[events.x]\nkind = 'expression'\nexpression = '"
        + random.choice(("not ", "(")) * random.choice((50, 300, 2_000))
        + "often'\n"
    ),
    lambda random: f"x = {'9' * random.choice((400, 5_000))}\n",
    lambda random: (
        f"[regions.x]\ngeojson = {json.dumps(random.choice(TEXTS))}\n"
        "[events.x]\nkind = 'presence'\nregion = 'x'\nwindow = 'trip'\nepsilon = 1\n"
    ),
)


def _as_toml(content: Any) -> str:
    if isinstance(content, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_as_toml(v)}" for k, v in content.items()) + "}"
    if isinstance(content, list):
        return "[" + ", ".join(map(_as_toml, content)) + "]"
    if isinstance(content, float):
        return str(content)
    return json.dumps(content)


def spoil_archive(content: bytes, random: Random) -> bytes:
    """Change arrays of a model or a stream under a right checksum, or the archive itself."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files if name != "checksum"}
    if random.random() < 0.4:
        texts = [name for name in arrays if name.endswith(("meta", "description"))]
        name = random.choice(sorted(texts))
        meta = as_json(value(json.loads(arrays[name].tobytes()), random), random)
        arrays[name] = np.frombuffer(meta, dtype=np.uint8)
    for _ in range(random.choice((0, 1, 1, 2))):
        name = random.choice(sorted(arrays))
        arrays[name] = _spoilt_array(arrays[name], random)
        if random.random() < 0.1:
            arrays[random.choice(("matrix 2", "initial", "x" * 300, "../x"))] = arrays.pop(name)
    arrays["checksum"] = np.frombuffer(_digest(arrays), dtype=np.uint8)
    return _archived(arrays, random)


def _spoilt_array(array: Any, random: Random) -> Any:
    turn = random.randrange(8)
    if turn == 0:
        return array[: random.randrange(len(array) + 1)]
    if turn == 1:
        kinds = ("f4", "f2", ">f8", "i8", "u1", "c16", "U5", "S3", "M8[s]", "?", "O", "V7", "f16")
        try:
            return array.astype(random.choice(kinds))
        except (TypeError, ValueError):
            return array
    if turn == 2:
        return np.zeros(random.choice(((0,), (25, 0), (3, 3), (1, 1, 25), (10**6,), (700, 700))))
    if turn == 3:
        return np.asfortranarray(array.reshape(-1, 1) if array.ndim == 1 else array.T)
    spoilt = np.array(array)
    if spoilt.size:
        place = random.randrange(spoilt.size)
        extremes: tuple[float, ...] = (-1, 0, 25, 2**31 - 1, -(2**31), 10**6, 255)
        if spoilt.dtype.kind == "f":
            extremes = (np.nan, np.inf, -1.0, 2.0, 1e308, -0.0, 5e-324)
        with np.errstate(all="ignore"):
            spoilt.flat[place] = np.array(random.choice(extremes)).astype(spoilt.dtype)
    return spoilt


def _digest(arrays: dict[str, Any]) -> bytes:
    try:
        return checksum(arrays)
    except (TypeError, ValueError):
        return bytes(32)


def _archived(arrays: dict[str, Any], random: Random) -> bytes:
    """Return an archive of the arrays; now and then its headers claim something else."""
    file = io.BytesIO()
    lie = random.choice(sorted(arrays)) if random.random() < 0.3 else None
    kind = random.choice((0, 8, 8, 8, 12, 14))
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "w", kind) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=True)
            content = member.getvalue()
            if name == lie:
                content = _lied(content, random)
            archive.writestr(f"{name}.npy", content)
            if random.random() < 0.01:
                archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def _lied(content: bytes, random: Random) -> bytes:
    """Return an array whose header claims another shape or kind, of the same length."""
    size = int.from_bytes(content[8:10], "little")
    head, body = content[10 : 10 + size], content[10 + size :]
    shape = random.choice(
        ("(25,)", "(10**9,)", "(1000000000,)", "(-1,)", "(2,2,2)", "()", "(True,)")
    )
    kind = random.choice(("<f8", "|O", "<i4", "|V8", "<U9999999", "|u1", "x" * 9_000))
    turn = random.random()
    if turn < 0.7:
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    elif turn < 0.85:
        head = b"[" * random.choice((10, 5_000)) + head
    else:
        head = blind(head, random)
    return content[:8] + (len(head) & 0xFFFF).to_bytes(2, "little") + head + body


def spoil_parquet(_: bytes, random: Random) -> bytes:
    """Write columns of any type, texts that stand for many rows, or foreign metadata."""
    table = pa.Table.from_pandas(track(), preserve_index=False)
    metadata = dict(table.schema.metadata or {})
    turn = random.random()
    if turn < 0.35:
        name = random.choice(table.column_names)
        table = table.set_column(table.column_names.index(name), name, _column(random, len(table)))
    elif turn < 0.5:
        table = table.append_column(random.choice(TEXTS)[:300] or "time", _column(random, 24))
    elif turn < 0.6:
        count = random.choice((10, 5_000, 200_000))
        text = random.choice(("a", "a" * 1_000, "a" * 20_000))
        columns = {name: pa.array([0.5]).take(pa.array(np.zeros(count, int))) for name in "xy"}
        words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), [text])
        table = pa.table({"time": words, **columns})
    for key in (b"pandas", b"geo", b"ARROW:schema"):
        if random.random() < 0.25:
            known = json.loads(metadata.get(b"pandas", b"{}")) if key == b"pandas" else _GEO
            metadata[key] = as_json(value(known, random), random)
    if random.random() < 0.3 and b"geo" in metadata:
        points = [random.choice(_POINTS) for _ in range(len(table))]
        table = table.append_column("geometry", pa.array(points, pa.binary()))
    file = io.BytesIO()
    with_metadata = table.replace_schema_metadata(metadata)
    compression = random.choice(("none", "snappy", "zstd", "gzip"))
    pq.write_table(with_metadata, file, compression=compression)
    content = file.getvalue()
    return _spoilt_footer(content, random) if random.random() < 0.3 else content


_GEO = {
    "version": "1.0.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"], "crs": None}},
}
_POINTS = (
    b"\x01\x01\x00\x00\x00" + np.array([13.4, 52.5]).tobytes(),
    b"\x01\x01\x00\x00\x00" + np.array([np.nan, np.inf]).tobytes(),
    b"\x01\x02\x00\x00\x00\xff\xff\xff\x7f",
    b"\x01\x07\x00\x00\x00\xff\xff\xff\xff" + b"\x01\x07\x00\x00\x00\x01\x00\x00\x00" * 50,
    b"\x01\x01\x00\x00\x20\xe6\x10\x00\x00" + np.array([13.4, 52.5]).tobytes(),
    b"",
    None,
)


def _column(random: Random, count: int) -> pa.Array:
    years = np.array([-(2**62), 2**62, 0, 1715000000] * count)[:count]
    made: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array([[1.0, 2.0]] * count),
        lambda: pa.array([{"x": 1.0}] * count),
        lambda: pa.array([random.choice(TEXTS) for _ in range(count)]),
        lambda: pa.array([random.choice(NUMBERS) for _ in range(count)]),
        lambda: pa.array(years, pa.timestamp(random.choice(("ms", "us", "ns")))),
        lambda: pa.array(years, pa.timestamp("us", tz=random.choice(("UTC", "Mars/Base", "+9")))),
        lambda: pa.array([b"\xff\xfe"] * count),
        lambda: pa.array([None] * count),
        lambda: pa.array([True] * count),
        lambda: pa.array(years % 2**30, pa.int32()).cast(pa.date32()),
        lambda: pa.array(years % 86_400, pa.int32()).cast(pa.time32("s")),
        lambda: pa.array([np.nan, np.inf, 1e308] * count)[:count],
        lambda: pa.array(["a"] * count).dictionary_encode(),
        lambda: pa.array(np.zeros(count)).cast(pa.decimal128(38, 30)),
        lambda: pa.array(years, pa.duration("s")),
    )
    return random.choice(made)()


def _spoilt_footer(content: bytes, random: Random) -> bytes:
    """Turn over bits of the metadata at the end, where the claims are."""
    size = int.from_bytes(content[-8:-4], "little")
    body, footer = content[: -8 - size], content[-8 - size : -8]
    footer = blind(footer, random)
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def spoil_lines(content: bytes, random: Random) -> bytes:
    """Spoil lines of a text file: repeat, swap and drop them, or fill one."""
    lines = content.split(b"\n")
    k = random.randrange(len(lines))
    turn = random.random()
    if turn < 0.3:
        lines[k] = b",".join(
            [random.choice(NUMBERS[:-3]).encode()] * random.choice((1, 4, 9, 30_000))
        )
    elif turn < 0.5:
        lines[k:k] = [lines[random.randrange(len(lines))]] * random.choice((1, 20))
    elif turn < 0.7:
        del lines[k : k + random.choice((1, 5, 30))]
    elif turn < 0.8:
        lines[k] = lines[k].replace(b",", b",,") if random.random() < 0.5 else lines[k].strip(b",")
    else:
        return content.decode().encode(random.choice(("utf-16", "utf-8-sig", "utf-32", "cp037")))
    return b"\n".join(lines)


def spoil_gpx(content: bytes, random: Random) -> bytes:
    """Put a document type, entities, deep elements or other versions into GPX."""
    turn, text = random.randrange(5), content.decode()
    if turn == 0:
        lines = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
        text = text.replace("<gpx", f'<!DOCTYPE gpx [<!ENTITY a0 "aa">{lines}]><gpx', 1)
        text = text.replace("a walk", "&a11;")
    elif turn == 1:
        text = text.replace("<gpx", '<!DOCTYPE gpx [<!ENTITY x SYSTEM "/etc/passwd">]><gpx', 1)
        text = text.replace("a walk", "&x;")
    elif turn == 2:
        depth = random.choice((10, 100, 20_000))
        inner = "<a>" * depth + "</a>" * depth
        text = text.replace("<trkseg>", f"<extensions>{inner}</extensions><trkseg>", 1)
    elif turn == 3:
        text = text.replace("1.1", random.choice(NUMBERS + TEXTS), 1)
    else:
        return text.replace("utf-8", random.choice(("utf-16", "latin-1", "x")), 1).encode()
    return text.encode("utf-8", "surrogatepass")
