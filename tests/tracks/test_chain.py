"""The certificates of a stream, checked together."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from priste import Grid, Mobility, presence, privacy_loss
from priste.errors import CertificateError, PristeError
from priste.tracks import (
    Certificate,
    LocalMap,
    Model,
    ProtectedTrack,
    StreamCheck,
    as_track,
    check,
    load_certificate,
    protect_track,
    save_certificate,
)
from priste.tracks.certificate_file import digest_of, to_json, to_text
from tests.tracks import city, streams
from tests.tracks.test_track_stream import go_on, later, other_model


def certificates(n: int = 2) -> list[Certificate]:
    return [day.certificate for day in streams.days(n)]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "c1.json", tmp_path / "c2.json"]
    for path, certificate in zip(paths, certificates(), strict=True):
        save_certificate(certificate, path)
    return paths


def test_every_promise_is_kept_whatever_the_order(files: list[Path]) -> None:
    one, two = map(load_certificate, files)
    found = check([two, one], city.model())
    assert isinstance(found, StreamCheck)
    assert found.kept
    states = {verdict.name: verdict.state for verdict in found.verdicts}
    assert states["treatment 2024-05-16"] == states["treatment 2024-05-17"] == "settled"
    assert states["treatment 2024-05-24"] == "waiting"
    assert len(states) == 9
    assert found.largest == check([one, two], city.model()).largest
    assert "“treatment 2024-05-16”: promised 0.8, settled, largest loss" in str(found)


def test_what_is_said_of_the_first_day_stays_true() -> None:
    """The loss of each event, followed in full over both days, is within what was found."""
    found = check(certificates(), city.model())
    columns = [column for each in certificates() for column in each.columns()]
    first = certificates()[0]
    mobility = city.model().mobilities_from(first.clock.start)[0]
    prior = first.adversary.prior(mobility)
    for verdict in found.verdicts[:2]:
        event, epsilon = verdict.protection.event, verdict.protection.epsilon
        losses = privacy_loss(event, mobility, columns, prior=prior)
        assert losses.max() <= epsilon
        if verdict.name == "treatment 2024-05-16":  # tracked from the start
            entry = streams.days()[1].protector.account()[verdict.name]
            assert entry.activation == 0
            largest = losses[: entry.settled_at].max()
            assert largest - 1e-9 <= verdict.largest <= largest + 2 * entry.merging + 1e-9


def test_the_first_days_alone_are_a_stream_too() -> None:
    found = check(certificates(1), city.model())
    assert found.kept
    assert len(found.verdicts) == 8
    with pytest.raises(CertificateError, match="number 1 of the certificates of a stream"):
        certificates(1)[0].check(city.model())


def test_a_certificate_of_no_stream_is_checked_as_before() -> None:
    track = protect_track(city.days(10, 11), city.model(), streams.events(), seed=1)
    found = check(track.certificate, city.model())
    assert found.losses["treatment"].shape == (24,)  # type: ignore[union-attr]
    with pytest.raises(CertificateError, match="one is of none; check it by itself"):
        check([track.certificate, *certificates()], city.model())


def test_a_certificate_of_a_stream_comes_back_as_it_was(files: list[Path]) -> None:
    for path, certificate in zip(files, certificates(), strict=True):
        back = load_certificate(path)
        assert to_text(back) == to_text(certificate) == path.read_text()
        assert back.file_digest == digest_of(certificate)
        assert str(back) == str(certificate)
    words = str(certificates()[1])
    assert "certificate 2 of a stream. What it says of an event holds for all releases" in words
    assert digest_of(certificates()[0]) in words
    assert "It is settled, no later release can break the promise" in words
    assert "for when their time has come: “treatment 2024-05-19” (ε = 0.8)" in words
    assert "from releases that are not part of this stream" in words


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ((1,), "certificate 1 of the stream is missing"),
        ((0, 0, 1), "two certificates have number 1"),
        ((0, 1, 1), "two certificates have number 2"),
        ((), "no certificate"),
    ],
)
def test_a_certificate_missing_or_twice_is_refused(chosen: tuple[int, ...], message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        check([certificates()[i] for i in chosen], city.model())


def test_one_missing_in_the_middle_is_refused() -> None:
    third = go_on(12, stream=streams.days()[1].continued, table=later(12)).certificate
    one, two = certificates()
    assert check([third, one, two], city.model()).kept
    with pytest.raises(CertificateError, match="certificate 2 of the stream is missing"):
        check([one, third], city.model())
    fake = replace(third, link=replace(third.link, number=2))  # type: ignore[type-var]
    with pytest.raises(CertificateError, match="certificate 1 is not the one that certificate 2"):
        check([one, fake], city.model())


def _edit(path: Path, change: Callable[[dict[str, Any]], object]) -> Certificate:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return load_certificate(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["protections"][0].update(epsilon=5.0),
        lambda c: c["protections"].pop(3),
        lambda c: c["releases"].pop(3),
        lambda c: c["releases"][3].update(cell=0),
        lambda c: c["meaning"].append("It promises more than it did."),
        lambda _: None,  # other blanks: another file
    ],
)
def test_a_certificate_changed_after_the_next_was_made_is_refused(
    files: list[Path], change: Callable[[dict[str, Any]], object]
) -> None:
    one, two = _edit(files[0], change), load_certificate(files[1])
    with pytest.raises(CertificateError, match="it was changed since, or is of another stream"):
        check([one, two], city.model())


def _standing(content: dict[str, Any], name: str, **fields: object) -> None:
    for entry in content["protections"]:
        if entry["name"] == name:
            entry["standing"] |= fields


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["protections"].pop(1), "leaves out “treatment 2024-05-1[78]”, which is not"),
        (lambda c: c["protections"][0].update(epsilon=5.0), "promises something else about"),
        (lambda c: c["protections"][0].update(sides="event"), "promises something else about"),
        (lambda c: _standing(c, "treatment 2024-05-17", asked=3), "promises something else about"),
        (lambda c: _standing(c, "treatment 2024-05-24", asked=3), "no certificate of that time"),
        (
            lambda c: _standing(c, "treatment 2024-05-18", state="settled"),
            "from the releases it is",
        ),
        (lambda c: _standing(c, "treatment 2024-05-18", activation=0.0), "from the releases it is"),
        (lambda c: c.update(rho=0.2), "certificate 2 of the stream has another adversary"),
        (lambda c: c["stream"].update(eta=0.02), "certificate 2 of the stream has another eta"),
        (lambda c: c.update(start="2024-05-15T22:00:01+00:00"), "has another clock"),
        (lambda c: c["mechanism"].update(budget=2.0), "has another mechanism"),
        (lambda c: c["stream"].update(first_step=23) or c.update(steps=25), "begins at step 23"),
        (lambda c: c["stream"].update(first_step=25, last_step=48), "is not a step from 25"),
        (lambda c: c["stream"].update(last_step=46), "do not end with its last step"),
        (
            lambda c: c["stream"].update(before="0" * 64),
            "is not the one that certificate 2 .* names",
        ),
        (lambda c: c["stream"].update(before=None), "only the first certificate"),
        (lambda c: c["stream"].update(before="x"), "is named by 'x'"),
        (lambda c: c["stream"].update(number=0), "numbered from 1"),
        (lambda c: c.update(model="0" * 64), "another model"),
        (lambda c: c.update(stream=3), "does not hold a certificate"),
        (lambda c: _standing(c, "treatment 2024-05-18", state="gone"), "waiting, live or settled"),
        (lambda c: _standing(c, "treatment 2024-05-18", merging=-1), "the charge for merging"),
        (lambda c: c["protections"][2].pop("standing"), "stands somehow"),
    ],
)
def test_the_last_certificate_must_fit_those_before(
    files: list[Path], change: Callable[[dict[str, Any]], object], message: str
) -> None:
    def checked() -> None:
        check([load_certificate(files[0]), _edit(files[1], change)], city.model())

    with pytest.raises(CertificateError, match=message):
        checked()


def test_a_release_that_tells_too_much_is_noticed() -> None:
    """Made up: at noon the last certificate of a stream gives the clinic away."""
    (one,) = certificates(1)
    told = np.full(26, 2.0**-53)
    told[12] = 1.0
    assert one.link is not None
    standings = tuple(replace(each, state="live") for each in one.link.standings[:1])
    link = replace(one.link, standings=standings + one.link.standings[1:])
    shown = replace(one, link=link, releases={**one.releases, 12: (12, told)})
    found = check(shown, city.model())
    assert not found.kept
    kept = {verdict.name: verdict.kept for verdict in found.verdicts}
    assert kept.pop("treatment 2024-05-16") is False
    assert all(kept.values())


def test_a_release_that_cannot_be_is_refused() -> None:
    (one,) = certificates(1)
    never = replace(one, releases={**one.releases, 12: (12, np.zeros(26))})
    with pytest.raises(PristeError, match="deems the release of step 12 impossible"):
        check(never, city.model())


def test_withheld_events_are_for_their_owner() -> None:
    hidden = [each.without_events() for each in certificates()]
    assert "treatment" not in to_text(hidden[1])
    assert all("standing" not in entry for entry in to_json(hidden[1])["protections"])
    with pytest.raises(CertificateError, match="are withheld: ask its owner"):
        check(hidden, city.model())


def test_a_stream_whose_model_was_exchanged_needs_both() -> None:
    other = other_model(0, 5)
    second = go_on(11, model=other, exchange_model=True).certificate
    (one,) = certificates(1)
    assert check([one, second], [other, city.model()]).kept
    with pytest.raises(CertificateError, match="another model"):
        check([one, second], city.model())


# --- two evenings -----------------------------------------------------------------------------

CLUB = """
time_zone = "Europe/Berlin"
regions.club.cells = [7]
windows.evening = { from = "20:00", to = "00:00" }
[events.club]
kind = "presence"
region = "club"
window = "evening"
epsilon = 1.0
"""


def evenings(model: Model, events: Path, stream: Path | None) -> list[ProtectedTrack]:
    """Two evenings at the club, protected in one stream or each by itself."""
    found: list[ProtectedTrack] = []
    at_home, at_club = [0] * 20, [7] * 4
    for day in (10, 11):
        table = as_track(range(24), at_home + at_club, model.place, model.clock(city.DAYS[day]))
        goes_on = found[-1].continued if found else None
        found.append(
            protect_track(
                table,
                model,
                events,
                stream=goes_on or stream,
                seed=7 if goes_on is None else None,
            )
        )
    return found


def test_two_evenings_in_one_stream_stay_within_epsilon_together(tmp_path: Path) -> None:
    """And do not if each is protected by itself: at midnight one is still at the club."""
    place = LocalMap(Grid(3, 3), 52.52, 13.40)
    sticky = Mobility(0.9 * np.eye(9) + 0.1 / 9)
    model = Model(place, city.model().step, (sticky,), city.ZONE, {})
    events = city.events_file(tmp_path, CLUB)

    def worst(days: list[ProtectedTrack]) -> list[float]:
        """The loss of both events over the columns of both certificates, followed in full."""
        columns = [column for day in days for column in day.certificate.columns()]
        first = days[0].certificate
        mobility = model.mobilities_from(first.clock.start)[0]
        prior = first.adversary.prior(mobility)
        at_both = [range(20, 24), range(44, 48)]
        return [
            float(privacy_loss(presence([7], steps), mobility, columns, prior=prior).max())
            for steps in at_both
        ]

    together = evenings(model, events, tmp_path / "me.stream")
    assert all(loss <= 1.0 for loss in worst(together))
    assert check([day.certificate for day in together], model).kept
    apart = evenings(model, events, None)
    assert all(day.certificate.check(model).kept for day in apart)
    assert max(worst(apart)) > 1.2
