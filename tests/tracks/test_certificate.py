import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from priste import Retry
from priste.errors import CertificateError
from priste.tracks import Certificate, Model, ProtectedTrack, load_model, protect_track, save_model
from priste.tracks.certificate import Adversary
from tests.oracles import condition_over_all_pairs, presence_vectors, rising_loss_over_edges
from tests.tracks import city


@pytest.fixture(scope="module")
def track(tmp_path_factory: pytest.TempPathFactory) -> ProtectedTrack:
    events = city.events_file(tmp_path_factory.mktemp("events"))
    return protect_track(city.days(10, 11), city.model(), events, seed=1)


def promises_hold(certificate: dict[str, Any], model: Model, rounds: list[int]) -> bool:
    """Whether the presences of a certificate stay within ε: from its JSON and the model alone."""
    (transition,) = model.mobility.matrices
    transition = np.asarray(transition.todense() if hasattr(transition, "todense") else transition)
    n = len(transition)
    columns = [np.ones(n) for _ in range(certificate["steps"])]
    for release in certificate["releases"]:
        columns[release["step"]] = np.broadcast_to(release["tickets"], n) / 2**53
    free = {"known": 0.0, "near": certificate["rho"], "any": 1.0}[certificate["adversary"]]
    beliefs = (1 - free) * model.mobility.initial + free * np.eye(n)
    for promise in certificate["promises"]:
        if "presence" not in promise["event"]:
            continue
        event, bound = promise["event"]["presence"], math.exp(promise["epsilon"] + 1e-9)
        for length in rounds:
            vectors = presence_vectors(event["cells"], event["steps"], transition, columns[:length])
            a, not_a, b, d = (beliefs @ vector for vector in vectors)
            sides = [(a, not_a, b, d), (not_a, a, d, b)]
            if not all(condition_over_all_pairs(*side, bound) for side in sides):
                return False
    return True


@pytest.mark.parametrize("adversary", ["known", "near", "any"])
def test_the_promise_can_be_checked_from_public_things_alone(
    adversary: Adversary, tmp_path: Path
) -> None:
    track = protect_track(
        city.days(10, 11), city.model(), city.events_file(tmp_path), adversary=adversary, seed=3
    )
    track.certificate.save(tmp_path / "certificate.json")
    save_model(city.model(), tmp_path / "model.npz")
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    model = load_model(tmp_path / "model.npz")
    everything = list(range(1, certificate["steps"] + 1))
    assert promises_hold(certificate, model, everything)
    certificate["promises"][0]["epsilon"] = 0.5 * max(
        track.certificate.losses(city.model())["treatment"]
    )
    assert not promises_hold(certificate, model, everything)


def test_the_losses_computed_again_are_those_of_the_diary(track: ProtectedTrack) -> None:
    losses = track.certificate.losses(city.model())
    for i, name in enumerate(("treatment", "odd")):
        told = [release.private.losses[i] for release in track.releases]
        np.testing.assert_allclose(losses[name], told, rtol=1e-12)


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
    losses = track.certificate.losses(city.model())
    (transition,) = city.model().mobility.matrices
    transition = np.asarray(transition.todense() if hasattr(transition, "todense") else transition)
    columns = track.certificate.columns()
    for promise in track.certificate.to_json()["promises"]:
        event = promise["event"]["presence"]
        vectors = presence_vectors(event["cells"], event["steps"], transition, columns)
        a, not_a, b, d = vectors
        expected = max(
            rising_loss_over_edges(a, not_a, b, d), rising_loss_over_edges(not_a, a, d, b)
        )
        assert losses[promise["name"]][-1] == pytest.approx(expected, rel=1e-6)
    assert abs(losses["treatment"][-1] - losses["work"][-1]) > 0.01


def test_a_certificate_comes_back_as_it_was(track: ProtectedTrack, tmp_path: Path) -> None:
    track.certificate.save(tmp_path / "c.json")
    back = Certificate.load(tmp_path / "c.json")
    assert back.to_json() == track.certificate.to_json()
    assert str(back) == str(track.certificate)
    for name, losses in back.losses(city.model()).items():
        np.testing.assert_array_equal(losses, track.certificate.losses(city.model())[name])


