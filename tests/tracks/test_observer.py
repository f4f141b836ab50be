import numpy as np
import pytest

from priste import NoNoise, PlanarLaplace, Protect, posterior_odds, presence, prior_odds
from priste.tracks import Stream, protect_track
from priste.tracks.observer import Sharing, observe
from tests.tracks import city

CLINIC = city.PLACE.circle(52.52, 13.40, 0.4)
SECRET = Protect(presence(CLINIC, range(9, 13)), 0.8, name="treatment")


@pytest.fixture(scope="module")
def stream() -> Stream:
    table = city.days(10, 11)
    return Stream.of(table.drop(index=[3, 15]), city.model())


def sharings(stream: Stream) -> list[Sharing]:
    noise = PlanarLaplace(city.PLACE.grid, 1.0)
    return [
        Sharing.raw(stream),
        Sharing.silent_in(stream, CLINIC),
        Sharing.noisy(stream, noise, seed=4),
    ]


@pytest.mark.parametrize("way", [0, 1, 2])
def test_odds_are_those_of_the_library_for_what_is_shared(stream: Stream, way: int) -> None:
    sharing = sharings(stream)[way]
    found = observe(sharing, [SECRET])
    mobility = city.model().mobility
    expected = posterior_odds(SECRET.event, mobility, sharing.columns)
    np.testing.assert_array_equal(found.odds["treatment"], expected)
    assert found.before["treatment"] == prior_odds(SECRET.event, mobility)


@pytest.mark.parametrize("way", [0, 1, 2])
def test_whereabouts_are_bayes_rule_step_by_step(stream: Stream, way: int) -> None:
    sharing = sharings(stream)[way]
    found = observe(sharing, [])
    mobility = city.model().mobility
    alone = mobility.initial
    for step, column in enumerate(sharing.columns):
        alone = alone @ mobility.transition(step - 1) if step else alone
        alone = alone * column / (alone * column).sum()
        np.testing.assert_allclose(found.whereabouts[step], alone, rtol=1e-9, atol=1e-15)


def test_a_raw_track_tells_everything(stream: Stream) -> None:
    found = observe(Sharing.raw(stream), [SECRET])
    for step, cell in enumerate(stream.cells):
        if cell is not None:
            assert found.whereabouts[step, cell] == pytest.approx(1, rel=1e-12)
    happened = any(stream.cells[step] in CLINIC for step in range(9, 13))
    assert found.odds["treatment"][-1] == (np.inf if happened else 0)


def test_silence_in_a_zone_says_as_much_as_speaking(stream: Stream) -> None:
    inside = Stream(
        stream.model,
        stream.clock,
        stream.n_steps,
        [CLINIC[0]] * stream.n_steps,
        fixes=dict.fromkeys(range(stream.n_steps), (52.52, 13.40)),
    )
    silent = Sharing.silent_in(inside, CLINIC)
    assert set(silent.cells) == {None}
    found = observe(silent, [SECRET])
    assert found.odds["treatment"][9] == np.inf
    assert found.whereabouts[5, list(CLINIC)].sum() == pytest.approx(1)


def test_the_zone_says_nothing_where_there_is_no_fix(stream: Stream) -> None:
    for sharing in sharings(stream):
        assert sharing.cells[3] is None
        np.testing.assert_array_equal(sharing.columns[3], 1.0)


def test_what_is_protected_stays_in_the_band() -> None:
    track = protect_track(city.days(10, 11), city.model(), [SECRET], seed=1)
    found = observe(Sharing.protected(track), track.protections)
    moved = np.abs(np.log(found.odds["treatment"] / found.before["treatment"]))
    assert moved.max() <= SECRET.epsilon
    (verdict,) = track.certificate.check(city.model()).verdicts
    np.testing.assert_allclose(found.odds["treatment"], verdict.after, rtol=1e-12)
    np.testing.assert_allclose(found.sharing.errors, track.errors, rtol=1e-12)


def test_errors_are_distances_to_what_is_shown(stream: Stream) -> None:
    raw, silent, noisy = sharings(stream)
    assert np.nanmax(raw.errors) == 0
    assert np.isnan(silent.errors[3])
    shown = [step for step, cell in enumerate(noisy.cells) if cell is not None]
    assert np.isfinite(noisy.errors[shown]).sum() >= len(shown) - noisy.cells.count(city.AWAY)
    exact = Sharing.noisy(stream, NoNoise(city.PLACE.grid, 1.0), seed=0)
    assert np.nanmax(exact.errors) < 1e-3  # these fixes are the centres of cells


def test_what_the_model_rules_out_leaves_no_odds(stream: Stream) -> None:
    sharing = Sharing.raw(stream)
    impossible = np.zeros(city.model().mobility.n_cells)
    columns = (*sharing.columns[:5], impossible, *sharing.columns[6:])
    found = observe(Sharing(stream, sharing.cells, columns), [SECRET])
    odds = found.odds["treatment"]
    assert np.isfinite(odds[:5]).all()
    assert np.isnan(odds[5:]).all()


def test_nothing_private_is_in_a_repr(stream: Stream) -> None:
    sharing = Sharing.raw(stream)
    assert "private" in repr(sharing)
    assert "private" in repr(observe(sharing, [SECRET]))
