import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste.errors import TrackError
from priste.tracks import Account, Rules, clean, read, read_geolife, track_table
from tests.tracks.tables import random_table, shared_data


def walk(n: int = 10) -> pd.DataFrame:
    times = pd.date_range("2024-05-01T08:00:00Z", periods=n, freq="10s").astype(
        "datetime64[us, UTC]"
    )
    return track_table(
        pd.DataFrame({"time": times, "latitude": 52.5 + 1e-4 * np.arange(n), "longitude": 13.4})
    )


def test_a_clean_track_is_kept_as_it_is() -> None:
    table = walk()
    kept, account = clean(table)
    pd.testing.assert_frame_equal(kept, table)
    assert account.kept == account.read == 10
    assert sum(account.dropped.values()) == 0


@pytest.mark.parametrize(
    ("spoil", "reason", "count"),
    [
        ({"latitude": (3, np.nan)}, "no coordinates", 1),
        ({"latitude": (3, 400.17)}, "impossible coordinates", 1),
        ({"longitude": (3, -181.0)}, "impossible coordinates", 1),
        ({"time": (3, pd.NaT)}, "unreadable time", 1),
        ({"time": (3, pd.Timestamp("2000-01-01T00:00:00Z"))}, "clock off", 1),
        ({"time": (3, pd.Timestamp("2100-01-01T00:00:00Z"))}, "clock off", 1),
        ({"latitude": (3, 53.5)}, "faster than 340 m/s", 1),
    ],
)
def test_each_rule_takes_what_it_should_and_says_so(
    spoil: dict[str, tuple[int, object]], reason: str, count: int
) -> None:
    table = walk()
    for column, (row, value) in spoil.items():
        table.loc[row, column] = value
    before = table.copy(deep=True)
    kept, account = clean(table)
    assert len(kept) == 10 - count
    assert {r: c for r, c in account.dropped.items() if c} == {
        next(r for r in account.dropped if r.startswith(reason)): count
    }
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("max_speed", [30.0, 340.0])
@pytest.mark.parametrize(
    ("axis", "at"), [("latitude", 0.0), ("longitude", 0.0), ("longitude", 60.0)]
)
def test_the_limit_of_speed_is_where_it_is_said_to_be(
    axis: str, at: float, max_speed: float, unit: str
) -> None:
    """Due north or due east, for 50 seconds, a thousandth below the limit and above it."""
    radius = 6_371_008.8 * (np.cos(np.radians(at)) if axis == "longitude" else 1.0)
    for share, dropped in ((0.999, 0), (1.001, 1)):
        moved = np.degrees(share * max_speed * 50 / radius)
        table = walk(2).assign(latitude=at, longitude=10.0)
        times = table["time"].iloc[0] + pd.to_timedelta([0, 50], unit="s")
        table["time"] = times.astype(f"datetime64[{unit}, UTC]")
        table.loc[1, axis] += moved
        _, account = clean(table, Rules(max_speed=max_speed))
        assert account.dropped[f"faster than {max_speed:g} m/s"] == dropped


def test_duplicates_contradictions_and_disorder() -> None:
    table = walk()
    twice = table.iloc[[4]]
    elsewhere = table.iloc[[6]].assign(longitude=13.41)
    shuffled = pd.concat(
        [table.iloc[[0, 2, 1]], table.iloc[3:], twice, elsewhere], ignore_index=True
    )
    kept, account = clean(shuffled)
    pd.testing.assert_frame_equal(kept, table)
    assert account.dropped["duplicate (same time and place)"] == 1
    assert account.dropped["contradiction (same time, another place)"] == 1
    assert account.moved == 1


def test_after_a_jump_the_track_goes_on_from_the_last_believed_fix() -> None:
    table = walk()
    table.loc[[3, 4], "latitude"] = [60.0, 60.0]
    kept, _ = clean(table)
    assert kept["latitude"].max() < 53
    assert len(kept) == 8


def test_tracks_of_different_users_do_not_touch_each_other() -> None:
    one, other = walk().assign(user="a"), walk().assign(user="b", longitude=-70.0)
    kept, account = clean(pd.concat([one, other], ignore_index=True))
    assert account.kept == 20
    assert kept["user"].tolist() == ["a"] * 10 + ["b"] * 10


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_the_account_always_adds_up(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    table = random_table(n, seed)
    for column, value in [("latitude", np.nan), ("longitude", 500.0), ("time", pd.NaT)]:
        table.loc[random.random(n) < 0.1, column] = value
    table = table.sample(n=2 * n, replace=True, random_state=seed, ignore_index=True)
    kept, account = clean(table)
    assert account.read == 2 * n
    assert account.kept == len(kept)
    assert account.read == account.kept + sum(account.dropped.values())
    for _, fixes in kept.groupby("track"):
        assert fixes["time"].is_monotonic_increasing
        assert fixes["time"].is_unique


def test_the_account_reads_as_a_table() -> None:
    _, account = clean(walk())
    assert str(account) == "        10  fixes read\n        10  kept"
    broken = walk()
    broken.loc[3, "latitude"] = np.nan
    assert "         1  dropped: no coordinates" in str(clean(broken)[1])
    assert "1  of these, moved to their place in time" in str(clean(walk().iloc[[1, 0, 2]])[1])
    with pytest.raises(AssertionError, match="does not add up"):
        Account(10, 5, {"lost": 1}, 0)


def test_a_frame_whose_index_repeats_is_cleaned_like_any_other() -> None:
    """As pandas.concat leaves it if nobody asks for a new index."""
    twice = pd.concat([walk().assign(track="a"), walk().assign(track="b")])
    kept, account = clean(twice)
    assert account.read == len(twice)
    pd.testing.assert_frame_equal(kept, clean(twice.reset_index(drop=True))[0])


def test_rules_can_be_set_and_are_checked() -> None:
    _, account = clean(walk(), Rules(max_speed=0.5))
    assert account.dropped["faster than 0.5 m/s"] > 0
    with pytest.raises(TrackError, match="max_speed must be a finite number above 0, got -1"):
        Rules(max_speed=-1)
    with pytest.raises(TrackError, match="earliest needs a time zone"):
        Rules(earliest=pd.Timestamp("2020-01-01"))


def test_real_gpx_files_add_up() -> None:
    for path in sorted(shared_data("gpx").rglob("*.gpx")):
        try:
            table = read(path, time_zone="UTC")
        except TrackError:
            continue
        kept, account = clean(table)
        assert account.read == len(table) == len(kept) + sum(account.dropped.values())


def test_a_geolife_user_adds_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    archive = shared_data("geolife-8-users.tar.xz")
    folder = tmp_path_factory.mktemp("geolife")
    import tarfile

    with tarfile.open(archive) as tar:
        members = [m for m in tar.getmembers() if m.name.startswith("Data/000/")]
        tar.extractall(folder, members=members[:40], filter="data")
    table = read_geolife(folder / "Data" / "000")
    kept, account = clean(table)
    assert set(table["user"]) == {"000"}
    assert account.read == len(table) > 10_000
    assert account.kept == len(kept) > 0.99 * len(table)
