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


def test_what_the_demo_says_of_real_people_is_what_was_measured() -> None:
    data = Path(__file__).parents[1] / "docs" / "data" / "held_out.json"
    found = json.loads(data.read_text())["a set of habits"]
    shown = [
        float(number) for number in re.findall(r"\d[\d.]*\d", demo.REAL_PEOPLE.replace(",", ""))
    ]
    within = 100 * found["within"]
    expected = [8 * found["cases"], within, 95, found["95 %"], found["worst"]]
    assert shown == [round(number) if number > 9 else round(number, 2) for number in expected]
