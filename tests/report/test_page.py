import base64
import hashlib
import json
import re
import stat
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from priste import posterior_odds, prior_odds
from priste.report import Findings, write_report
from priste.tracks import ProtectedTrack, clean, protect_track
from priste.wording import as_factor, as_odds
from tests.tracks import city


@pytest.fixture(scope="module")
def track(tmp_path_factory: pytest.TempPathFactory) -> ProtectedTrack:
    events = city.events_file(tmp_path_factory.mktemp("events"))
    return protect_track(city.days(10, 11), city.model(), events, seed=1)


@pytest.fixture(scope="module")
def private(track: ProtectedTrack) -> Findings:
    return Findings.of(track, clean(city.days(10, 11))[1])


@pytest.fixture(scope="module")
def files(private: Findings, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A private report: the page, and its figures."""
    return write_report(private, tmp_path_factory.mktemp("report") / "report.html")


def markup_of(page: Path) -> str:
    """A page without its scripts and styles."""
    return re.sub(r"(?s)<(script|style)\b.*?</\1>", "", page.read_text())


def text_of(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "|", markup_of(page)))


def test_every_number_on_the_page_is_the_one_computed(
    track: ProtectedTrack, files: list[Path]
) -> None:
    page, *_ = files
    text = text_of(page)
    losses = track.certificate.check(city.model()).losses
    mobility = city.model().mobility
    for (name, protection), epsilon in zip(track.certificate.named(), (0.8, 1.5), strict=True):
        before = prior_odds(protection.event, mobility)
        after = posterior_odds(protection.event, mobility, track.certificate.columns())
        low, high = (
            as_odds(before / np.exp(epsilon), "down"),
            as_odds(before * np.exp(epsilon), "up"),
        )
        band = f"{low} to {high}" if name == "treatment" else f"at most {high}"
        row = [name, f"{epsilon}", f"a factor {as_factor(epsilon)}", f"{losses[name].max():.4f}"]
        assert "||".join([*row, as_odds(before), band, as_odds(after[-1])]) in text
    errors = track.diary["error_km"]
    assert f"mean distance from the fix to what was released||{errors.mean():.2f} km" in text
    assert f"median of all distances||{errors.median():.2f} km" in text
    assert f"95th percentile||{errors.quantile(0.95):.2f} km" in text
    assert re.search(r"a cell at random\|\|\d\.\d\d km", text)
    assert "fixes read||24|" in text
    assert "kept||24|" in text
    for sentence in track.certificate.sentences():
        assert sentence in text


def test_a_private_report_says_so_and_is_for_its_owner_alone(
    private: Findings, tmp_path: Path
) -> None:
    files = write_report(private, tmp_path / "report.html")
    assert "Do not share it" in files[0].read_text()
    assert {path.suffix for path in files} == {".html", ".svg", ".png"}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)


def test_a_public_report_holds_nothing_of_the_true_track(
    track: ProtectedTrack, tmp_path: Path
) -> None:
    public = Findings.of(track, private=False)
    assert public.true is None
    assert public.errors is None
    assert public.remap is None
    assert public.account is None
    files = write_report(public, tmp_path / "public.html")
    text = files[0].read_text()
    assert "true (private)" not in text
    assert "mean distance" not in text
    (shown,) = re.findall(r'(?s)<script type="application/json" id="data">(.*?)</script>', text)
    assert json.loads(shown).keys() == {"place", "cells", "counts", "secret"}
    assert not any("error" in path.name for path in files)


def test_a_public_report_tells_neither_habits_nor_hidden_events(
    track: ProtectedTrack, tmp_path: Path
) -> None:
    page, *_ = write_report(Findings.of(track, private=False), tmp_path / "public.html")
    for verdict in track.certificate.check(city.model()).verdicts:
        assert as_odds(verdict.before) not in page.read_text()
    hidden = Findings.of(track, private=False, certificate=track.certificate.without_events())
    files = write_report(hidden, tmp_path / "hidden.html")
    text = files[0].read_text()
    assert "treatment" not in text
    assert "sensitive places" not in text
    assert "presence" not in text
    assert not any("odds" in path.name for path in files)


def test_the_remap_that_is_shown_is_one_that_keeps_the_promise(
    track: ProtectedTrack, private: Findings
) -> None:
    assert private.remap is not None
    step, emission = private.remap
    assert step == private.events[0].steps[0] == 9
    np.testing.assert_allclose(emission.sum(axis=1), 1, rtol=1e-15)
    state = track.protector.beginning()
    for release in track.releases[:step]:
        state = state.arrive()
        plan = track.protector.calibration.plan(state.situation())
        state = state.observe(release.column, plan.warm_start)
    assert state.arrive().situation().forbidden_output(emission) is None


def test_the_lines_of_the_figure_are_the_losses_in_each_direction(private: Findings) -> None:
    for event in private.events:
        assert event.before is not None
        assert event.after is not None
        moved = np.log(event.after / event.before)
        assert (moved <= event.rising + 1e-12).all()
        assert (-moved <= event.falling + 1e-12).all()
        worst = event.rising if event.name == "odd" else np.maximum(event.rising, event.falling)
        np.testing.assert_array_equal(event.losses, worst)


def test_the_page_needs_no_network(files: list[Path]) -> None:
    page, *_ = files
    links = re.findall(r'(?:src|href)="([^"]+)"', markup_of(page))
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "@import" not in page.read_text()
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", page.read_text())


def test_a_page_may_run_its_own_scripts_and_ask_nobody(files: list[Path]) -> None:
    page, *_ = files
    text = page.read_text()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    scripts = re.findall(r"(?s)<script>(.*?)</script>", text)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert re.findall("'sha256-([^']+)'", policy) == digests


def test_the_names_in_the_figures_do_not_mix(files: list[Path]) -> None:
    page, *_ = files
    text = markup_of(page)
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names))
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(names)


def test_names_of_events_cannot_inject_markup(tmp_path: Path) -> None:
    text = city.EVENTS.replace("[events.treatment]", '[events."<b>x</b> $\\\\frac$"]').replace(
        '"treatment and not quiet"', '"quiet"'
    )
    track = protect_track(city.days(10, 11), city.model(), city.events_file(tmp_path, text), seed=1)
    page, *_ = write_report(Findings.of(track), tmp_path / "report.html")
    assert "<b>x</b>" not in page.read_text()
    assert "\\u003cb>x" in page.read_text()


def test_the_views_are_what_an_observer_concludes(track: ProtectedTrack, files: list[Path]) -> None:
    page, *_ = files
    (text,) = re.findall(
        r'(?s)<script type="application/json" id="data">(.*?)</script>', page.read_text()
    )
    shown = json.loads(text)
    assert [way["key"] for way in shown["ways"]] == ["raw", "silent", "noise", "protected"]
    for verdict in track.certificate.check(city.model()).verdicts:
        odds = shown["ways"][-1]["odds"][verdict.name]
        np.testing.assert_allclose(odds, verdict.after, rtol=1e-9)
    np.testing.assert_allclose(shown["ways"][-1]["errors"], track.errors, rtol=1e-12)
    assert shown["track"] == [list(fix) for fix in track.stream.fixes.values()]


def test_a_report_says_how_often_somebody_was_away(tmp_path: Path) -> None:
    """On the map, in the remap and among the errors, even if nobody was ever on the map."""
    circle = "circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }"
    assert circle in city.EVENTS
    events = city.events_file(tmp_path, city.EVENTS.replace(circle, "elsewhere = true"))
    for name, leaving in (("half", 12), ("all", 24)):
        table = city.days(10, 11)
        table.loc[table.index[:leaving], "latitude"] += 1.0
        result = protect_track(table, city.traveller(), events, seed=0)
        page = tmp_path / name / "report.html"
        page.parent.mkdir()
        write_report(Findings.of(result), page)
        text = text_of(page)
        assert f"released as away: {result.released['away'].sum()} of 24 times" in text
        assert "(and “away” with probability " in text
        assert f"fixes off the map||{leaving}: " in text
        shown = result.accuracy.on_map > result.accuracy.shown_away
        assert ("mean distance from the fix" in text) == shown
        assert "nan" not in text.lower().replace("nanosecond", "")
