"""The studio in a real browser, as a person uses it."""

import json
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from priste.studio.document import to_text
from priste.studio.levels import in_words
from priste.studio.server import leading_to
from tests.studio.browser import Visit, chromium, studio, visit
from tests.studio.days import ZONE, document, gpx

SIZES: tuple[tuple[int, Literal["light", "dark"]], ...] = (
    (390, "light"),
    (390, "dark"),
    (820, "light"),
    (1280, "dark"),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(browser: Browser) -> Iterator[str]:  # noqa: ARG001
    with studio() as found:
        yield found


def ready(found: Visit) -> Page:
    found.page.wait_for_selector("body[data-ready]")
    return found.page


def choose_small(page: Page) -> None:
    """Choose a map that is quick to compute on."""
    page.select_option("#cells", "100")
    page.select_option("#step", "60")


def table_row(page: Page, name: str) -> list[str]:
    row = page.locator(".priste-odds tbody tr", has_text=name)
    return row.locator("td").all_inner_texts()


def draw_circle(page: Page, at: tuple[float, float], radius: float) -> None:
    page.click(".leaflet-pm-icon-circle")
    box = page.locator("#map").bounding_box()
    assert box is not None
    x, y = box["x"] + at[0] * box["width"], box["y"] + at[1] * box["height"]
    page.mouse.click(x, y)
    page.mouse.move(x + radius / 2, y)
    page.mouse.move(x + radius, y)
    page.mouse.click(x + radius, y)


def paint(page: Page, first: tuple[int, int], last: tuple[int, int]) -> None:
    cells = [page.locator(f".week td[data-day='{d}'][data-hour='{h}']") for d, h in (first, last)]
    boxes = [cell.bounding_box() for cell in cells]
    middles = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in boxes if b]
    page.mouse.move(*middles[0])
    page.mouse.down()
    page.mouse.move(*middles[1], steps=8)
    page.mouse.up()


