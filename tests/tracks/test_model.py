from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from priste import Grid, Mobility, prior_probability
from priste.errors import ModelFileError, TrackError
from priste.events import at
from priste.tracks import LocalMap, Model, as_track, fit_model, load_model, save_model
from priste.tracks.steps import Clock
from tests.tracks import city

PLACE = LocalMap(Grid(3, 3, cell_size=1.0), 52.5, 13.4)
BERLIN = "Europe/Berlin"


def days(n: int) -> pd.DataFrame:
    """Home (cell 0) until eight, work (cell 8) until four, home again: every day, on the hour."""
    tables = []
    for day in range(n):
        start = pd.Timestamp("2024-05-01", tz=BERLIN) + pd.Timedelta(days=day)
        cells = [0] * 8 + [8] * 8 + [0] * 8
        tables.append(
            as_track(range(24), cells, PLACE, Clock(start, pd.Timedelta(hours=1)), track=str(day))
        )
    return pd.concat(tables, ignore_index=True)


def test_the_time_of_day_is_learned_in_the_zone_that_was_named() -> None:
    model = fit_model(
        days(20), step="1h", place=PLACE, time_zone=BERLIN, time_of_day=True, smoothing=0.01
    )
    assert len(model.mobility.matrices) == 24
    morning = pd.Timestamp("2024-06-03T07:00", tz=BERLIN)
    from_seven = model.mobilities_from(morning)[0]
    at_home = np.eye(9)[0]
    assert prior_probability(at(8, 1), from_seven, at_home) > 0.99  # at eight, at work
    assert (
        prior_probability(at(8, 1), model.mobilities_from(morning.tz_convert("UTC"))[0], at_home)
        > 0.99
    )
    from_six = model.mobilities_from(pd.Timestamp("2024-06-03T06:00", tz=BERLIN))[0]
    assert prior_probability(at(8, 1), from_six, at_home) < 0.01


@pytest.mark.parametrize("options", [{}, {"order": 2}, {"time_of_day": True}, {"smoothing": 0}])
def test_a_model_comes_back_as_it_was(tmp_path: Path, options: dict[str, object]) -> None:
    model = fit_model(days(5), step="1h", place=PLACE, time_zone=BERLIN, **options)  # type: ignore[arg-type]
    save_model(model, tmp_path / "city.model")
    found = load_model(tmp_path / "city.model")
    assert found.place == model.place
    assert found.step == model.step
    assert found.provenance == model.provenance
    assert found.provenance["fixes"] == 120
    np.testing.assert_array_equal(found.mobility.initial, model.mobility.initial)
    np.testing.assert_array_equal(found.mobility.cell_of_state, model.mobility.cell_of_state)
    for one, other in zip(found.mobility.matrices, model.mobility.matrices, strict=True):
        assert sparse.issparse(one) == sparse.issparse(other)
        assert abs(one - other).max() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["city.model"]


@pytest.mark.parametrize(("step", "hours"), [("1h", 1), ("2h", 2)])
def test_an_observer_may_think_that_people_stay_for_hours_where_they_were_never_seen(
    step: str, hours: int
) -> None:
    clock = Clock(pd.Timestamp("2024-05-01", tz=BERLIN), pd.Timedelta(hours=1))
    restless = as_track(range(24), [0, 8, 4] * 8, PLACE, clock)
    model = fit_model(restless, step=step, place=PLACE, time_zone=BERLIN, base="usual")
    unseen = model.mobility.unobserved[0]
    stay = model.mobilities[2].transition(0)[unseen, unseen]
    assert stay == pytest.approx(np.exp(-hours / 8), rel=1e-12)


def test_a_map_is_laid_around_the_fixes_if_none_is_given() -> None:
    model = fit_model(days(3), step="1h", cells=30)
    assert 15 < model.place.grid.n_cells < 60


def saved(tmp_path: Path) -> Path:
    model = Model(PLACE, pd.Timedelta("1h"), (Mobility(np.eye(9)),), "UTC", {})
    save_model(model, tmp_path / "city.model")
    return tmp_path / "city.model"


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with np.load(path) as file:
        content = {name: file[name] for name in file.files}
    content["initial"] = np.eye(9)[0]
    with path.open("wb") as file:
        np.savez(file, **content)
    with pytest.raises(ModelFileError, match="changed or damaged since it was written"):
        load_model(path)


@pytest.mark.filterwarnings("ignore")
def test_any_damaged_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    model = fit_model(days(3), step="1h", place=PLACE, time_zone=BERLIN)
    save_model(model, tmp_path / "m.npz")
    assert load_model(tmp_path / "m.npz").fingerprint == model.fingerprint
    content = (tmp_path / "m.npz").read_bytes()
    spoilt = [content[:k] for k in range(0, len(content), 193)]
    for k in range(0, len(content), 13):
        spoilt.append(content[:k] + bytes([content[k] ^ (1 << k % 8)]) + content[k + 1 :])
    refused = 0
    for damaged in spoilt:
        (tmp_path / "d.npz").write_bytes(damaged)
        try:
            assert load_model(tmp_path / "d.npz").fingerprint == model.fingerprint
        except ModelFileError:
            refused += 1
    assert refused > 0.7 * len(spoilt)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "none.model")
    (tmp_path / "text.model").write_text("hello")
    with pytest.raises(ModelFileError, match=r"text.model is not a model file"):
        load_model(tmp_path / "text.model")
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ModelFileError, match=r"city.model is not a model file"):
        load_model(path)
    with (tmp_path / "other.model").open("wb") as file:
        np.savez(file, x=np.zeros(3))
    with pytest.raises(ModelFileError, match="it has no checksum"):
        load_model(tmp_path / "other.model")


def test_code_in_a_file_is_never_run(tmp_path: Path) -> None:
    with (tmp_path / "evil.model").open("wb") as file:
        np.savez(file, meta=np.array([{"a": print}], dtype=object), checksum=np.zeros(32, np.uint8))
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_model(tmp_path / "evil.model")


def test_what_cannot_be_learned_from_is_refused() -> None:
    with pytest.raises(TrackError, match="not a whole number of steps"):
        fit_model(days(1), step="7h", place=PLACE, time_of_day=True)
    with pytest.raises(TrackError, match="nothing to fit"):
        fit_model(days(1), step="1h", place=LocalMap(Grid(2, 2), 0.0, 0.0))
    with pytest.raises(TrackError, match="time_zone 'X/Y' is not known"):
        fit_model(days(1), time_zone="X/Y")


def test_a_model_of_others_is_where_unseen_moves_lead() -> None:
    population = city.model()
    few = city.days(0, 2).assign(user="newcomer")
    options: dict[str, Any] = {"step": "1h", "place": city.PLACE, "time_zone": city.ZONE}
    learned = fit_model(few, **options, habits=1, order=1, base="others", others=population)
    unseen = list(learned.mobility.unobserved)
    assert unseen
    one, all_ = (np.asarray(model.mobility.matrices[0]) for model in (learned, population))
    np.testing.assert_allclose(one[unseen], all_[unseen])
    assert learned.provenance["days"] == population.provenance["days"]  # it has seen these as well
    assert "users" not in learned.provenance  # the population does not say whose it is


def test_a_model_of_others_has_the_same_map() -> None:
    other = replace(city.model(), place=LocalMap(city.PLACE.grid, 48.0, 11.0))
    with pytest.raises(TrackError, match="must have the same map and step"):
        fit_model(city.days(0, 3), step="1h", place=city.PLACE, time_zone=city.ZONE, others=other)
