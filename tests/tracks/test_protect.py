from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priste import Protect, at
from priste.errors import TrackError
from priste.tracks import Stream, protect_track
from tests.tracks import city


def test_a_table_becomes_a_released_track(tmp_path: Path) -> None:
    today = city.days(10, 11)
    before = today.copy()
    result = protect_track(today, city.model(), city.events_file(tmp_path), seed=0)
    pd.testing.assert_frame_equal(today, before)
    assert list(result.released.columns) == ["track", "time", "latitude", "longitude", "away"]
    assert result.released["time"].tolist() == today["time"].tolist()
    cells = city.PLACE.cell_at(result.released["latitude"], result.released["longitude"])
    assert cells.tolist() == result.diary["released_cell"].tolist()
    true = city.PLACE.cell_at(today["latitude"], today["longitude"])
    assert result.diary["true_cell"].tolist() == true.tolist()
    between = city.PLACE.grid.distances[true, cells]  # the fixes of this city lie in the middle
    np.testing.assert_allclose(result.diary["error_km"], between, atol=1e-6)
    for name, epsilon in (("treatment", 0.8), ("odd", 1.5)):
        tracked = result.diary[f"loss {name}"].dropna()
        assert len(tracked) > 10
        assert (tracked <= epsilon).all()


def test_steps_without_a_fix_are_not_released(tmp_path: Path) -> None:
    today = city.days(10, 11).iloc[[3, 4, 12]]
    result = protect_track(today, city.model(), city.events_file(tmp_path))
    assert [release.step for release in result.releases] == [3, 4, 12]
    assert result.certificate.n_steps == 24


def test_a_stream_covers_whole_days_of_the_models_zone() -> None:
    stream = Stream.of(city.days(10, 11).iloc[[20]], city.model())
    assert stream.clock.start == city.DAYS[10]
    assert stream.n_steps == 24
    stream = Stream.of(city.days(9, 12), city.model())
    assert stream.n_steps == 72


@pytest.mark.parametrize(("day", "hours"), [("2024-03-31", 23), ("2024-10-27", 25)])
def test_days_on_which_the_clock_changes_have_their_own_length(day: str, hours: int) -> None:
    noon = pd.Timestamp(f"{day} 12:00", tz=city.ZONE).tz_convert("UTC")
    table = city.days(10, 11).head(1).assign(time=noon)
    stream = Stream.of(table, city.model())
    assert stream.n_steps == hours


def test_one_person_at_a_time() -> None:
    two = city.days(10, 11).assign(user=["a", "b"] * 12)
    with pytest.raises(TrackError, match="holds 2 users; protect one person at a time"):
        Stream.of(two, city.model())


def test_a_track_without_a_fix_to_release_is_refused() -> None:
    with pytest.raises(TrackError, match="has no fixes to protect"):
        Stream.of(city.days(10, 11).head(0), city.model())


def test_a_protection_without_a_name_goes_by_its_position() -> None:
    here, there = Protect(at(3, 5), 0.5, name="here"), Protect(at(4, 6), 0.7)
    result = protect_track(city.days(10, 11), city.model(), [here, there], seed=0)
    assert result.protections == (here, there)
    assert result.certificate.names == ["here", "event 2"]
    assert {"loss here", "loss event 2"} <= set(result.diary)
    assert "About “event 2” (at {4} at step 6; within 0.7 km of" in str(result.certificate)
