import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from priste import (
    EmissionMatrix,
    Event,
    EveryOutput,
    Exponential,
    Grid,
    Mechanism,
    Mobility,
    NearPrior,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Retry,
    at,
    posterior_odds,
    presence,
    prior_odds,
    privacy_loss,
)
from priste.calibration import Calibration
from priste.checks import Array
from priste.errors import CertificateError, EventError, PriorError
from priste.evidence import EventModel
from priste.tracks import (
    Model,
    ProtectedTrack,
    certificate_check,
    load_certificate,
    load_model,
    protect_track,
    read,
    save_certificate,
    save_model,
    write,
)
from priste.tracks.adversary import AdversaryKind
from priste.tracks.certificate_file import to_json, to_text
from priste.tracks.recipe import Recipe
from tests.oracles import condition_over_all_pairs, presence_vectors, rising_loss_over_edges
from tests.tracks import city


@pytest.fixture(scope="module")
def track(tmp_path_factory: pytest.TempPathFactory) -> ProtectedTrack:
    events = city.events_file(tmp_path_factory.mktemp("events"))
    return protect_track(city.days(10, 11), city.model(), events, seed=1)


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> ProtectedTrack:
    events = city.events_file(tmp_path_factory.mktemp("away"))
    return protect_track(city.travels(10, 11), city.traveller(), events, seed=1)


def promises_hold(certificate: dict[str, Any], model: Model, rounds: list[int]) -> bool:
    """Whether the presences of a certificate stay within ε: from its JSON and the model alone."""
    n = model.mobility.n_cells
    columns = [np.ones(n) for _ in range(certificate["steps"])]
    for release in certificate["releases"]:
        columns[release["step"]] = np.broadcast_to(release["tickets"], n) / 2**53
    free = {"known": 0.0, "near": certificate["rho"], "any": 1.0}[certificate["adversary"]]
    beliefs = (1 - free) * model.mobility.initial + free * np.eye(n)
    for promise in certificate["protections"]:
        if "presence" not in promise["event"]:
            continue
        event, bound = promise["event"]["presence"], math.exp(promise["epsilon"] + 1e-9)
        for length, moves in product(rounds, map(_moves, model.mobilities)):
            vectors = presence_vectors(event["cells"], event["steps"], moves, columns[:length])
            a, not_a, b, d = (beliefs @ vector for vector in vectors)
            sides = [(a, not_a, b, d), (not_a, a, d, b)]
            if not all(condition_over_all_pairs(*side, bound) for side in sides):
                return False
    return True


def _moves(mobility: Mobility) -> list[Array]:
    """The matrices of a mobility of order 1 that begins at midnight."""
    assert mobility.n_states == mobility.n_cells
    return [sparse.csr_array(matrix).toarray() for matrix in mobility.matrices]


@pytest.mark.parametrize("adversary", ["known", "near", "any"])
def test_the_promise_can_be_checked_from_public_things_alone(
    adversary: AdversaryKind, tmp_path: Path
) -> None:
    track = protect_track(
        city.days(10, 11), city.model(), city.events_file(tmp_path), adversary=adversary, seed=3
    )
    save_certificate(track.certificate, tmp_path / "certificate.json")
    save_model(city.model(), tmp_path / "model.npz")
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    model = load_model(tmp_path / "model.npz")
    everything = list(range(1, certificate["steps"] + 1))
    assert promises_hold(certificate, model, everything)
    certificate["protections"][0]["epsilon"] = 0.5 * max(
        track.certificate.check(city.model()).losses["treatment"]
    )
    assert not promises_hold(certificate, model, everything)


