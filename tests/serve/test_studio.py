"""The studio that a gateway serves, with the account of a stream."""

import asyncio
from dataclasses import replace
from pathlib import Path

import uvicorn
from playwright.sync_api import expect

from priste.serve import server
from priste.serve.outbox import SendError
from priste.tracks import load_certificate
from tests.serve.rig import Receivers, Rig, live, written
from tests.serve.servers import free_port
from tests.studio.browser import chromium, visit


def test_whoever_looks_after_a_stream_sees_its_account(tmp_path: Path) -> None:
    port = free_port()
    receivers = Receivers()
    broken = SendError("it does not want it", is_final=True)
    receivers.problem = lambda receiver: broken if receiver.url.endswith("log") else None

    async def story(rig: Rig) -> None:
        for _ in range(19):
            await rig.hour()
            await rig.end_steps()
        gateway = rig.gateway
        admin, sender = (gateway.tokens.make("ada", role) for role in ("admin", "send"))
        config = replace(gateway.config, port=port)
        http = uvicorn.Server(server.http_settings(config, gateway))
        task = asyncio.create_task(http._serve())
        while not http.started:
            await asyncio.sleep(0.01)
        address = f"http://127.0.0.1:{port}/studio/"
        try:
            await asyncio.to_thread(look, address, admin, sender, tmp_path)
        finally:
            http.should_exit = True
            await task

    live(written(tmp_path), story, receivers=receivers)


def look(address: str, admin: str, sender: str, folder: Path) -> None:
    with chromium() as browser:
        with visit(browser, f"{address}#{sender}") as found:
            expect(found.page.locator("#problem")).to_contain_text("no token")
            expect(found.page.locator("#door")).to_be_visible()
        with visit(browser, address) as found:
            page = found.page
            page.fill("#token", admin)
            page.click("#door button")
            content = page.locator("#stream-content")
            expect(content).to_contain_text("treatment 2024-06-03")
            expect(content).to_contain_text("waits for its time")
            expect(content).to_contain_text("it does not want it")
            rows = content.locator("table", has_text="Receiver").locator("tbody tr")
            assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [
                ["home", "owntracks"],
                ["log", "webhook"],
            ]
            expect(content.locator("table", has_text="Role")).to_contain_text("admin")
            with page.expect_download() as download:
                page.click("text=Download")
            path = folder / download.value.suggested_filename
            download.value.save_as(path)
            assert load_certificate(path).n_steps > 10
            page.click("text=again >> nth=-1")
            page.wait_for_timeout(300)
            assert found.serious() == []
            assert [fault for fault in found.faults if "401" not in fault] == []
            page.screenshot(path=folder / "stream.png", full_page=True)
