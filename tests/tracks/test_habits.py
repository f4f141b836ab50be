"""A model of several habits through the whole job: protected, certified, checked, continued."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priste import KnownPrior, Mobility, privacy_loss
from priste.errors import ModelFileError, TrackError
from priste.stream.parts import DEFAULT_MARGIN
from priste.tracks import (
    Model,
    check,
    fit_model,
    load_certificate,
    load_model,
    protect_track,
    save_certificate,
    save_model,
)
from priste.tracks.certificate import Certificate
from priste.tracks.other_habits import against, in_words, learned_from
from tests.tracks import city

PRIVATE = """
time_zone = "Europe/Berlin"
[regions.clinic]
circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }
[windows.morning]
from = "09:00"
to = "13:00"
[events.treatment]
kind = "presence"
region = "clinic"
window = "morning"
each_day = true
epsilon = 0.8
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> list[Certificate]:
    """Two days of one stream."""
    events = city.events_file(tmp_path_factory.mktemp("habits"), PRIVATE)
    table, stream, found = city.days(10, 12), None, []
    for day in ("day 0", "day 1"):
        today = table[table["track"] == day]
        path = tmp_path_factory.mktemp("stream") / "me.stream"
        track = protect_track(today, city.habits(), events, stream=stream or path, seed=None)
        stream = track.continued
        found.append(track.certificate)
    return found


def test_a_model_of_several_habits_comes_back_as_it_was(tmp_path: Path) -> None:
    model = city.habits()
    assert len(model.mobilities) == 4
    save_model(model, tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    assert again.fingerprint == model.fingerprint
    for one, other in zip(model.mobilities, again.mobilities, strict=True):
        np.testing.assert_array_equal(one.transition(0), other.transition(0))
    assert "4 habits" in repr(model)
    assert model.provenance["nats per held-out move"] < 0


def test_habits_of_one_model_begin_alike_and_are_not_too_many() -> None:
    model = city.model()
    other = Mobility(model.mobility.transition(0), np.eye(26)[3])
    with pytest.raises(ModelFileError, match="begin with the same belief"):
        Model(model.place, model.step, (model.mobility, other), city.ZONE, {})
    with pytest.raises(TrackError, match="number of habits"):
        fit_model(city.days(0, 2), step="1h", place=city.PLACE, habits=33)
    with pytest.raises(TrackError, match="--others"):
        fit_model(city.days(0, 2), step="1h", place=city.PLACE, base="others")


def test_the_first_of_four_habits_alone_goes_by_the_time_of_day() -> None:
    days = city.days(0, 3)
    model = fit_model(days, step="1h", place=city.PLACE, time_of_day=True, habits=5)
    matrices = [len(mobility.matrices) for mobility in model.mobilities]
    assert matrices == [24, 1, 1, 1, 24]


def test_other_people_teach_how_one_moves_where_one_was_never_seen() -> None:
    model = fit_model(
        city.days(0, 2), step="1h", place=city.PLACE, others=city.days(2, 10), base="others"
    )
    assert model.provenance["base"] == "others"
    mine, theirs = (city.days(0, 2).assign(user=user) for user in ("me", "you"))
    with pytest.raises(TrackError, match="include those of me"):
        fit_model(mine, step="1h", place=city.PLACE, others=pd.concat([theirs, mine]))


def test_the_promise_is_kept_for_every_habit(certificates: list[Certificate]) -> None:
    model = city.habits()
    found = check(certificates, model)
    assert found.kept
    columns = [column for each in certificates for column in each.columns()]
    start = certificates[0].clock.start
    prior = certificates[0].adversary.prior(model.mobility)
    promised = {p.name: p for each in certificates for p in each.protections}
    for name in ("treatment 2024-05-16", "treatment 2024-05-17"):
        event = promised[name].event
        losses = [
            privacy_loss(event, mobility, columns, prior=prior).max()
            for mobility in model.mobilities_from(start)
        ]
        assert max(losses) <= 0.8


def test_a_certificate_says_how_many_habits_it_is_about(
    certificates: list[Certificate], tmp_path: Path
) -> None:
    save_certificate(certificates[0], tmp_path / "c.json")
    again = load_certificate(tmp_path / "c.json")
    assert again.habits == 4
    assert "whichever of the 4 habits" in str(again)
    assert f"margin {DEFAULT_MARGIN}" in str(again)


def test_an_observer_from_other_days_is_told_apart(certificates: list[Certificate]) -> None:
    model = city.habits()
    days = city.days(0, 4)
    found = against(certificates, model, days)
    other = fit_model(days, step="1h", place=city.PLACE, time_zone=city.ZONE, habits=1)
    (mobility,) = other.mobilities_from(certificates[0].clock.start)
    columns = [column for each in certificates for column in each.columns()]
    for verdict in found.verdicts:
        prior = KnownPrior(mobility.initial)
        losses = privacy_loss(verdict.protection.event, mobility, columns, prior=prior)
        assert verdict.largest == pytest.approx(losses.max(), abs=1e-9)
        assert f"a loss of {verdict.largest:.2f}" in in_words(verdict)


def test_who_saw_these_very_days_knows_where_they_lead() -> None:
    seen = learned_from([3, 3, None, 4, 9, 9], city.model())
    assert seen.transition(0)[4].argmax() == 9
    assert seen.transition(0)[9].argmax() == 9
