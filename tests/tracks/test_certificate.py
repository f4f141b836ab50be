import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from priste import Retry
from priste.errors import CertificateError
from priste.tracks import Certificate, Model, ProtectedTrack, load_model, protect_track, save_model
from priste.tracks.certificate import Adversary
from tests.oracles import condition_over_all_pairs, presence_vectors
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
    assert "an observer who gave 1:9 before gives at least 1:20 and at most 1:4.04 now" in text
    assert "0.9 of the belief is the model's, the other 0.1 may be anything" in text
    assert "Only odds that rise are bounded" in text
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


def test_an_unknown_adversary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="must be one of known, near, any, got 'weak'"):
        protect_track(
            city.days(10, 11),
            city.model(),
            city.events_file(tmp_path),
            adversary="weak",  # type: ignore[arg-type]
        )
