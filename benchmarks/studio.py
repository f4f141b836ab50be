"""How long the studio makes a person wait, in a real browser: needs chromium.

First a picture of the leak of a day (400 cells, 144 steps), then a protected preview, each from
the click to what is shown. Then the longest frames with 100,000 fixes loaded, while the slider, the
map and the secret are moved.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tests.studio.browser import chromium, studio, visit

from priste.tracks import write

FIXES = 100_000
DAYS, ZONE = 35, "Europe/Berlin"

FRAMES = """() => {
  window.frames_seen = [];
  let last = performance.now();
  const look = (now) => { frames_seen.push(now - last); last = now; requestAnimationFrame(look); };
  requestAnimationFrame(look);
}"""


def tracks() -> pd.DataFrame:
    """Days between home, work and a clinic, a fix every thirty seconds."""
    random = np.random.default_rng(0)
    times = pd.date_range("2024-05-01", periods=FIXES, freq="30s", tz=ZONE)
    hour = times.hour + times.minute / 60
    at_work = (hour >= 9) & (hour < 17) & (times.day_of_week < 5)
    at_clinic = (hour >= 14.5) & (hour < 16) & (times.day_of_year % 7 == 1)
    place = np.where(at_clinic, 2, np.where(at_work, 1, 0))
    centres = np.array([[52.50, 13.36], [52.54, 13.45], [52.52, 13.406]])
    drift = np.zeros((FIXES, 2))
    for i in range(1, FIXES):
        drift[i] = 0.995 * drift[i - 1] + random.normal(0, 2e-4, 2)
    spots = pd.DataFrame(centres[place]).ewm(halflife=20).mean().to_numpy() + drift
    time_of = times.tz_convert("UTC").astype("datetime64[us, UTC]")
    return pd.DataFrame(
        {"track": "0", "time": time_of, "latitude": spots[:, 0], "longitude": spots[:, 1]}
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, studio() as address, chromium() as browser:
        path = Path(folder) / "phone.csv"
        write(tracks(), path)
        with visit(browser, address) as found:
            page = found.page
            page.wait_for_selector("body[data-ready]")
            started = time.perf_counter()
            page.set_input_files("#open", path)
            page.wait_for_selector("#sources li")
            read = time.perf_counter()
            page.wait_for_selector(".priste-odds")
            shown = time.perf_counter()
            print(f"{FIXES:,} fixes of {DAYS} days: read in {read - started:.1f} s")
            print(f"  first picture {shown - read:.1f} s after that (at most 2 s)")
            assert page.input_value("#step") == "10"
            assert page.input_value("#cells") == "400"
            page.click("#add-circle")
            page.wait_for_function("document.querySelectorAll('.priste-way').length === 3")
            page.wait_for_timeout(3000)
            started = time.perf_counter()
            page.click("#run-protect")
            page.wait_for_selector(".priste-way.priste-protected")
            print(f"  protected preview {time.perf_counter() - started:.1f} s (at most 10 s)")
            page.evaluate(FRAMES)
            box = page.locator("#map").bounding_box()
            assert box is not None
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            for what in ("the slider", "the map", "ε"):
                page.evaluate("frames_seen.length = 0")
                if what == "the map":
                    page.mouse.move(x, y)
                    page.mouse.down()
                    page.mouse.move(x + 150, y + 60, steps=40)
                    page.mouse.up()
                else:
                    slider = page.locator(
                        ".priste-time input" if what == "the slider" else ".epsilon input"
                    )
                    for _ in range(40 if what == "the slider" else 3):
                        slider.press("ArrowRight")
                page.wait_for_timeout(200)
                frames = np.sort(page.evaluate("frames_seen"))
                print(
                    f"  frames while {what} moves: {np.median(frames):.0f} ms, "
                    f"at most {frames[-1]:.0f} ms (at most 50 ms)"
                )
            assert found.faults == [], found.faults


if __name__ == "__main__":
    main()