def test_the_losses_computed_again_are_those_of_the_diary(track: ProtectedTrack) -> None:
    """As long as an event is live; what is settled keeps its promise without being looked at."""
    losses = track.certificate.check(city.model()).losses
    for name, epsilon in (("treatment", 0.8), ("odd", 1.5)):
        told = np.array([release.private.losses.get(name, np.nan) for release in track.releases])
        live = ~np.isnan(told)
        assert live.sum() > 10
        charged = track.protector.account()[name].merging
        assert 0 <= charged <= 0.01 * epsilon
        above = told[live] - losses[name][live]
        assert above.min() > -1e-12
        assert above.max() < 2 * charged + 1e-12  # what merging may have added
        np.testing.assert_allclose(above[:3], 0, atol=1e-12)  # before the beliefs merged
        assert (losses[name][~live] <= epsilon).all()


def test_each_promise_has_the_loss_of_its_own_event(tmp_path: Path) -> None:
    """Two presences, each beside an oracle that knows nothing but the released columns."""
    elsewhere = "circle = { latitude = 52.535, longitude = 13.42, radius_km = 0.6 }"
    text = f"""
        time_zone = "Europe/Berlin"
        [regions]
        clinic.circle = {{ latitude = 52.52, longitude = 13.40, radius_km = 0.4 }}
        office.{elsewhere}
        [windows.morning]
        from = "09:00"
        to = "13:00"
        [events]
        treatment = {{ kind = "presence", region = "clinic", window = "morning", epsilon = 0.8 }}
        work = {{ kind = "presence", region = "office", window = "morning", epsilon = 1.2 }}
    """
    track = protect_track(
        city.days(10, 11), city.model(), city.events_file(tmp_path, text), adversary="any", seed=1
    )
    losses = track.certificate.check(city.model()).losses
    (transition,) = city.model().mobility.matrices
    transition = np.asarray(transition.todense() if hasattr(transition, "todense") else transition)
    columns = track.certificate.columns()
    for promise in to_json(track.certificate)["protections"]:
        event = promise["event"]["presence"]
        vectors = presence_vectors(event["cells"], event["steps"], [transition], columns)
        a, not_a, b, d = vectors
        expected = max(
            rising_loss_over_edges(a, not_a, b, d), rising_loss_over_edges(not_a, a, d, b)
        )
        assert losses[promise["name"]][-1] == pytest.approx(expected, rel=1e-6)
    assert abs(losses["treatment"][-1] - losses["work"][-1]) > 0.01


def test_a_certificate_comes_back_as_it_was(track: ProtectedTrack, tmp_path: Path) -> None:
    save_certificate(track.certificate, tmp_path / "c.json")
    back = load_certificate(tmp_path / "c.json")
    assert to_json(back) == to_json(track.certificate)
    assert str(back) == str(track.certificate)
    for name, losses in back.check(city.model()).losses.items():
        np.testing.assert_array_equal(losses, track.certificate.check(city.model()).losses[name])


def test_nothing_in_a_certificate_depends_on_the_true_cells(tmp_path: Path) -> None:
    """Two people with the same releases get the same certificate."""
    events = city.events_file(tmp_path)
    found = set()
    by_cells: dict[tuple[int, ...], set[str]] = {}
    for day in (10, 11):
        moved = city.days(day, day + 1).assign(time=city.days(10, 11)["time"])
        for seed in range(40):
            track = protect_track(moved.head(1), city.model(), events, seed=seed)
            text = {k: v for k, v in to_json(track.certificate).items() if k != "created"}
            text["meaning"] = ""
            cells = tuple(r.cell for r in track.releases)
            by_cells.setdefault(cells, set()).add(json.dumps(text))
            found.add((day, cells))
    shared = [c for c in by_cells if (10, c) in found and (11, c) in found]
    assert shared
    assert all(len(by_cells[cells]) == 1 for cells in shared)


def test_the_events_can_be_withheld(track: ProtectedTrack) -> None:
    hidden = track.certificate.without_events()
    text = to_text(hidden)
    assert "treatment" not in text
    assert "presence" not in text
    assert "tickets" not in text
    with pytest.raises(EventError, match="event is withheld: the certificate that names it"):
        hidden.check(city.model())