def saved(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.click(f"[data-file='{name}']")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_from_a_track_to_a_certificate_that_the_audit_accepts(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with visit(browser, address) as found:
        page = ready(found)
        assert "#" not in page.url
        page.set_input_files("#open", gpx(tmp_path))
        expect(page.locator("#sources li")).to_contain_text("phone.gpx: 264 fixes")
        assert page.input_value("#zone") == ZONE
        choose_small(page)
        expect(page.locator(".priste-raw .priste-caption")).to_contain_text("100 %")

        # a circle drawn with the mouse becomes a place, and a secret about it
        page.locator("#map").scroll_into_view_if_needed()
        draw_circle(page, (0.5, 0.5), 30)
        expect(page.locator("#places li")).to_have_count(1)
        expect(page.locator("#list-of-secrets li")).to_have_count(1)
        name = page.locator("#places input").first
        name.fill("clinic")
        name.press("Enter")
        expect(page.locator("#list-of-secrets input").first).to_have_value("at clinic")

        # hours painted with the mouse
        page.locator(".week").scroll_into_view_if_needed()
        page.click("text=None >> nth=0")
        paint(page, (0, 0), (6, 23))
        expect(page.locator(".week + p, .week-scroll + p").first).to_have_text("every day all day")

        # what leaks: the raw track tells whether it happened
        expect(page.locator(".priste-odds thead")).to_contain_text("at clinic")
        assert table_row(page, "Your track as it is")[-1] in ("certain", "certainly not")

        # protected: inside the band
        page.click("#run-protect")
        expect(page.locator(".priste-protected.priste-way")).to_be_visible()
        expect(page.locator("#sentences")).to_contain_text("ε = 1")
        assert (
            page.locator(".priste-odds tr", has_text="Protected").locator(".priste-beyond").count()
            == 0
        )

        # ε moves, and so does everything else
        slider = page.locator(".epsilon input")
        slider.focus()
        for _ in range(2):
            slider.press("ArrowLeft")
        expect(page.locator(".epsilon output")).to_contain_text(in_words(0.5))
        expect(page.locator("#sentences")).to_contain_text("ε = 0.5")

        # odds that may fall: the page says what is given up, and promises that alone
        page.select_option("#secret-0-sides", "event")
        expect(page.locator(".sides output")).to_contain_text("may become sure that you were not")
        expect(page.locator(".epsilon output")).to_contain_text(in_words(0.5, "event"))
        expect(page.locator("#sentences")).to_contain_text("No odds rise by more")

        certificate = saved(page, "certificate.json", tmp_path)
        model = saved(page, "model.npz", tmp_path)
        events = saved(page, "events.toml", tmp_path)
        numbers = saved(page, "odds.csv", tmp_path)
        assert "treatment" not in events.read_text()
        assert 'sides = "event"' in events.read_text()
        assert "circle = " in events.read_text() or "[regions.clinic.circle]" in events.read_text()
        assert numbers.read_text().startswith("time,way,secret,odds")
        audit = subprocess.run(
            [sys.executable, "-m", "priste", "audit", certificate, "--model", model, "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert audit.returncode == 0, audit.stderr
        told = json.loads(audit.stdout)
        assert "at clinic" in json.dumps(told)

        # everything can be opened again
        page.set_input_files("#open", events)
        expect(page.locator("#places input").first).to_have_value("clinic")
        page.set_input_files("#open", certificate)
        expect(page.locator("#opened-verdict")).to_contain_text("The promise is kept")
        assert found.faults == []


def test_the_example_and_the_keyboard(browser: Browser, address: str) -> None:
    with visit(browser, address) as found:
        page = ready(found)
        page.focus("#example")
        page.keyboard.press("Enter")
        expect(page.locator("#places input").first).to_have_value("clinic")
        page.select_option("#cells", "100")
        expect(page.locator(".priste-odds tbody tr")).to_have_count(3)
        hour = page.locator(".week td[tabindex='0']")
        hour.focus()
        page.keyboard.press("Space")
        expect(page.locator(".week-scroll + p").first).to_contain_text("Mon 09:00–10:00")
        for key in ("Shift+ArrowDown", "Shift+ArrowDown"):
            page.keyboard.press(key)
        expect(page.locator(".week-scroll + p").first).to_contain_text("Mon–Wed 09:00–10:00")
        slider = page.locator(".priste-time input")
        slider.focus()
        before = page.inner_text(".priste-clock")
        slider.press("ArrowRight")
        assert page.inner_text(".priste-clock") > before
        page.click("#add-circle")
        expect(page.locator("#places li")).to_have_count(2)
        page.click("#places li:nth-child(2) .remove")
        expect(page.locator("#places li")).to_have_count(1)
        page.click("#clear")
        expect(page.locator("#no-view")).to_be_visible()
        assert found.faults == []


def test_everybody_can_use_the_page(browser: Browser, address: str, tmp_path: Path) -> None:
    with visit(browser, address) as found:
        page = ready(found)
        page.click("#example")
        page.select_option("#cells", "100")
        page.locator(".priste-odds tbody tr").first.wait_for()
        for width, scheme in SIZES:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
            assert found.serious() == []
        assert found.faults == []


def test_a_page_without_the_token_gets_nothing(browser: Browser, address: str) -> None:
    with visit(browser, re.sub("#.*", "", address)) as found:
        page = found.page
        expect(page.locator("#problem")).to_contain_text("this page has no token")
        expect(page.locator("#door")).to_be_visible()


@pytest.mark.parametrize(("kind", "tile"), [("pictures", "img"), ("vectors", "canvas")])
def test_a_base_map_of_ones_own_is_drawn_and_sent_nowhere(
    browser: Browser, address: str, tmp_path: Path, kind: str, tile: str
) -> None:
    with visit(browser, address) as found:
        page = ready(found)
        page.set_input_files("#open", base_map(tmp_path, kind))
        expect(page.locator("#attribution")).to_have_text("Base map: © Nobody")
        page.wait_for_selector(f"#map {tile}.leaflet-tile-loaded", state="attached")
        broken = tmp_path / "broken.pmtiles"
        broken.write_bytes(b"PMTiles")
        page.set_input_files("#open", broken)
        expect(page.locator("#problem")).to_contain_text("broken.pmtiles is not a map")
        assert found.faults == []


def base_map(folder: Path, kind: str) -> Path:
    """A map of one tile, the whole world as land, in the PMTiles format, version 3."""
    tile, number = (_png(), 2) if kind == "pictures" else (_vectors(), 1)
    metadata = b'{"attribution": "<a href=x>\xc2\xa9 Nobody</a>"}'
    directory = bytes([1, 0, 1, *_varint(len(tile)), 1])  # one tile: number, run, length, offset
    places, at = [], 127
    for part in (directory, metadata, b"", tile):
        places += [at, len(part)]
        at += len(part)
    counts = [1, 1, 1]
    header = b"PMTiles\x03" + struct.pack("<11Q", *places, *counts)
    header += bytes([1, 1, 1, number, 0, 0])  # clustered, not compressed, its kind, zoom 0
    header += struct.pack("<4i", -1800000000, -850000000, 1800000000, 850000000)
    header += struct.pack("<B2i", 0, 0, 0)
    path = folder / "land.pmtiles"
    path.write_bytes(header + directory + metadata + tile)
    return path


def _varint(number: int) -> list[int]:
    return [number] if number < 128 else [number % 128 + 128, *_varint(number // 128)]


def _vectors() -> bytes:
    """A Mapbox vector tile with one square in its layer of land."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([8 * number + 2, *_varint(len(content))]) + content

    square = [9, 0, 0, 26, 8192, 0, 0, 8192, 8191, 0, 15]
    corners = bytes(byte for number in square for byte in _varint(number))
    feature = bytes([24, 3]) + field(4, corners)
    layer = bytes([120, 2]) + field(1, b"earth") + field(2, feature) + bytes([40, *_varint(4096)])
    return field(3, layer)


def _png() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">2I5B", 256, 256, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xaa" * 256) * 256)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_the_page_that_the_command_opens_leads_to_the_studio(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    leading_to(address, tmp_path / "studio.html")
    assert (tmp_path / "studio.html").stat().st_mode & 0o077 == 0
    page = browser.new_page()
    page.goto((tmp_path / "studio.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    page.close()


HOSTILE = """
time_zone = "Europe/Berlin"
[regions."<meta http-equiv=refresh content='0;url=http://127.0.0.2:9/'><img src=x onerror=x()>"]
circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }
"""


def test_names_are_text_wherever_they_are_shown(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    (tmp_path / "events.toml").write_text(HOSTILE)
    with visit(browser, address) as found:
        page = ready(found)
        page.set_input_files("#open", tmp_path / "events.toml")
        expect(page.locator(".place-name")).to_contain_text("<meta")
        page.wait_for_timeout(300)
        assert page.url == address.split("#")[0]
        assert page.locator(".place-name img").count() == 0
        assert found.faults == []


def test_what_was_drawn_survives_a_reload_and_can_be_undone(browser: Browser, address: str) -> None:
    with visit(browser, address) as found:
        page = ready(found)
        page.click("#add-circle")
        page.fill("#place-0-name", "clinic")
        page.keyboard.press("Tab")
        expect(page.locator("#place-0-latitude")).to_be_focused()
        page.click("#add-circle")
        page.fill("#place-1-name", "clinic")
        page.keyboard.press("Enter")
        expect(page.locator("#problem")).to_contain_text("another place named “clinic”")
        page.reload()
        page.wait_for_selector("body[data-ready]")
        expect(page.locator("#places li")).to_have_count(2)
        page.click("#places li:first-child .remove")
        expect(page.locator("#list-of-secrets li")).to_have_count(1)
        page.click("#undo")
        expect(page.locator("#list-of-secrets li")).to_have_count(2)
        assert found.faults == []


def test_a_complaint_stays_until_something_is_done(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.gpx"
    bad.write_text("<gpx></gpx>")
    with visit(browser, address) as found:
        page = ready(found)
        page.set_input_files("#open", [bad, gpx(tmp_path)])
        expect(page.locator("#sources")).to_contain_text("phone.gpx")
        page.wait_for_timeout(800)
        expect(page.locator("#problem")).to_contain_text("bad.gpx holds no fixes")
        page.click("#clear")
        expect(page.locator("#problem")).to_be_hidden()
        expect(page.locator("#loaded")).to_be_hidden()


def test_a_change_and_protect_at_once_end_protected(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with visit(browser, address) as found:
        page = ready(found)
        page.set_input_files("#open", gpx(tmp_path))
        choose_small(page)
        page.click("#add-circle")
        for _ in range(3):
            page.click("text=Always")
            page.click("#run-protect")
            expect(page.locator(".priste-way.priste-protected")).to_be_visible()
            page.wait_for_timeout(700)
            expect(page.locator(".priste-way.priste-protected")).to_be_visible()
            page.click("#list-of-secrets >> text=None")
            expect(page.locator(".priste-way.priste-protected")).to_be_hidden()
        assert found.faults == []


def test_the_command_opens_files(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "secrets.toml").write_text(to_text(document(0.6)))
    words = gpx(tmp_path), "--events", tmp_path / "secrets.toml"
    with studio(*words) as own, visit(browser, own) as found:
        page = ready(found)
        expect(page.locator("#sources")).to_contain_text("phone.gpx")
        expect(page.locator("#secret-0-name")).to_have_value("treatment")
        expect(page.locator(".epsilon output")).to_contain_text(in_words(0.6))
        assert found.faults == []
    command = [sys.executable, "-m", "priste", "studio", "--no-browser", "no-such.gpx"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, "no-such.gpx" in ended.stderr) == (3, True)
