"""Track tables for tests: made up, or the real data if it lies beside the project."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def random_table(n: int, seed: int) -> pd.DataFrame:
    """Fixes of two tracks, with coordinates that use every digit a number has."""
    random = np.random.default_rng(seed)
    seconds = np.cumsum(random.uniform(1, 60, n))
    start = pd.Timestamp("2024-03-30T22:00:00Z")
    times = (start + pd.to_timedelta(np.round(seconds * 1e6), unit="us")).astype(
        "datetime64[us, UTC]"
    )
    table = pd.DataFrame(
        {
            "track": np.where(np.arange(n) < n // 2, "0", "1 evening walk"),
            "time": times,
            "latitude": 52.5 + np.cumsum(random.normal(0, 1e-4, n)),
            "longitude": np.cumsum(random.normal(0, 1e-6, n)),
            "elevation": random.uniform(-5, 3000, n),
        }
    )
    return table.astype({"track": "str"})


def shared_data(name: str) -> Path:
    """Tracks of real people, kept beside the project (or in PRISTE_TRACKS) and not part of it."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    path = Path(os.environ.get("PRISTE_TRACKS", beside)) / name
    if not path.exists():
        pytest.skip(
            "this reads tracks of real people, whose terms do not let us pass them on; to run it, "
            f"set PRISTE_TRACKS to a folder that has {name}"
        )
    return path