def test_the_sentences_say_what_whom_and_under_which_model(track: ProtectedTrack) -> None:
    text = str(track.certificate)
    assert "an observer who gave 1:9 before gives at least 1:20.1 and at most 1:4.04 now" in text
    assert "0.9 of the belief is the model's, the other 0.1 may be anything" in text
    assert "No odds rise by more than a factor 4.49" in text
    assert "an observer who gave 1:9 before gives at most 1:2 now" in text
    assert city.model().fingerprint[:16] in text
    assert "drawn from a seed" in text


def test_another_model_is_refused(track: ProtectedTrack) -> None:
    model = city.model()
    other = Model(model.place, model.step, model.mobilities, "UTC", {})
    with pytest.raises(CertificateError, match="made under another model"):
        track.certificate.check(other)


def test_the_published_loop_gets_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="Retry promises nothing to certify"):
        protect_track(
            city.days(10, 11), city.model(), city.events_file(tmp_path), calibration=Retry()
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a certificate"),
        ("[]", "is not a certificate"),
        ('{"certificate": 1}', "is a certificate of format 1; this version reads format 5"),
        ('{"certificate": 5}', "does not hold a certificate"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError, match=message):
        load_certificate(tmp_path / "c.json")
    with pytest.raises(CertificateError, match="cannot be read"):
        load_certificate(tmp_path / "none.json")


IMPOSSIBLE: dict[str, list[Any]] = {
    "protections": [[3], 3],
    "protections.0.epsilon": [0, -1, "1", None, float("inf"), float("nan")],
    "protections.0.sides": ["x", None],
    "protections.0.name": [["a"], "", None],
    "protections.0.event": [{"run": 1}, None],
    "releases.0.step": ["0", 99, -1, 0.5],
    "releases.0.cell": [99999, -1, "3"],
    "releases.0.tickets": [2**70, -1, 0.5, [1, 2], "x"],
    "steps": [0, -1, 2.5, "24", 3],
    "rho": [5, "0.1", -1],
    "adversary": ["x", None],
    "model": [5, None],
    "step_seconds": [0, -60, "x"],
    "start": ["never", "2024-05-16", 5],
    "time_zone": ["Mars/Base", 3],
    "mechanism": ["PlanarLaplace", {}, None],
    "mechanism.budget": [1e9, [1], {"what": 3}, {"who": "me"}],
    "protections.0.largest_loss": ["1", None, 1e9],
    "map": [{}, 3],
    "map.rows": [0, 2.5],
    "map.latitude": [400, "x"],
    "calibration": [3],
}


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Put a value at a place such as ``protections.0.epsilon`` of a certificate."""

    def spoil(content: dict[str, Any]) -> None:
        *way, last = path.split(".")
        place: Any = content
        for part in way:
            place = place[int(part)] if part.isdigit() else place[part]
        place[int(last) if last.isdigit() else last] = value

    return spoil


def _drop_tickets(content: dict[str, Any]) -> None:
    for release in content["releases"]:
        del release["tickets"]


@pytest.mark.parametrize(
    "spoil",
    [
        _drop_tickets,
        lambda content: content["releases"][3].pop("tickets"),
        lambda content: content["releases"].append(content["releases"][0]),
        lambda content: content["protections"].append(content["protections"][0]),
        *(_set(path, value) for path, values in IMPOSSIBLE.items() for value in values),
    ],
)
def test_a_certificate_that_cannot_be_is_refused(
    track: ProtectedTrack, tmp_path: Path, spoil: Callable[[dict[str, Any]], object]
) -> None:
    content = to_json(track.certificate)
    spoil(content)
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="does not hold a certificate|is not a JSON number"):
        load_certificate(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("map.latitude", 0.0),
        ("map.cell_size_km", 50.0),
        ("step_seconds", 60.0),
        ("time_zone", "UTC"),
        ("model", "0" * 64),
    ],
)
def test_a_certificate_that_does_not_fit_its_model_is_refused(
    track: ProtectedTrack, tmp_path: Path, path: str, value: Any
) -> None:
    content = to_json(track.certificate)
    _set(path, value)(content)
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="model"):
        load_certificate(tmp_path / "c.json").check(city.model())


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("[" * 200_000)
    with pytest.raises(CertificateError, match="is not a certificate"):
        load_certificate(tmp_path / "c.json")


def test_a_certificate_knows_its_track(track: ProtectedTrack) -> None:
    released = track.released
    assert track.certificate.describes(released)
    assert not track.certificate.describes(released.iloc[1:])
    assert not track.certificate.describes(released.assign(latitude=released["latitude"] + 0.02))


@pytest.mark.parametrize("suffix", [".csv", ".gpx", ".geojson", ".plt", ".parquet", ".geoparquet"])
def test_a_track_with_somebody_away_is_known_from_every_format(
    suffix: str, away: ProtectedTrack, tmp_path: Path
) -> None:
    released, certificate = away.released, away.certificate
    assert 6 < released["away"].sum() < 24
    write(released, tmp_path / f"day{suffix}")
    back = read(tmp_path / f"day{suffix}")
    assert certificate.describes(back)
    assert not certificate.describes(back.iloc[1:])
    moved = back.copy()
    known = moved["latitude"].first_valid_index()
    moved.loc[known, ["latitude", "longitude"]] = 48.1, 11.6
    assert not certificate.describes(moved)
    moved.loc[known, ["latitude", "longitude"]] = 95.0, 11.6
    assert not certificate.describes(moved)
    moved.loc[known, ["latitude", "longitude"]] = np.nan
    assert not certificate.describes(moved)
    if len(back) == 24:
        assert not certificate.describes(back.assign(latitude=52.52, longitude=13.4))
        gone = back["latitude"].isna().to_numpy()
        assert gone.any()
        assert not certificate.describes(back.assign(latitude=back["latitude"].fillna(52.52)))
        assert not certificate.describes(back[~gone | (np.cumsum(gone) > 1)])  # one is missing
        later = back["time"].where(~gone, back["time"] + pd.Timedelta("1h"))
        assert not certificate.describes(back.assign(time=later))
        assert not certificate.describes(pd.concat([back[~gone], back[gone]]))
        assert certificate.describes(back[~gone].drop(columns="away"))
    if "away" in back:
        assert not certificate.describes(back.assign(away=~back["away"].astype(bool)))


def test_a_gpx_track_ends_a_segment_while_somebody_is_away(
    away: ProtectedTrack, tmp_path: Path
) -> None:
    write(away.released, tmp_path / "day.gpx")
    text = (tmp_path / "day.gpx").read_text()
    shown = ~away.released["away"].to_numpy()
    begins = int((shown[1:] & ~shown[:-1]).sum()) + int(shown[0])
    assert text.count("<trkseg>") == begins > 1
    assert "nan" not in text


def test_an_unknown_adversary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PriorError, match="must be one of known, near, any, got 'weak'"):
        protect_track(
            city.days(10, 11),
            city.model(),
            city.events_file(tmp_path),
            adversary="weak",  # type: ignore[arg-type]
        )


def test_a_check_agrees_with_every_quantity_computed_by_itself(track: ProtectedTrack) -> None:
    mobility, columns = city.model().mobility, track.certificate.columns()
    prior = NearPrior(mobility.initial, 0.1)
    check = track.certificate.check(city.model())
    for verdict, protection in zip(check.verdicts, track.protections, strict=True):
        event, sides = protection.event, protection.sides
        expected = privacy_loss(event, mobility, columns, prior=prior, sides=sides)
        np.testing.assert_allclose(verdict.losses, expected, rtol=1e-12, atol=1e-14)
        for moved, each in ((verdict.rising, event), (verdict.falling, ~event)):
            expected = privacy_loss(each, mobility, columns, prior=prior, sides="event")
            np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-14)
        assert verdict.before == pytest.approx(prior_odds(event, mobility), rel=1e-12)
        after = posterior_odds(event, mobility, columns)
        np.testing.assert_allclose(verdict.after, after, rtol=1e-12)


def test_a_check_compiles_each_event_once(
    track: ProtectedTrack, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Event] = []

    def counted(event: Event, mobility: Mobility) -> EventModel:
        compiled.append(event)
        return EventModel(event, mobility)

    monkeypatch.setattr(certificate_check, "EventModel", counted)
    check = track.certificate.check(city.model())
    assert check.kept
    assert list(check.largest) == list(check.losses) == ["treatment", "odd"]
    assert compiled == [p.event for p in track.protections]


def test_a_check_says_which_promise_is_broken(track: ProtectedTrack) -> None:
    treatment, odd = track.protections
    tight = replace(track.certificate, protections=(replace(treatment, epsilon=0.01), odd))
    check = tight.check(city.model())
    assert not check.kept
    assert [verdict.kept for verdict in check.verdicts] == [False, True]
    worst, largest = check.losses["treatment"].argmax(), check.largest["treatment"]
    assert str(check).splitlines()[0] == (
        f"“treatment”: promised 0.01, largest loss {largest:.4f} at step {worst}: NOT KEPT"
    )
    assert repr(check) == "<Check: 1 of 2 promises kept>"


def test_a_certificate_states_the_losses_it_was_released_with(track: ProtectedTrack) -> None:
    losses = track.certificate.check(city.model()).losses
    for name, stated in zip(track.certificate.names, track.certificate.largest, strict=True):
        live = [name in release.private.losses for release in track.releases]
        charged = track.protector.account()[name].merging
        largest = losses[name][live].max()
        assert largest - 1e-12 <= stated <= largest + 2 * charged + 1e-12
    written = [p["largest_loss"] for p in to_json(track.certificate)["protections"]]
    assert written == list(track.certificate.largest)
    assert f"While it was tracked the loss was at most {written[0]:.4f};" in str(track.certificate)
    assert track.certificate.without_events().largest == ()


@pytest.mark.parametrize(
    "calibration",
    [
        EveryOutput(decay=0.7, weakenings=5, refine=2),
        OptimalRemap(loss="squared", spending="rolling", gap=0.2, rounds=3, time_limit=60),
    ],
)
def test_the_algorithm_is_rebuilt_as_it_was_set(calibration: Calibration, tmp_path: Path) -> None:
    used = Exponential(city.PLACE.grid, 0.3)
    track = protect_track(
        city.days(10, 11).head(2),
        city.model(),
        city.events_file(tmp_path),
        mechanism=used,
        calibration=calibration,
        rho=0.2,
    )
    save_certificate(track.certificate, tmp_path / "c.json")
    rebuilt = load_certificate(tmp_path / "c.json").protector(city.model())
    assert rebuilt.mechanism == used
    assert type(rebuilt.calibration) is type(calibration)
    assert vars(rebuilt.calibration) == vars(calibration)
    assert rebuilt.protections == track.protections
    assert isinstance(rebuilt.prior, NearPrior)
    assert rebuilt.prior.rho == 0.2


@pytest.mark.parametrize(
    ("mechanism", "calibration", "obstacle"),
    [
        (
            None,
            OptimalRemap(loss=np.eye(26)),
            "OptimalRemap was given an array as its loss",
        ),
        (
            None,
            OptimalRemap(np.eye(26)),
            "OptimalRemap was given an array as its distances",
        ),
        (EmissionMatrix(np.eye(26)), None, "EmissionMatrix was given an array as its matrix"),
        (
            PlanarLaplace(Grid(5, 5, 2.0, elsewhere=True), 1),
            None,
            "PlanarLaplace was given a Grid as its grid",
        ),
    ],
)
def test_an_algorithm_with_a_matrix_of_its_own_cannot_be_rebuilt(
    mechanism: Mechanism | None, calibration: Calibration | None, obstacle: str, tmp_path: Path
) -> None:
    track = protect_track(
        city.days(10, 11).head(1),
        city.model(),
        city.events_file(tmp_path),
        mechanism=mechanism,
        calibration=calibration,
    )
    save_certificate(track.certificate, tmp_path / "c.json")
    certificate = load_certificate(tmp_path / "c.json")
    assert certificate.mechanism == track.certificate.mechanism
    assert certificate.calibration == track.certificate.calibration
    assert f"The algorithm cannot be rebuilt from this certificate: {obstacle}" in str(certificate)
    with pytest.raises(CertificateError, match=f"cannot be rebuilt: {obstacle}"):
        certificate.protector(city.model())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "Retry"}, "Retry is not one of OptimalRemap, EveryOutput"),
        ({"name": "EveryOutput", "decay": 0.5}, "has the settings decay, weakenings, refine"),
        (
            {"name": "EveryOutput", "decay": 0.5, "weakenings": 10**9, "refine": 0},
            "weakenings of EveryOutput: 1,000,000,000, the limit is 1,000,000",
        ),
    ],
)
def test_an_algorithm_that_priste_does_not_have_is_not_built(
    track: ProtectedTrack, settings: dict[str, Any], message: str
) -> None:
    other = replace(track.certificate, calibration=Recipe.from_json(settings))
    with pytest.raises(CertificateError, match=message):
        other.protector(city.model())


def test_hidden_promises_are_the_same_whatever_can_happen() -> None:
    """Each once, in the order of ε: neither how many events there are is told, nor which."""
    here, there = Protect(at(3, 5), 0.7), Protect(at(4, 6), 0.2, sides="event")
    day = city.days(10, 11).head(3)
    hidden = [
        protect_track(day, city.model(), protections, seed=0).certificate.without_events(asked)
        for protections, asked in (
            ([here], [there]),
            ([there, replace(here, name="again")], [here]),
            ([], [here, there]),
        )
    ]
    for certificate in hidden:
        promised = [(p.epsilon, p.sides) for p in certificate.protections]
        assert promised == [(0.2, "event"), (0.7, "both")]
        assert certificate.names == ["event 1", "event 2"]
        assert certificate.withholds_events


def test_a_day_without_events_hides_that_there_are_none(tmp_path: Path) -> None:
    whole = protect_track(city.days(10, 11).head(3), city.model(), [], seed=0).certificate
    assert whole.check(city.model()).kept
    assert not whole.withholds_events
    hidden = whole.without_events()
    assert hidden.withholds_events
    save_certificate(hidden, tmp_path / "c.json")
    assert "tickets" not in (tmp_path / "c.json").read_text()
    assert load_certificate(tmp_path / "c.json").protections == ()


@pytest.mark.parametrize("by_the_hour", [False, True])
def test_silence_is_crossed_in_leaps_and_nothing_changes(by_the_hour: bool) -> None:
    """Against the loss and the odds step by step, with releases far apart and an event between."""
    random = np.random.default_rng(4)
    matrices = random.dirichlet(np.ones(5), (3 if by_the_hour else 1, 5))
    mobility = Mobility(list(matrices), random.dirichlet(np.ones(5)), repeat=True)
    columns = [np.ones(5) for _ in range(40)]
    for step in (0, 7, 8, 21, 33) if by_the_hour else (3, 11, 12, 30):
        columns[step] = random.uniform(0.2, 1, 5)
    event = presence({1, 2}, [9, 10, 14])
    prior = NearPrior(mobility.initial, 0.3)
    found = certificate_check.check_releases([Protect(event, 1.0)], [mobility], columns, prior)
    (verdict,) = found.verdicts
    loss = privacy_loss(event, mobility, columns, prior=prior)
    np.testing.assert_allclose(verdict.losses, loss, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(verdict.after, posterior_odds(event, mobility, columns), rtol=1e-11)
