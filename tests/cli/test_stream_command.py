"""A person's days, one after the other, as the command protects them."""

import json
from pathlib import Path

import pytest

from priste.tracks import load_model, save_model, write
from tests.cli.test_command import Run, names, run
from tests.tracks import city, streams
from tests.tracks.test_track_stream import other_model

__all__ = ["run"]  # a fixture


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a model, an events file and two days to protect."""
    save_model(city.model(), tmp_path / "model.npz")
    city.events_file(tmp_path, streams.EVENTS)
    for name, day in (("mon", 10), ("tue", 11)):
        write(city.days(day, day + 1), tmp_path / f"{name}.csv")
    return tmp_path


def words(desk: Path, day: str, *more: object, model: str = "model.npz") -> tuple[object, ...]:
    paths = "-m", desk / model, "-e", desk / "events.toml", "--no-report"
    return "protect", desk / f"{day}.csv", *paths, *more


def test_two_days_in_a_stream_from_end_to_end(run: Run, desk: Path) -> None:
    stream = "--stream", desk / "me.stream"
    first = run(*words(desk, "mon", *stream, "--json"))
    assert first.code == 0, first.err
    assert first.json["stream"]["goes on at"] == "2024-05-17 00:00"
    assert first.json["stream"]["certificates"] == 1
    assert first.json["warnings"] == []
    second = run(*words(desk, "tue", *stream))
    assert second.code == 0, second.err
    assert "This is certificate 2 of a stream" in second.out
    assert "which goes on at 2024-05-18 00:00; keep it" in second.out
    assert second.err == ""

    told = run("explain", desk / "me.stream")
    assert told.code == 0, told.err
    assert "A stream since 2024-05-16 00:00; 2 certificates" in told.out
    assert "laid out until 2024-05-25 00:00" in told.out
    lines = {line[:20]: line for line in told.out.splitlines()}
    assert "settled 0.8" in lines["treatment 2024-05-16"]
    assert "waiting 0.8" in lines["treatment 2024-05-23"]
    states = run("explain", desk / "me.stream", "--json").json["events"]
    assert states["treatment 2024-05-16"]["state"] == "settled"
    assert states["treatment 2024-05-23"]["left"] < 0.8

    one, two = (desk / f"{day}.protected.certificate.json" for day in ("mon", "tue"))
    audited = run("audit", two, one, "-m", desk / "model.npz")
    assert audited.code == 0, audited.err
    assert "Computed again from the 2 certificates" in audited.out
    assert "“treatment 2024-05-16”: promised 0.8, settled, largest loss" in audited.out
    found = run("audit", one, two, "-m", desk / "model.npz", "--json").json
    assert found["kept"] is True
    assert found["protections"]["treatment 2024-05-16"]["state"] == "settled"
    assert run("audit", two, "-m", desk / "model.npz").code == 3
    changed = json.loads(one.read_text())
    changed["protections"][0]["epsilon"] = 2.0
    one.write_text(json.dumps(changed))
    ended = run("audit", one, two, "-m", desk / "model.npz")
    assert ended.code == 3
    assert "it was changed since" in " ".join(ended.err.split())


def test_a_day_is_not_released_twice_and_nothing_is_written(run: Run, desk: Path) -> None:
    stream = "--stream", desk / "me.stream"
    assert run(*words(desk, "mon", *stream)).code == 0
    before = {path: path.read_bytes() for path in desk.rglob("*") if path.is_file()}
    ended = run(*words(desk, "mon", *stream, "-o", desk / "again.csv", "--force"))
    assert ended.code == 3
    assert "are released already" in " ".join(ended.err.split())
    assert {path: path.read_bytes() for path in desk.rglob("*") if path.is_file()} == before


def test_a_delivery_that_fails_leaves_the_stream_where_it_was(run: Run, desk: Path) -> None:
    before = names(desk)
    nowhere = "-o", desk / "nowhere" / "day.csv"
    assert run(*words(desk, "mon", "--stream", desk / "me.stream", *nowhere)).code == 5
    assert names(desk) == before


def test_the_released_track_of_two_days_is_that_of_both_certificates(run: Run, desk: Path) -> None:
    stream = "--stream", desk / "me.stream"
    for day in ("mon", "tue"):
        assert run(*words(desk, day, *stream)).code == 0
    lines = [(desk / f"{day}.protected.csv").read_text().splitlines() for day in ("mon", "tue")]
    (desk / "both.csv").write_text("\n".join([*lines[0], *lines[1][1:]]) + "\n")
    paths = [desk / f"{day}.protected.certificate.json" for day in ("mon", "tue")]
    checked = "audit", *paths, "-m", desk / "model.npz", "--track"
    assert run(*checked, desk / "both.csv").code == 0
    assert run(*checked, desk / "tue.protected.csv").code == 3


def test_days_that_are_protected_apart_are_warned_about(run: Run, desk: Path) -> None:
    assert run(*words(desk, "mon", "--json")).json["warnings"] == []
    ended = run(*words(desk, "tue", "--json"))
    assert ended.code == 0
    (warning,) = ended.json["warnings"]
    assert "mon.protected.certificate.json: made under the same model" in warning
    assert "use --stream" in warning
    assert "use --stream" in " ".join(ended.err.split())
    (desk / "elsewhere").mkdir()
    aside = "-o", desk / "elsewhere" / "tue.csv", "--private", desk / "elsewhere" / "mine"
    assert run(*words(desk, "tue", *aside, "--json")).json["warnings"] == []
    for name in ("bad.certificate.json", "list.certificate.json"):
        (desk / name).write_text("{" if name.startswith("bad") else "[]")
    assert run(*words(desk, "mon", "--force", "--json")).code == 0


def test_a_model_that_has_seen_the_day_is_refused_unless_told(run: Run, desk: Path) -> None:
    save_model(other_model(5, 11), desk / "seen.npz")
    before = names(desk)
    ended = run(*words(desk, "mon", model="seen.npz"))
    assert ended.code == 3
    reason = " ".join(ended.err.split())
    assert "learned from days that are to be protected: 2024-05-16" in reason
    assert "a release of these days that nobody accounts for" in reason
    assert names(desk) == before
    told = run(*words(desk, "mon", "--model-has-seen-these-days", model="seen.npz"))
    assert told.code == 0, told.err
    assert "Caveat: the model was learned from days that are protected here" in told.out
    told = run("protect", "--help")
    assert "gives up the promise" in " ".join(told.out.replace("│", " ").split())


def test_a_stream_takes_another_model_only_on_request(run: Run, desk: Path) -> None:
    save_model(other_model(0, 5), desk / "other.npz")
    stream = "--stream", desk / "me.stream"
    assert run(*words(desk, "mon", *stream)).code == 0
    ended = run(*words(desk, "tue", *stream, model="other.npz"))
    assert ended.code == 3
    assert "--exchange-model" in ended.err
    ended = run(*words(desk, "tue", *stream, "--exchange-model", model="other.npz"))
    assert ended.code == 0, ended.err
    paths = [desk / f"{day}.protected.certificate.json" for day in ("mon", "tue")]
    both = "-m", desk / "model.npz", "-m", desk / "other.npz"
    assert run("audit", *paths, *both).code == 0
    assert run("audit", *paths, "-m", desk / "model.npz").code == 3


def test_fit_says_what_the_model_has_seen(run: Run, desk: Path) -> None:
    write(city.days(0, 4), desk / "past.csv")
    ended = run("fit", desk / "past.csv", "-o", desk / "new.npz", "--step", "1h")
    assert ended.code == 0, ended.err
    assert "it has seen 2024-05-05 to 2024-05-09, so it cannot protect these days" in ended.out
    force = "--time-zone", city.ZONE, "--force", "--json"
    told = run("fit", desk / "past.csv", "-o", desk / "new.npz", "--step", "1h", *force)
    assert told.json["has seen"] == {"days": ["2024-05-06/2024-05-09"]}
    assert load_model(desk / "new.npz").provenance["days"] == ["2024-05-06/2024-05-09"]


def test_what_a_stream_cannot_do_is_said(run: Run, desk: Path) -> None:
    stream = "--stream", desk / "me.stream"
    assert run(*words(desk, "mon", *stream, "--public-report")).code == 3
    assert run(*words(desk, "mon", *stream)).code == 0
    one = desk / "mon.protected.certificate.json"
    ended = run("audit", one, "-m", desk / "model.npz", "--samples", 1)
    assert ended.code == 3
    assert "cannot be followed by itself" in " ".join(ended.err.split())
    (desk / "me.stream").write_bytes(b"PK" + bytes(50))
    ended = run("explain", desk / "me.stream")
    assert ended.code == 3
    assert "is not the file of a stream" in " ".join(ended.err.split())


def test_hidden_certificates_of_a_stream_promise_the_same_on_every_day(
    run: Run, desk: Path
) -> None:
    """Neither what waits nor what is settled is to be seen, nor that nothing is there."""
    promised = []
    for day in ("mon", "tue"):
        stream = "--stream", desk / "me.stream", "--hide-events"
        assert run(*words(desk, day, *stream)).code == 0
        hidden = json.loads((desk / f"{day}.protected.certificate.json").read_text())
        promised.append(hidden["protections"])
    assert promised[0] == promised[1]
    assert len(promised[0]) == len({p["epsilon"] for p in promised[0]})
