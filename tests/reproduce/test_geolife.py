from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priste.errors import TrackError
from priste.reproduce.geolife import LONG_ENOUGH, prepare
from priste.reproduce.settings import Setting, events
from priste.tracks.geolife import write_plt


def person(folder: Path, latitude: float = 39.98, minutes: int = 60) -> Path:
    """A person's folder with one walk of a fix a minute."""
    walk = pd.DataFrame(
        {
            "time": pd.date_range("2009-05-01 08:00", periods=minutes, freq="1min", tz="UTC"),
            "latitude": latitude + np.linspace(0, 0.03, minutes),
            "longitude": 116.31 + np.linspace(0, 0.04, minutes),
        }
    )
    tracks = folder / "007" / "Trajectory"
    tracks.mkdir(parents=True)
    write_plt(walk.assign(track="walk"), tracks / "20090501080000.plt")
    return folder / "007"


def test_a_person_s_walk_becomes_windows_and_a_mobility(tmp_path: Path) -> None:
    world = prepare(person(tmp_path), "geolife")
    assert world.grid.n_cells <= 400
    path = world.path(LONG_ENOUGH, seed=3)
    assert len(path) == LONG_ENOUGH
    assert path == world.path(LONG_ENOUGH, seed=3)
    assert world.windows is not None
    walk = world.windows[0]
    assert any(walk[k : k + LONG_ENOUGH] == path for k in range(len(walk)))
    (secret,) = events(Setting(place="geolife", region="busiest ten"), world)
    assert secret.holds([world.busiest[0]] * 8)


def test_what_cannot_serve_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match="no fix of 007 lies on the map of Beijing"):
        prepare(person(tmp_path / "elsewhere", latitude=10.0), "geolife")
    with pytest.raises(TrackError, match="no 22 steps of 1min in a row"):
        prepare(person(tmp_path / "short", minutes=10), "geolife")
