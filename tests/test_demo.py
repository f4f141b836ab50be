import json
import re
from pathlib import Path

from priste import demo
from priste.tracks import load_model
from tests.tracks.test_certificate import promises_hold


def test_the_demo_tells_the_story_and_its_numbers_are_true(tmp_path: Path) -> None:
    out = "\n".join(demo.tell(tmp_path, seed=2019))
    assert "(in truth it did happen)" in out
    model = load_model(tmp_path / "private" / "model.npz")
    certificate = json.loads((tmp_path / "public" / "day.certificate.json").read_text())
    assert promises_hold(certificate, model, list(range(1, 49)))
    (loss,) = re.findall(r"largest loss for any observer ([\d.]+), promised at most 1", out)
    assert 0.2 < float(loss) <= 1
    for page in ("private/report.html", "public/day.report.html"):
        text = (tmp_path / page).read_text()
        assert f"<td>{loss}</td>" in text
    (error,) = re.findall(r"mean error ([\d.]+) km", out)
    assert f"<td>{error} km</td>" in (tmp_path / "private" / "report.html").read_text()
    assert {p.name for p in (tmp_path / "public").iterdir() if p.suffix != ".svg"} == {
        "day.csv",
        "day.certificate.json",
        "day.report.html",
        "day.report-map.png",
        "day.report-odds.png",
    }
