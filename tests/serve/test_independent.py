import json
import sqlite3
from pathlib import Path

import pytest
from verification.independent import Verdict, verdicts_of

from tests.serve.rig import HOUR, Rig, at, live, written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a gateway leaves of four days on which phones are silent at times."""
    folder = tmp_path_factory.mktemp("gateway")

    async def story(rig: Rig) -> None:
        for hour in range(90):
            now = rig.watch.moment.ceil("1h")
            if hour % 4:
                await rig.gateway.take("ada", [at(now, 7 * hour % 25)])
            if hour % 5:
                await rig.gateway.take("bob", [at(now, 12 if hour % 24 < 12 else 3)])
            rig.watch.moment = now + HOUR
            await rig.end_steps()

    live(written(folder), story)
    return folder


def verdicts(folder: Path) -> list[Verdict]:
    return verdicts_of(str(folder / "gateway.db"), folder / "model.npz")


def test_every_certified_loss_follows_from_the_log_and_the_model(folder: Path) -> None:
    found = verdicts(folder)
    assert len({(v.person, v.day) for v in found}) == 8
    assert {v.person for v in found} == {"ada", "bob"}
    assert [v for v in found if not v.is_right] == []
    from_the_beginning = [v for v in found if v.charges == 0]
    assert from_the_beginning
    for v in from_the_beginning:
        assert v.found == pytest.approx(v.certified, abs=1e-9)
    assert max(v.found for v in found) > 0.2  # it was no idle promise


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_certificate_that_says_another_loss_is_noticed(folder: Path, factor: float) -> None:
    other = folder / f"other-{factor}.db"
    with sqlite3.connect(folder / "gateway.db") as old, sqlite3.connect(other) as new:
        old.backup(new)
        where = "person = 'bob' AND number = 1"
        source = f"FROM certificates JOIN streams ON id = stream WHERE {where}"
        row, text = new.execute(f"SELECT certificates.rowid, content {source}").fetchone()
        content = json.loads(text)
        assert content["protections"][0]["standing"]["merging"] == 0
        content["protections"][0]["largest_loss"] *= factor
        changed = json.dumps(content).encode()
        new.execute("UPDATE certificates SET content = ? WHERE rowid = ?", (changed, row))
    new.close()
    wrong = [v for v in verdicts_of(str(other), folder / "model.npz") if not v.is_right]
    assert [(v.person, v.day) for v in wrong] == [("bob", 1)]
