"""Reports as a reader sees them: in a real browser, from a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from priste.report import Findings, write_report
from priste.tracks import protect_track
from tests.studio.browser import chromium, visit
from tests.tracks import city


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    track = protect_track(city.days(10, 11), city.model(), city.events_file(folder), seed=1)
    pages = {"private": folder / "private.html", "public": folder / "public.html"}
    for name, page in pages.items():
        write_report(Findings.of(track, private=name == "private"), page)
    return pages


@pytest.mark.parametrize("name", ["private", "public"])
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_a_report_is_complete_without_a_network(
    browser: Browser,
    reports: dict[str, Path],
    name: str,
    width: int,
    scheme: Literal["light", "dark"],
) -> None:
    with visit(browser, reports[name].as_uri(), width=width, scheme=scheme) as found:
        page = found.page
        expect(page.locator(".priste-map")).to_have_count(4 if name == "private" else 1)
        page.wait_for_timeout(200)
        land = page.locator(".leaflet-tile-pane svg").first.bounding_box()
        assert land is not None
        assert land["width"] > 100
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert found.serious() == []
        assert found.faults == []


def test_the_slider_moves_the_day(browser: Browser, reports: dict[str, Path]) -> None:
    with visit(browser, reports["private"].as_uri()) as found:
        page = found.page
        slider = page.locator(".priste-time input")
        slider.focus()
        slider.press("Home")
        expect(page.locator(".priste-clock")).to_have_text("00:00")
        expect(page.locator(".priste-odds thead")).to_contain_text("at 00:00")
        slider.press("End")
        expect(page.locator(".priste-clock")).to_have_text("23:00")
        expect(page.locator(".priste-odds thead")).to_contain_text("at 23:00")
        now, end = (
            page.locator(".priste-odds tbody tr").last.locator("td").nth(i).inner_text()
            for i in (0, 1)
        )
        assert now == end
        page.click("text=Play")
        expect(page.locator(".priste-play")).to_have_text("Play")  # the day is over


def test_without_scripts_there_are_figures(reports: dict[str, Path], browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["private"].as_uri())
    assert page.locator("svg").count() >= 3
    context.close()


def test_a_report_prints(browser: Browser, reports: dict[str, Path], tmp_path: Path) -> None:
    with visit(browser, reports["private"].as_uri(), scheme="dark") as found:
        found.page.emulate_media(media="print")
        found.page.pdf(path=tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").stat().st_size > 20_000
        assert found.page.locator(".priste-time").is_hidden()
