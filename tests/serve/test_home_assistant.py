import asyncio
from pathlib import Path

from priste.serve.messages import accuracy
from priste.serve.posting import Posting
from tests.serve.rig import HOUR, Rig, at, lived, written
from tests.serve.servers import HomeAssistant, home_assistant
from tests.tracks import city

CONFIG = """
[server]
workers = 0
[persons.ada]
model = "model.npz"
events = "events.toml"
[persons.ada.receivers.home_assistant]
kind = "owntracks"
url = "{webhook}"
headers = {{ "X-Limit-U" = "ada", "X-Limit-D" = "priste" }}
"""


async def told(home: HomeAssistant, latitude: float, longitude: float) -> dict[str, object]:
    """What Home Assistant tells of Ada, once it tells of a place."""
    for _ in range(200):
        known = (home.state_of("device_tracker.ada_priste") or {}).get("attributes", {})
        if (known.get("latitude"), known.get("longitude")) == (latitude, longitude):
            return dict(known)
        await asyncio.sleep(0.05)
    raise AssertionError(f"it does not tell of the place that was released: {known}")


def test_home_assistant_shows_each_release_and_nothing_else_of_the_phone(tmp_path: Path) -> None:
    home_folder = tmp_path / "home"
    home_folder.mkdir()
    with home_assistant(home_folder) as home:
        config = written(tmp_path, CONFIG.format(webhook=home.webhook))

        async def story(rig: Rig) -> None:
            for step, cell in enumerate((12, 3, 20)):
                now = rig.watch.moment.ceil("1h")
                await rig.gateway.take("ada", [at(now, cell)])
                rig.watch.moment = now + HOUR
                await rig.end_steps()
                latitudes, longitudes = city.PLACE.centres([rig.gateway.store.cells(1)[step]])
                known = await told(home, round(latitudes[0], 6), round(longitudes[0], 6))
                assert known["gps_accuracy"] == accuracy(city.PLACE)
                assert not {"battery_level", "velocity", "altitude", "course"} & known.keys()
            assert rig.gateway.store.next_letter("ada", "home_assistant") is None

        async def main() -> None:
            async with Posting() as posting:
                await lived(config, story, send=posting)

        asyncio.run(main())
