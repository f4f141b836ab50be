"""Many people, as whoever keeps their data protects them."""

from pathlib import Path

import pandas as pd
import pytest

from priste.tracks import save_model
from tests.cli.test_command import Run, run
from tests.tracks import city
from tests.tracks.many import town

__all__ = ["run"]


@pytest.fixture
def words(tmp_path: Path) -> list[object]:
    town.desk(tmp_path)
    save_model(city.model(), tmp_path / "model.npz")
    (tmp_path / "key").write_bytes(town.KEY)
    return [
        *("protect-many", tmp_path / "fixes.parquet", "--model", tmp_path / "model.npz"),
        *("--events", tmp_path / "events.toml", "--out", tmp_path / "out"),
        *("--key", tmp_path / "key", "--parts", 3, "--workers", 1),
    ]


def test_a_table_becomes_a_folder_of_releases_and_a_summary(run: Run, words: list[object]) -> None:
    told = run(*words, "--json").json
    assert (told["people"], told["released"], told["person-days"]) == (6, 6, 6)
    assert 0 < told["largest share of epsilon"] <= 1
    assert len(pd.read_parquet(told["public"]["released"])) == told["releases"]
    page = Path(told["private"]["summary"]).read_text()
    assert "Many people, protected" in page
    assert "<svg" in page
    assert "<script" not in page
    said = run(*words)
    assert said.code == 0
    assert "6  person-days" in said.out


def test_one_persons_certificates_can_be_audited(
    run: Run, words: list[object], tmp_path: Path
) -> None:
    run(*words)
    town.fixes(6, 11, 12).to_parquet(tmp_path / "fixes.parquet", index=False)
    run(*words)
    out = tmp_path / "of one"
    written = run("certificates", tmp_path / "out", "person 4", "--out", out)
    files = written.out.split("\n")[:-1]
    assert [Path(each).name for each in files] == ["1.certificate.json", "2.certificate.json"]
    audited = run("audit", *files, "--model", tmp_path / "model.npz")
    assert audited.code == 0, audited.err
    assert "kept" in audited.out


def test_refusals_are_named_on_the_page_and_counted_in_public(
    run: Run, words: list[object], tmp_path: Path
) -> None:
    lost = town.fixes(1).assign(user="<b>lost</b>", latitude=400.0)
    pd.concat([town.fixes(2), lost]).to_parquet(tmp_path / "fixes.parquet", index=False)
    said = run(*words)
    assert "1 people were refused" in said.out
    page = (tmp_path / "out" / "private" / "summary-0001.html").read_text()
    assert "&lt;b&gt;lost&lt;/b&gt;" in page
    assert "<b>lost" not in page


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["--parts", 50000], "1 to 32,768 parts"),
        (["--user", "nobody"], "does not say whose each fix is"),
        (["--column", "time"], "--column takes a pair"),
        (["--margin", 0.5, "--calibration", "every-output"], "is for the optimal remap"),
    ],
)
def test_bad_options_are_said_and_leave_nothing(
    run: Run, words: list[object], tmp_path: Path, more: list[object], error: str
) -> None:
    ended = run(*words, *more)
    assert (ended.code, error in ended.err) == (3, True), ended.err
    assert not list((tmp_path / "out").rglob("*.parquet"))
