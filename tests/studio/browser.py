"""A real browser, and the studio's command beside it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
WAIT = 60_000
"""Milliseconds to wait for what a busy machine takes long over."""

expect.set_options(timeout=WAIT)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Debian's chromium, or skip."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def studio(*words: str | Path) -> Iterator[str]:
    """Run `priste studio`, and give its address."""
    command = [sys.executable, "-m", "priste", "studio", "--no-browser", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as run:
        assert run.stdout is not None
        line = run.stdout.readline()
        assert line.startswith("Open http://127.0.0.1:"), line
        try:
            yield line.removeprefix("Open ").strip()
        finally:
            run.terminate()


@dataclass
class Visit:
    """A page with everything that went wrong on it."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)

    def serious(self) -> list[str]:
        """Return what axe finds that keeps somebody from using the page."""
        self.page.evaluate(AXE.read_text())
        found: dict[str, Any] = self.page.evaluate("() => axe.run()")
        return [
            f"{each['id']}: {node['html'][:200]}: {node.get('failureSummary', '')}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]


@contextmanager
def visit(
    browser: Browser,
    address: str,
    *,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
) -> Iterator[Visit]:
    """Open a page; note errors, console messages and requests to others."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        timezone_id="Europe/Berlin",
        accept_downloads=True,
    )
    page = context.new_page()
    page.set_default_timeout(WAIT)
    found = Visit(page, address)
    token = address.partition("#")[2] or "no token"
    here = "/".join(address.split("/")[:3])  # scheme and host
    page.on("pageerror", lambda error: found.faults.append(f"error: {error}"))
    page.on("console", lambda message: found.faults.append(f"console: {message.text}"))

    def asked(request: Any) -> None:
        if not request.url.startswith((here, "data:", "blob:")):
            found.faults.append(f"a request to {request.url[:80]}")
        if request.url.startswith("http") and ("?" in request.url or token in request.url):
            found.faults.append(f"something in an address: {request.url[:80]}")

    page.on("request", asked)
    page.goto(address)
    yield found
    context.close()
