from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproduction.geolife import fingerprint, prepare
from reproduction.settings import Setting, events

from priste.errors import TrackError
from priste.tracks.formats.geolife import write_plt

STEPS = 22


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
    dataset = prepare(person(tmp_path), "geolife", STEPS)
    assert dataset.grid.n_cells <= 400
    path = dataset.path(STEPS, seed=3)
    assert len(path) == STEPS
    assert path == dataset.path(STEPS, seed=3)
    assert dataset.windows is not None
    walk = dataset.windows[0]
    assert any(walk[k : k + STEPS] == path for k in range(len(walk)))
    (secret,) = events(Setting(place="geolife", region="busiest ten"), dataset)
    assert secret.holds([dataset.busiest[0]] * 8)


def test_what_cannot_serve_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match="no fix of 007 lies on the map of Beijing"):
        prepare(person(tmp_path / "elsewhere", latitude=10.0), "geolife", STEPS)
    with pytest.raises(TrackError, match="no 22 steps of 1min in a row"):
        prepare(person(tmp_path / "short", minutes=10), "geolife", STEPS)


def test_other_tracks_have_another_fingerprint(tmp_path: Path) -> None:
    one, other = person(tmp_path / "a"), person(tmp_path / "b", minutes=70)
    assert fingerprint(one) == fingerprint(person(tmp_path / "c")) != fingerprint(other)
