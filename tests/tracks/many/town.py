"""A few people of the small city, for tests of jobs with many."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd

from priste.tracks.many.crew import Alone
from priste.tracks.many.folder import Run
from tests.tracks import city
from tests.tracks.streams import EVENTS

KEY = bytes(range(32))


def fixes(people: int, first: int = 10, last: int = 11) -> pd.DataFrame:
    """The days `first` to `last` of some people, all different, every three hours."""
    tables = []
    for k in range(people):
        table = city.days(first, last)
        hour = table["time"].dt.tz_convert(city.ZONE).dt.hour
        cells = table.iloc[::-1] if k % 2 else table  # some go their way backwards
        table = table.assign(latitude=cells["latitude"].to_numpy(), user=f"person {k}")
        tables.append(table[(hour + k) % 3 == 0])
    return pd.concat(tables, ignore_index=True)


def desk(folder: Path, people: int = 6) -> Path:
    """Write a table of some people and an events file to a folder."""
    fixes(people).to_parquet(folder / "fixes.parquet", index=False)
    (folder / "events.toml").write_text(EVENTS)
    return folder


class Cut(Alone):
    """A crew that is interrupted after some parts."""

    def __init__(self, after: int) -> None:
        self.after = after

    def work(self, run: Run) -> Iterator[int]:
        yield from islice(super().work(run), self.after)
        raise InterruptedError
