"""Fixes of many people, read a piece at a time and laid out by part."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from priste.errors import TrackError
from priste.tracks import write
from priste.tracks.many import intake
from priste.tracks.many.intake import Reading, identity, laid_out, lay_out_by_part, parts_for
from tests.tracks.many import town


def part_of(user: str) -> int:
    return int(user[-1]) % 3


def laid(paths: list[Path], target: Path, reading: Reading | None = None) -> pd.DataFrame:
    rows = lay_out_by_part(paths, reading or Reading(), part_of, target).rows
    tables = {part: laid_out(target, part) for part in range(3)}
    assert {part: len(table) for part, table in tables.items() if len(table)} == rows
    for part, table in tables.items():
        assert {part_of(user) for user in table["user"]} <= {part}
    return pd.concat(tables.values(), ignore_index=True)


def same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    columns = ["user", "time", "latitude", "longitude"]
    pd.testing.assert_frame_equal(
        *(
            each[columns]
            .astype({"time": "datetime64[us, UTC]", "user": str})
            .sort_values(["user", "time"], ignore_index=True)
            for each in (found, wanted)
        )
    )


@pytest.mark.parametrize("rows", [1, 7, 10**6])
def test_all_fixes_are_laid_out_whatever_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(intake, "ROWS", rows)
    table = town.fixes(5)
    table.to_parquet(tmp_path / "people.parquet", index=False)
    same(laid([tmp_path / "people.parquet"], tmp_path / "out"), table)


def test_a_part_keeps_the_order_of_the_file(tmp_path: Path) -> None:
    table = town.fixes(1).sample(frac=1, random_state=3)
    table.to_parquet(tmp_path / "people.parquet", index=False)
    found = laid([tmp_path / "people.parquet"], tmp_path / "out")
    assert found["time"].tolist() == table["time"].tolist()


def test_folders_may_say_whose_the_fixes_are(tmp_path: Path) -> None:
    table, people = town.fixes(4), tmp_path / "people"
    pq.write_to_dataset(pa.Table.from_pandas(table), people, partition_cols=["user"])
    same(laid([people], tmp_path / "a"), table)
    files = tmp_path / "files"
    (files / "person 0").mkdir(parents=True)
    for user, fixes in table.groupby("user"):
        name = f"{user}/day.gpx" if user == "person 0" else f"{user}.csv"
        write(fixes.drop(columns="user"), files / name)
    same(laid([files], tmp_path / "b"), table)


def test_the_column_of_people_is_recognised_or_named(tmp_path: Path) -> None:
    table = town.fixes(3)
    for name, reading in (("Device ID", None), ("who", Reading(user="who"))):
        path = tmp_path / f"{name}.parquet"
        table.rename(columns={"user": name}).to_parquet(path, index=False)
        same(laid([path], tmp_path / name, reading), table)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda table: table.drop(columns="user"), "does not say whose each fix is: it has the"),
        (lambda table: table.assign(user=[None, *table["user"][1:]]), "1 fixes of .* do not say"),
        (lambda table: table.rename(columns={"time": "t"}), "no column for time"),
        (lambda table: table.assign(user=table["time"]), "named by text or a number"),
        (lambda table: table.assign(user=True), "named by text or a number"),
        (
            lambda table: table.rename(columns={"user": "uid"}).assign(device="x"),
            "uid, device may all say whose",
        ),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, change: object, error: str) -> None:
    change(town.fixes(2)).to_parquet(tmp_path / "people.parquet", index=False)  # type: ignore[operator]
    with pytest.raises(TrackError, match=error):
        laid([tmp_path / "people.parquet"], tmp_path / "out")


def test_a_file_of_each_person_may_be_parquet_and_may_be_empty(tmp_path: Path) -> None:
    table, files = town.fixes(3), tmp_path / "files"
    files.mkdir()
    for user, fixes in table.groupby("user"):
        fixes.drop(columns="user").to_parquet(files / f"{user}.parquet", index=False)
    same(laid([files], tmp_path / "a"), table)
    table.head(0).drop(columns="user").to_parquet(files / "nobody.parquet", index=False)
    same(laid([files], tmp_path / "b"), table)


def test_folders_name_people_as_text(tmp_path: Path) -> None:
    table = town.fixes(2)
    table["user"] = table["user"].map({"person 0": "000", "person 1": "001"})
    pq.write_to_dataset(pa.Table.from_pandas(table), tmp_path / "people", partition_cols=["user"])
    same(laid([tmp_path / "people"], tmp_path / "out"), table)


def test_unnamed_people_of_a_csv_file_are_refused(tmp_path: Path) -> None:
    table = town.fixes(1).assign(user=7)
    table["user"] = table["user"].where(table.index > 0)
    table.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(TrackError, match="1 fixes of people.csv do not say whose they are"):
        laid([tmp_path / "people.csv"], tmp_path / "out")


def test_files_that_change_are_others(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    town.fixes(2).to_parquet(path, index=False)
    before = identity([path], Reading())
    assert identity([path], Reading()) == before
    path.touch()
    assert identity([path], Reading()) == before
    assert identity([path], Reading(time_zone="UTC")) != before
    town.fixes(3).to_parquet(path, index=False)
    assert identity([path], Reading()) != before


def test_there_are_as_many_parts_as_the_fixes_need(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pd.DataFrame({"user": ["a"] * 200_000}).to_parquet(path)
    assert parts_for([path]) == 200_000 // intake.FIXES_OF_A_PART
    assert parts_for([path] * 10**3) == intake.MOST_PARTS
