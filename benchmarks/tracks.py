"""Reading and discretising a large folder of tracks beside pandas parsing the same text."""

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import report, side_by_side
from priste.tracks import LocalMap, discretise, read_geolife
from priste.tracks.steps import Clock

FILES, FIXES = 400, 3600
"""About as many fixes as eight users of Geolife have; give a folder of PLT files for the real ones:
`python -m benchmarks tracks=FOLDER`."""


def main() -> None:
    given = [word.partition("=")[2] for word in sys.argv if word.startswith("tracks=")]
    print("Tracks: reading and discretising, beside pandas parsing the same text")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(given[0]) if given else _made_up(Path(made))
        _measure(folder)


def _measure(folder: Path) -> None:
    files = sorted(folder.rglob("*.plt"))
    texts = [path.read_text() for path in files]
    fixes = sum(text.count("\n") - 6 for text in texts)

    def parsed() -> list[pd.DataFrame]:
        return [pd.read_csv(io.StringIO(text), skiprows=6, header=None) for text in texts]

    def dated() -> None:
        for frame in parsed():
            pd.to_datetime(frame[5] + " " + frame[6], utc=True)

    def discretised() -> None:
        table = read_geolife(folder)
        place = LocalMap.around(table)
        for _, user in table.groupby("user"):
            clock = Clock(user["time"].min(), pd.Timedelta("10min"))
            discretise(user, place, clock, outside="drop")

    times = side_by_side({"ours": discretised, "parsed": parsed, "dated": dated}, 3)
    for name, how in (("parsed", "their fields"), ("dated", "their fields and dates")):
        ratio = times["ours"] / times[name]
        what = f"read and discretised {fixes:,} fixes over pandas parsing {how}"
        report(what, f"{ratio:.2f}", "at most 3", ratio <= 3)


def _made_up(folder: Path) -> Path:
    random = np.random.default_rng(0)
    for k in range(FILES):
        target = folder / f"{k % 8:03d}" / "Trajectory" / f"{k:05d}.plt"
        target.parent.mkdir(parents=True, exist_ok=True)
        times = pd.Timestamp("2009-01-01") + pd.to_timedelta(np.arange(FIXES) * 5 + k * 20_000, "s")
        walk = np.cumsum(random.normal(0, 1e-5, (FIXES, 2)), axis=0) + [39.9, 116.4]
        lines = [
            f"{lat:.6f},{lon:.6f},0,492,39744.1201851852,{time:%Y-%m-%d,%H:%M:%S}"
            for (lat, lon), time in zip(walk, times, strict=True)
        ]
        target.write_text("\r\n".join(["-"] * 6 + lines) + "\r\n")
    return folder