def test_nothing_in_a_certificate_depends_on_the_true_cells(tmp_path: Path) -> None:
    """Two people with the same releases get the same certificate."""
    events = city.events_file(tmp_path)
    found = set()
    by_cells: dict[tuple[int, ...], set[str]] = {}
    for day in (10, 11):
        moved = city.days(day, day + 1).assign(time=city.days(10, 11)["time"])
        for seed in range(40):
            track = protect_track(moved.head(1), city.model(), events, seed=seed)
            text = {k: v for k, v in track.certificate.to_json().items() if k != "created"}
            text["meaning"] = ""
            cells = tuple(r.cell for r in track.releases)
            by_cells.setdefault(cells, set()).add(json.dumps(text))
            found.add((day, cells))
    shared = [c for c in by_cells if (10, c) in found and (11, c) in found]
    assert shared
    assert all(len(by_cells[cells]) == 1 for cells in shared)


def test_the_events_can_be_withheld(track: ProtectedTrack) -> None:
    hidden = track.certificate.without_events()
    text = hidden.to_text()
    assert "treatment" not in text
    assert "presence" not in text
    assert "tickets" not in text
    with pytest.raises(CertificateError, match="withholds what 'event 1' is"):
        hidden.losses(city.model())


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
    other = Model(model.place, model.step, model.mobility, "UTC", {})
    with pytest.raises(CertificateError, match="made under another model"):
        track.certificate.losses(other)


def test_the_published_loop_gets_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="Retry promises nothing to certify"):
        protect_track(
            city.days(10, 11), city.model(), city.events_file(tmp_path), calibration=Retry()
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a certificate"),
        ("[]", "is not a certificate of format 1"),
        ('{"certificate": 2}', "is not a certificate of format 1"),
        ('{"certificate": 1}', "does not hold a certificate"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError, match=message):
        Certificate.load(tmp_path / "c.json")
    with pytest.raises(CertificateError, match="not a file that can be read"):
        Certificate.load(tmp_path / "none.json")


IMPOSSIBLE: dict[str, list[Any]] = {
    "promises": [[], 3],
    "promises.0.epsilon": [0, -1, "1", None, float("inf"), float("nan")],
    "promises.0.sides": ["x", None],
    "promises.0.name": [["a"], "", None],
    "promises.0.event": [{"run": 1}, None],
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
    "budget_per_km": [0, "1"],
    "map": [{}, 3],
    "map.rows": [0, 2.5],
    "map.latitude": [400, "x"],
    "calibration": [3],
}


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Put a value at a place such as ``promises.0.epsilon`` of a certificate."""

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
        lambda content: content["promises"].append(content["promises"][0]),
        *(_set(path, value) for path, values in IMPOSSIBLE.items() for value in values),
    ],
)
def test_a_certificate_that_cannot_be_is_refused(
    track: ProtectedTrack, tmp_path: Path, spoil: Callable[[dict[str, Any]], object]
) -> None:
    content = track.certificate.to_json()
    spoil(content)
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="does not hold a certificate|is no number of JSON"):
        Certificate.load(tmp_path / "c.json")


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
    content = track.certificate.to_json()
    _set(path, value)(content)
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="model"):
        Certificate.load(tmp_path / "c.json").losses(city.model())


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("[" * 200_000)
    with pytest.raises(CertificateError, match="is not a certificate"):
        Certificate.load(tmp_path / "c.json")


def test_a_certificate_knows_its_track(track: ProtectedTrack) -> None:
    released = track.released
    assert track.certificate.tells_of(released)
    assert not track.certificate.tells_of(released.iloc[1:])
    assert not track.certificate.tells_of(released.assign(latitude=released["latitude"] + 0.02))


def test_an_unknown_adversary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="must be one of known, near, any, got 'weak'"):
        protect_track(
            city.days(10, 11),
            city.model(),
            city.events_file(tmp_path),
            adversary="weak",  # type: ignore[arg-type]
        )
