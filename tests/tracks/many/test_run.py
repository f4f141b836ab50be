"""Jobs with many people: each stream as if it were alone, each step drawn once."""

import multiprocessing
import os
import shutil
import signal
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from benchmarks.disturbed import released as public

from priste.errors import CertificateError, TrackError
from priste.stream.parts import default_calibration
from priste.tracks import (
    Adversary,
    Delivered,
    TrackStream,
    certificates_of,
    check,
    clean,
    fit_model,
    load_certificate,
    protect_many,
    protect_track,
)
from priste.tracks.many import run as driver
from priste.tracks.many.folder import Job
from priste.tracks.windows import day_start
from tests.tracks import city, streams
from tests.tracks.many import town
from tests.tracks.many.town import KEY, Cut


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return town.desk(tmp_path)


def protected(desk: Path, out: str, source: str = "fixes.parquet", **options: Any) -> Delivered:
    settings: dict[str, Any] = {"key": KEY, "parts": 3, "workers": 1} | options
    return protect_many(desk / source, city.model(), desk / "events.toml", desk / out, **settings)


def test_each_stream_is_what_it_would_be_alone(desk: Path) -> None:
    done = protected(desk, "out")
    job, model = Job.open(done.folder), city.model()
    released = pd.read_parquet(done.released)
    for user, table in town.fixes(6).groupby("user"):
        kept, _ = clean(table)
        start = day_start(kept["time"].min(), model.time_zone)
        stream = TrackStream.begin(
            start, model, Adversary(), job.mechanism, default_calibration(job.mechanism)
        )
        alone = protect_track(
            kept,
            model,
            desk / "events.toml",
            mechanism=job.mechanism,
            stream=stream,
            draws=job.draws(str(user), start),
        )
        found = released[released["user"] == user]
        columns = ["time", "latitude", "longitude"]
        pd.testing.assert_frame_equal(
            found[columns].reset_index(drop=True), alone.released[columns].reset_index(drop=True)
        )


def test_the_certificates_of_two_runs_are_those_of_one_stream(desk: Path) -> None:
    protected(desk, "out")
    town.fixes(6, 10, 12).to_parquet(desk / "later.parquet", index=False)
    later = protected(desk, "out", "later.parquet")
    assert (later.run, later.told.released, later.told.days) == (2, 6, 6)
    assert later.told.again == len(town.fixes(6))
    loaded = []
    for number, text in enumerate(certificates_of(desk / "out", "person 3")):
        (desk / f"{number}.json").write_text(text)
        loaded.append(load_certificate(desk / f"{number}.json"))
    assert [c.link.number for c in loaded if c.link] == [1, 2]
    assert check(loaded, city.model()).kept


def test_the_same_files_again_are_nothing_new(desk: Path) -> None:
    before = protected(desk, "out")
    seen = public(desk / "out")
    again = protected(desk, "out")
    assert (again.run, again.told.to_json()) == (1, before.told.to_json())
    assert public(desk / "out") == seen


