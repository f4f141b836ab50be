"""The true fixes that a person keeps to learn habits from, opened again."""

import pandas as pd

from priste.errors import GatewayError
from priste.serve.config import Config
from priste.serve.database import connect
from priste.serve.sealing import Sealer
from priste.serve.store import Store


def kept_table(config: Config, person: str) -> pd.DataFrame:
    """Return the fixes that the gateway keeps for a person, as a track table."""
    if person not in config.persons:
        raise GatewayError(f"the configuration has no person {person!r}")
    if config.key_file is None or not config.key_file.exists():
        raise GatewayError("nothing is kept without server.key_file, which opens what is")
    sealer, database = Sealer.of(config.key_file), connect(config.database)
    try:
        fixes = [sealer.open(sealed) for _, sealed in Store(database).kept_fixes(person)]
    finally:
        database.close()
    if not fixes:
        raise GatewayError(f"no fixes are kept for {person}; keep_fixes = true keeps them")
    table = pd.DataFrame(fixes, columns=["time", "latitude", "longitude"])
    times = pd.to_datetime(table["time"], unit="us", utc=True).astype("datetime64[us, UTC]")
    track = times.dt.strftime("%Y-%m-%d")
    return table.assign(time=times, track=track.astype("str"))[
        ["track", "time", "latitude", "longitude"]
    ]
