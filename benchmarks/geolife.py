"""The same on a person of Geolife: `python -m benchmarks geolife=FOLDER_OF_A_USER,FILE.json`.

The model is learned from the first half of the days; the five later days with most steps are
protected, each about having been, between 8 and 12, near the place where the person most often is.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.utility import interval
from priste import EveryOutput, NoNoise, OptimalRemap, PlanarLaplace, Protect, presence
from priste.tracks import LocalMap, clean, fit_model, protect_track
from priste.tracks.formats.geolife import read_geolife

ZONE, BEIJING = "Asia/Shanghai", (39.75, 116.18, 40.10, 116.62)
MORNING = range(48, 72)  # of steps of ten minutes


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("geolife=")]
    if not words:
        print("Geolife: skipped; say where a user's folder is, geolife=FOLDER[,FILE.json]")
        return
    folder, _, file = words[0].partition(",")
    found = measured(Path(folder))
    if file:
        Path(file).write_text(json.dumps(found, indent=1) + "\n")


def measured(folder: Path) -> dict[str, tuple[float, float, float]]:
    """Mean error in km, half its confidence interval over the days, seconds per release."""
    table, _ = clean(read_geolife(folder))
    place = LocalMap.within(*BEIJING, cells=400, elsewhere=False)
    inside = place.covers(table["latitude"], table["longitude"])
    table = table[inside]
    day = table["time"].dt.tz_convert(ZONE).dt.date
    days = sorted(day.unique())
    past, later = table[day <= days[len(days) // 2]], table[day > days[len(days) // 2]]
    model = fit_model(past, place=place, time_zone=ZONE)
    steps = later["time"].dt.floor("10min").groupby(day[later.index]).nunique()
    chosen = steps.sort_values(ascending=False).index[:5]
    home = int(np.argmax(np.bincount(place.cell_at(past["latitude"], past["longitude"]))))
    region = np.flatnonzero(place.grid.distances[home] <= 1.5 * place.grid.cell_size)
    found = {}
    print(f"Geolife: {folder.name}, mean error in km over {len(chosen)} days, 400 cells, ε = 1")
    for who in ("known", "near", "any"):
        for name, mechanism, calibration in (
            ("remap alone", NoNoise(place.grid), OptimalRemap()),
            ("remap over noise", PlanarLaplace(place.grid, 1.0), OptimalRemap()),
            ("every output", PlanarLaplace(place.grid, 1.0), EveryOutput()),
        ):
            errors, seconds, releases = [], 0.0, 0
            for number, date in enumerate(chosen):
                today = later[day[later.index] == date]
                secret = Protect(presence(region, MORNING), 1.0, name="home in the morning")
                start = time.perf_counter()
                result = protect_track(
                    today,
                    model,
                    [secret],
                    adversary=who,
                    mechanism=mechanism,
                    calibration=calibration,
                    seed=number,
                )
                seconds += time.perf_counter() - start
                releases += len(result.releases)
                errors.append(float(result.errors.mean()))
            found[f"{who}|{name}"] = (*interval(errors), seconds / releases)
            mean, half, each = found[f"{who}|{name}"]
            print(
                f"  {who}, {name}: {mean:.2f} ± {half:.2f} km, {each:.2f} s a release", flush=True
            )
    blind = float(pd.Series(place.grid.distances.ravel()).mean())
    found["blind"] = (blind, 0.0, 0.0)
    return found
