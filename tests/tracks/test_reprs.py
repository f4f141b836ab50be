"""What a person sees of an object: one line, a small table in a notebook, and no secret."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from priste import Diary, Event, PlanarLaplace
from priste.report import Findings
from priste.report.delivery import Delivery
from priste.tracks import (
    ProtectedTrack,
    Rules,
    Window,
    clean,
    expose_track,
    protect_track,
)
from tests.tracks import city


@pytest.fixture(scope="module")
def track(tmp_path_factory: pytest.TempPathFactory) -> ProtectedTrack:
    events = city.events_file(tmp_path_factory.mktemp("events"))
    return protect_track(city.days(10, 11), city.model(), events, seed=1)


def shown(track: ProtectedTrack) -> list[object]:
    """A track, what is made of it, and all objects of the package that these show."""
    check = track.certificate.check(city.model())
    hidden = track.certificate.without_events()
    findings = Findings.of(track, clean(city.days(10, 11))[1])
    public = Findings.of(track, private=False)
    delivery = Delivery(Path("long name" * 20 + ".csv"), Path("private" * 20))
    window = Window("Europe/Berlin", *track.certificate.clock.time_of([0, 9]))
    rules = Rules(latest=pd.Timestamp("2030-01-01T00:00:00.123Z"))
    found: dict[int, object] = {}
    for each in (track, check, hidden, findings, public, delivery, window, rules):
        for part in parts(each):
            found[id(part)] = part
    return list(found.values())


def parts(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        for each in value:
            yield from parts(each)
    elif type(value).__module__.startswith("priste.") and not isinstance(value, Diary | Event):
        yield value
        for name, each in getattr(value, "__dict__", {}).items():
            if not name.startswith("_"):
                yield from parts(each)


def texts(value: object) -> list[str]:
    in_notebook = getattr(value, "_repr_html_", lambda: "")
    return [repr(value), str(value), in_notebook()]


def test_every_object_has_a_repr_of_one_short_line(track: ProtectedTrack) -> None:
    kinds = {type(value).__name__ for value in shown(track)}
    assert {"ProtectedTrack", "Stream", "Model", "Certificate", "Check", "Verdict"} <= kinds
    assert {"Protect", "Recipe", "LocalMap", "Clock", "Findings", "Account", "Release"} <= kinds
    for value in shown(track):
        line = repr(value)
        assert len(line) <= 120, line
        assert line.isprintable(), line


def test_no_text_depends_on_where_the_person_was(track: ProtectedTrack) -> None:
    """The same releases of somebody who was elsewhere look the same, diary apart."""
    n = city.PLACE.grid.n_cells
    elsewhere = [None if cell is None else (cell + 7) % n for cell in track.stream.cells]
    releases = [
        replace(
            release,
            private=Diary((release.private.true_cell + 7) % n, 77.7, 99, {"odd": 7.7}, "far"),
        )
        for release in track.releases
    ]
    other = replace(track, stream=replace(track.stream, cells=elsewhere), releases=tuple(releases))
    assert other.diary["true_cell"].tolist() != track.diary["true_cell"].tolist()
    pairs = list(zip(shown(track), shown(other), strict=True))
    assert len(pairs) > 40
    for mine, theirs in pairs:
        assert type(mine) is type(theirs)
        assert texts(mine) == texts(theirs), type(mine)


def test_notebooks_show_small_tables(track: ProtectedTrack, tmp_path: Path) -> None:
    rows = track._repr_html_()
    largest = track.certificate.largest[0]
    assert f"<td>treatment</td><td>0.8</td><td>{largest:.4f}</td><td>24</td>" in rows
    assert "<li>" in track.certificate._repr_html_()
    assert "<td>fixes read</td><td>24</td>" in clean(city.days(10, 11))[1]._repr_html_()
    noise = PlanarLaplace(city.PLACE.grid, 1.0)
    found = expose_track(city.days(10, 11), city.model(), city.events_file(tmp_path), noise, seed=0)
    for exposure in found:
        assert repr(exposure) == f"<Exposure of “{exposure.name}” over 24 steps (private)>"
        assert f"{exposure.losses.max():.4f}" in exposure._repr_html_()


def test_names_are_escaped_in_notebooks(track: ProtectedTrack) -> None:
    named = replace(track.protections[0], name="<b>x</b>")
    certificate = replace(track.certificate, protections=(named, track.protections[1]))
    for value in (
        certificate,
        certificate.check(city.model()),
        replace(track, certificate=certificate),
    ):
        assert "<b>" not in value._repr_html_()
        assert "&lt;b&gt;" in value._repr_html_()