def test_an_interrupted_job_ends_as_if_it_had_not_been(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protected(desk, "whole")
    for after in (0, 1):
        with monkeypatch.context() as patched:
            patched.setattr(driver, "_crew", lambda *_, n=after: Cut(n))
            with pytest.raises(InterruptedError):
                protected(desk, "cut")
    (run,) = Job.open(desk / "cut").runs()
    assert len(run.waiting()) == len(run.rows) - 1
    protected(desk, "cut")
    assert public(desk / "cut") == public(desk / "whole")


def test_what_was_done_but_not_public_becomes_public(desk: Path) -> None:
    protected(desk, "out")
    seen = public(desk / "out")
    lost = next((desk / "out" / "released").rglob("*.parquet"))
    lost.unlink()
    protected(desk, "out")
    assert public(desk / "out") == seen


def test_of_two_who_do_a_part_the_first_wins(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_crew", lambda *_: Cut(0))
    with pytest.raises(InterruptedError):
        protected(desk, "out")
    run = Job.open(desk / "out").runs()[0]
    part = run.waiting()[0]
    with run.doing(part) as slow, run.doing(part) as fast:
        for folder, text in ((slow, "slow"), (fast, "fast")):
            (folder / "released.parquet").write_text(text)
    run.publish(part)
    stands = [path.read_text() for path in (desk / "out" / "released").rglob("*.parquet")]
    assert stands == ["fast"]  # the inner block ended first
    assert not list((run.folder / "parts").glob(".*"))


def test_whoever_cannot_be_protected_is_named_with_the_reason(desk: Path) -> None:
    good = town.fixes(2)
    learned = town.fixes(1, 3, 4).assign(user="learned from")
    lost = town.fixes(1).assign(user="lost", latitude=400.0)
    pd.concat([good, learned, lost]).to_parquet(desk / "mixed.parquet", index=False)
    done = protected(desk, "out", "mixed.parquet")
    assert (done.told.people, done.told.released, done.told.n_refused) == (4, 2, 2)
    assert "learned from days" in done.told.refused["learned from"]
    assert done.told.refused["lost"] == "no fix can be used"
    assert set(pd.read_parquet(done.released)["user"]) == {"person 0", "person 1"}
    given_up = protected(desk, "b", "mixed.parquet", model_has_seen_these_days=True)
    assert set(given_up.told.refused) == {"lost"}
    text = certificates_of(given_up.folder, "learned from")[0]
    assert "the model was learned from days that are protected here" in text


def test_a_defect_costs_one_person_and_tells_no_value(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from priste.tracks.many import part

    def defective(table: pd.DataFrame, *args: object, **options: object) -> object:
        if table["user"].iloc[0] == "person 1":
            raise ValueError("cell 17")
        return protect_track(table, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(part, "protect_track", defective)
    done = protected(desk, "out")
    assert done.told.released == 5
    assert done.told.refused["person 1"].startswith("internal error: ValueError in test_run, line")
    assert "17" not in done.told.refused["person 1"].replace("line", "")[:40]


def test_a_job_goes_on_as_it_began(desk: Path) -> None:
    protected(desk, "out")
    for options, what in (
        ({"adversary": "any"}, "another adversary: 'near', and not 'any'"),
        ({"rho": 0.2}, "another rho"),
        ({"key": b"x" * 32}, "another key"),
        ({"hide_events": True}, "another hide_events"),
    ):
        with pytest.raises(TrackError, match=what):
            protected(desk, "out", **options)
    with pytest.raises(TrackError, match="another model"):
        protect_many(
            desk / "fixes.parquet", city.traveller(), desk / "events.toml", desk / "out", key=KEY
        )


def test_an_old_copy_of_what_is_private_is_refused(desk: Path) -> None:
    protected(desk, "out")
    private = desk / "out" / "private"
    shutil.copytree(private, desk / "backup")
    town.fixes(6, 11, 12).to_parquet(desk / "later.parquet", index=False)
    protected(desk, "out", "later.parquet")
    seen = public(desk / "out")
    shutil.rmtree(private)
    with pytest.raises(TrackError, match="is gone, and what it knew has been released"):
        protected(desk, "out")
    shutil.copytree(desk / "backup", private)
    with pytest.raises(TrackError, match="is an old copy: it does not know of run 2"):
        protected(desk, "out", "later.parquet")
    assert public(desk / "out") == seen


def test_a_run_that_was_cut_short_is_finished_first(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_crew", lambda *_: Cut(1))
    with pytest.raises(InterruptedError):
        protected(desk, "out")
    town.fixes(6, 11, 12).to_parquet(desk / "later.parquet", index=False)
    with pytest.raises(TrackError, match="run 1 .* was cut short, and these are other files"):
        protected(desk, "out", "later.parquet")


def test_what_is_private_is_for_its_owner_alone(desk: Path) -> None:
    done = protected(desk, "out")
    private = desk / "out" / "private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert stat.S_IMODE((private / "key").stat().st_mode) == 0o600
    assert not (private / "runs" / "0001" / "fixes").exists()
    columns = set(pd.read_parquet(done.released).columns)
    assert columns == {"part", "user", "time", "latitude", "longitude", "away"}


def test_hidden_events_are_in_no_public_file(desk: Path) -> None:
    protected(desk, "out", hide_events=True)
    text = certificates_of(desk / "out", "person 2")[0]
    assert "treatment" not in text
    assert "treatment" in certificates_of(desk / "out", "person 2", full=True)[0]
    with pytest.raises(CertificateError, match="nothing was released of 'nobody'"):
        certificates_of(desk / "out", "nobody")


def test_people_may_have_events_of_their_own(desk: Path) -> None:
    events = desk / "events"
    events.mkdir()
    (events / "person 0.toml").write_text(streams.EVENTS.replace("treatment", "visit"))
    done = protect_many(desk / "fixes.parquet", city.model(), events, desk / "a", workers=1)
    assert (done.told.released, done.told.n_refused) == (1, 5)
    assert done.notes == ()
    for name in ("everyone", "Person 1", "person 9"):
        (events / f"{name}.toml").write_text(streams.EVENTS)
    done = protect_many(desk / "fixes.parquet", city.model(), events, desk / "b", workers=1)
    assert done.told.released == 6
    assert len(done.notes) == 1
    assert "nobody with fixes in this run is called Person 1, person 9, as 2 of" in done.notes[0]
    assert "visit" in certificates_of(done.folder, "person 0")[0]
    assert "visit" not in certificates_of(done.folder, "person 1")[0]


def test_whoever_has_enough_history_gets_a_model_of_their_own(desk: Path) -> None:
    history = pd.concat(
        [city.days(0, 8).assign(user="person 0"), city.days(0, 2).assign(user="person 1")]
    )
    history.to_parquet(desk / "history.parquet", index=False)
    done = protected(desk, "out", history=desk / "history.parquet", personal_days=7)
    assert (done.told.released, done.told.personal) == (6, 1)
    first, other = (
        certificates_of(done.folder, f"person {k}")[0].partition('"model": ')[2][:70]
        for k in (0, 1)
    )
    assert city.model().fingerprint in other
    assert city.model().fingerprint not in first
    town.fixes(6, 11, 12).to_parquet(desk / "later.parquet", index=False)
    later = protected(desk, "out", "later.parquet", personal_days=7)
    assert (later.told.released, later.told.personal) == (6, 1)


def test_a_history_needs_a_model_of_one_step(desk: Path) -> None:
    longer = fit_model(
        city.days(0, 10), step="1h", place=city.PLACE, time_zone=city.ZONE, order=2, habits=1
    )
    given = desk / "fixes.parquet", longer, desk / "events.toml", desk / "out"
    with pytest.raises(TrackError, match="depend on the last cell alone"):
        protect_many(*given, history=desk / "fixes.parquet")


def test_killed_processes_change_nothing(desk: Path) -> None:
    protected(desk, "quiet")
    ended = threading.Event()
    killed: list[int | None] = []

    def kill() -> None:
        while not ended.wait(0.2) and len(killed) < 2:
            for child in multiprocessing.active_children()[:1]:
                time.sleep(1.5)  # into its work
                with suppress(ProcessLookupError):  # it has just ended by itself
                    os.kill(child.pid or 0, signal.SIGKILL)
                    killed.append(child.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        protected(desk, "disturbed", workers=2)
    finally:
        ended.set()
        killer.join()
    assert killed
    assert public(desk / "disturbed") == public(desk / "quiet")


def test_another_job_in_the_same_place_is_another_job(desk: Path) -> None:
    protected(desk, "out", key=None)
    shutil.rmtree(desk / "out")
    protected(desk, "out", key=None, hide_events=True)
    assert "treatment" not in certificates_of(desk / "out", "person 2")[0]


def test_one_person_is_one_person_however_the_number_is_written(desk: Path) -> None:
    written: dict[str, list[Any]] = {"whole": [7, 8], "float": [7.0, 8.0], "text": ["7", " 8"]}
    for name, users in written.items():
        day = [town.fixes(1).assign(user=user) for user in users]
        pd.concat(day).to_parquet(desk / f"{name}.parquet", index=False)
        done = protected(desk, "out", f"{name}.parquet")
        assert (done.told.released, done.told.unchanged) == ((2, 0) if name == "whole" else (0, 2))
    released = pd.read_parquet(desk / "out" / "released")
    assert not released.duplicated(["user", "time"]).any()
    assert len(released) == 2 * len(town.fixes(1))


def test_streams_that_are_gone_are_not_begun_anew(desk: Path) -> None:
    protected(desk, "out")
    seen = public(desk / "out")
    for path in (desk / "out" / "private" / "runs").rglob("streams.parquet"):
        path.unlink()
    town.fixes(6, 10, 12).to_parquet(desk / "later.parquet", index=False)
    with pytest.raises(TrackError, match="streams.parquet is gone; bring back the newest copy"):
        protected(desk, "out", "later.parquet")
    assert public(desk / "out") == seen


def test_a_finished_run_that_is_run_again_leaves_what_others_prepare(desk: Path) -> None:
    protected(desk, "out")
    with Job.open(desk / "out").new_run(2) as new:
        protected(desk, "out")
        assert new.exists()
        (new / "run.json").write_text("{}")
    town.fixes(6, 11, 12).to_parquet(desk / "later.parquet", index=False)
    with pytest.raises(TrackError, match="run.json of run 2 says nothing about"):
        protected(desk, "out", "later.parquet")


def test_a_public_file_that_was_cut_short_is_written_again(desk: Path) -> None:
    protected(desk, "out")
    seen = public(desk / "out")
    next((desk / "out" / "released").rglob("*.parquet")).write_bytes(b"")
    protected(desk, "out")
    assert public(desk / "out") == seen


def test_draws_of_other_days_are_others_under_the_same_key(desk: Path) -> None:
    protected(desk, "out")
    job = Job.open(desk / "out")
    bits = {
        job.draws(user, day).bits()
        for user in ("a", "b")
        for day in (city.DAYS[0], city.DAYS[1], city.DAYS[1].tz_convert("UTC"))
    }
    assert len(bits) == 4  # the same moment is the same in every zone


def test_a_name_that_no_file_can_have_harms_nobody(desk: Path) -> None:
    events = desk / "events"
    events.mkdir()
    (events / "everyone.toml").write_text(streams.EVENTS)
    names = ["あ" * 90, "../x", "everyone", "a/b"]
    tables = [town.fixes(1).assign(user=name) for name in names]
    pd.concat(tables).to_parquet(desk / "named.parquet", index=False)
    done = protect_many(desk / "named.parquet", city.model(), events, desk / "out", workers=1)
    assert done.told.released == 4


def test_no_private_file_is_open_to_others(desk: Path) -> None:
    protected(desk, "out")
    for path in (desk / "out" / "private").rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_the_summary_adds_up(desk: Path) -> None:
    protected(desk, "out")
    lost = [town.fixes(1).assign(user=f"lost {k}", latitude=400.0) for k in range(25)]
    mixed = [town.fixes(6), town.fixes(1, 11, 12).assign(user="new"), *lost]
    pd.concat(mixed).to_parquet(desk / "mixed.parquet", index=False)
    told = protected(desk, "out", "mixed.parquet").told
    assert told.people == told.released + told.n_refused + told.unchanged == 32
    assert (told.released, told.n_refused, len(told.refused)) == (1, 25, 20)


def test_fixes_off_the_map_are_counted_and_not_measured(desk: Path) -> None:
    gone = town.fixes(1).assign(user="gone", latitude=60.0)
    pd.concat([town.fixes(1), gone]).to_parquet(desk / "mixed.parquet", index=False)
    told = protected(desk, "out", "mixed.parquet").told
    assert told.off_map == len(gone)
    assert told.errors.count + told.shown_away == told.releases - told.off_map
    assert told.errors.largest < 10  # the map has five kilometres
