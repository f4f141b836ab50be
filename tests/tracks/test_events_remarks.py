from pathlib import Path

from priste import Grid
from priste.tracks import LocalMap
from priste.tracks.events_file import Reader
from priste.tracks.events_remarks import grown_regions, hours_of_other_zones
from tests.tracks.test_events_file import CLOCK, GOOD, PLACE, load


def test_a_small_circle_on_large_cells_is_remarked_on(tmp_path: Path) -> None:
    load(tmp_path, GOOD, n_steps=24)
    (remark,) = grown_regions(Reader.of(tmp_path / "events.toml", PLACE, CLOCK, 24))
    assert "region 'clinic', a circle of 0.2 km, is protected as 4 cells of 1 km" in remark
    fine = LocalMap(Grid(100, 100, cell_size=0.1), 52.5, 13.4)
    assert grown_regions(Reader.of(tmp_path / "events.toml", fine, CLOCK, 24)) == []


def test_hours_of_another_zone_are_said_in_ours(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    path = tmp_path / "events.toml"
    assert hours_of_other_zones(Reader.of(path, PLACE, CLOCK, 48), "Europe/Rome") == []
    assert hours_of_other_zones(Reader.of(path, PLACE, CLOCK, 48), "Asia/Shanghai") == [
        "window 'office' is 09:00 to 17:00 in Europe/Berlin, which is 15:00 to 23:00 in "
        "Asia/Shanghai, the model's zone"
    ]
