"""Takes the pictures of pages for the documentation, with chromium: `make figures`."""

import tempfile
from pathlib import Path

from playwright.sync_api import Browser
from tests.studio.browser import chromium, studio

from priste import demo

WIDE = {"width": 1180, "height": 900}


def day(browser: Browser, image: Path) -> None:
    """What an observer concludes from the demo's day: maps, odds and the first curve."""
    with tempfile.TemporaryDirectory() as folder:
        list(demo.tell(Path(folder), seed=2019))
        page = browser.new_page(viewport=WIDE, device_scale_factor=1.5)
        page.goto((Path(folder) / "private" / "report.html").as_uri())
        page.wait_for_timeout(500)
        first, last = (
            page.locator(where).first.bounding_box() for where in ("#day", "#day > section")
        )
        assert first is not None
        assert last is not None
        clip = {**first, "height": last["y"] + last["height"] - first["y"]}
        page.screenshot(path=image, full_page=True, clip=clip)
        page.close()


def whole_studio(browser: Browser, image: Path) -> None:
    """The studio with its example: where secrets are drawn."""
    with studio() as address:
        page = browser.new_page(viewport=WIDE, device_scale_factor=1.5)
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        page.click("#example")
        page.wait_for_selector(".priste-odds")
        page.wait_for_timeout(500)
        page.locator("#secrets").screenshot(path=image)
        page.close()


def page_figures(folder: Path) -> None:
    with chromium() as browser:
        day(browser, folder / "day.png")
        whole_studio(browser, folder / "studio.png")
