"""A stream that was saved, killed and loaded goes on as if nothing had happened."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from priste import (
    AnyPrior,
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    LocationSet,
    Mobility,
    NearPrior,
    OptimalRemap,
    PlanarLaplace,
    Prior,
    Protect,
    ProtectionError,
    Protector,
    Retry,
    StreamFileError,
    at,
    presence,
)
from priste.calibration import Calibration
from priste.mechanisms import Mechanism
from priste.randomness import Randomness
from priste.storage.archive import checksum
from tests.strategies import random_stochastic

GRID = Grid(2, 2)
HOURS = Mobility(list(random_stochastic(np.random.default_rng(3), (3, 4, 4))), repeat=True)
NOISE = PlanarLaplace(GRID, 2.0)
SOON = Protect(presence({3}, [2, 3]), 0.6, name="soon")
LATER = Protect(at({0}, 9) | at({1}, 8), 1.0, name="later")
PATH = [0, 1, 3, 3, 2, 0, 0, 1, 1, 0, 2, 3]


LOADED = partial(Protector.load, prior=AnyPrior(), calibration=EveryOutput())


def stream(
    calibration: Calibration | None = None,
    prior: Prior | None = None,
    mobility: Mobility | Sequence[Mobility] = HOURS,
    mechanism: Mechanism = NOISE,
) -> Protector:
    return Protector(
        mobility, mechanism, [SOON, LATER], prior=prior, calibration=calibration, eta=0.1, seed=5
    )


def seen(guard: Protector, cell: int) -> tuple[object, ...]:
    release = guard.release(cell)
    return release.step, release.cell, release.column.tobytes(), release.private, guard.account()


ORDER_2 = Mobility.fit([[0, 1, 3, 2, 0, 1, 1, 3, 3, 2, 0, 0, 2]], 4, order=2, smoothing=9)
TWO = (HOURS, Mobility(HOURS.matrices[1], [0.25] * 4))


@pytest.mark.parametrize(
    ("calibration", "prior", "mobility", "mechanism"),
    [
        (OptimalRemap(), AnyPrior(), HOURS, NOISE),
        (OptimalRemap(spending="rolling"), None, ORDER_2, NOISE),
        (OptimalRemap(), KnownPrior(np.full(4, 0.25)), HOURS, NOISE),
        (OptimalRemap(spending="proportional"), KnownPrior(np.full(4, 0.25)), TWO, NOISE),
        (EveryOutput(refine=3), AnyPrior(), HOURS, NOISE),
        (
            EveryOutput(),
            NearPrior(np.full(4, 0.25), 0.3),
            HOURS,
            LocationSet(NOISE, 0.1, [0.25] * 4),
        ),
        (Retry(), AnyPrior(), HOURS, NOISE),
    ],
    ids=[
        "remap any",
        "remap order 2",
        "remap known",
        "remap two models",
        "every output",
        "location set",
        "retry",
    ],
)
def test_what_is_saved_goes_on_to_the_bit_from_every_step(
    calibration: Calibration,
    prior: Prior | None,
    mobility: Mobility | Sequence[Mobility],
    mechanism: Mechanism,
    tmp_path: Path,
) -> None:
    untouched = stream(calibration, prior, mobility, mechanism)
    stopped = stream(calibration, prior, mobility, mechanism)
    more = Protect(presence({1, 2}, [11]), 0.8, name="more")
    states = set()
    for step, cell in enumerate(PATH):
        stopped.save(tmp_path / "state")
        stopped = Protector.load(
            tmp_path / "state", mobility, mechanism, prior=prior, calibration=calibration
        )
        if step == 6:
            untouched.add(more)
            stopped.add(more)
        if step == 4:
            untouched.skip()
            stopped.skip()
        assert seen(stopped, cell) == seen(untouched, cell)
        trusted = [guard.state.whereabouts.trust.tobytes() for guard in (stopped, untouched)]
        assert trusted[0] == trusted[1]
        states |= {entry.state for entry in stopped.account()}
    assert "live" in states
    if calibration.is_guarantee:
        assert states == {"waiting", "live", "settled"}


def test_an_exchanged_model_needs_the_earlier_one_as_long_as_it_is_tracked(tmp_path: Path) -> None:
    other = Mobility(random_stochastic(np.random.default_rng(8), (4, 4)))
    untouched, stopped = (stream(EveryOutput(), AnyPrior()) for _ in range(2))
    for guard in (untouched, stopped):
        for cell in PATH[:2]:
            guard.release(cell)
        guard.exchange(other)
    stopped.save(tmp_path / "state")
    with pytest.raises(StreamFileError, match="one of the earlier models"):
        LOADED(tmp_path / "state", other, NOISE)
    stopped = LOADED(tmp_path / "state", other, NOISE, earlier=[HOURS])
    for cell in PATH[2:]:
        assert seen(stopped, cell) == seen(untouched, cell)


def test_only_what_the_stream_began_with_can_go_on(tmp_path: Path) -> None:
    guard = stream(EveryOutput(), AnyPrior())
    guard.release(0)
    guard.save(tmp_path / "state")
    same = LOADED
    turned = Mobility(HOURS.matrices[::-1], repeat=True)
    for mobility, mechanism, load, what in (
        (turned, NOISE, same, "mobility"),
        (HOURS, Exponential(GRID, 2.0), same, "mechanism"),
        (HOURS, PlanarLaplace(GRID, 2.5), same, "mechanism"),
        (HOURS, NOISE, partial(same, prior=NearPrior(np.full(4, 0.25), 0.3)), "prior"),
        (HOURS, NOISE, partial(same, calibration=EveryOutput(0.6)), "calibration"),
    ):
        with pytest.raises(StreamFileError, match=f"a stream with another {what}"):
            load(tmp_path / "state", mobility, mechanism)


def test_an_older_copy_is_refused(tmp_path: Path) -> None:
    guard = stream(EveryOutput(), AnyPrior())
    guard.release(0)
    guard.save(tmp_path / "state")
    LOADED(tmp_path / "state", HOURS, NOISE, last_seen=0)
    with pytest.raises(StreamFileError, match=r"old copy: it ends with step 0, and step 1 has"):
        LOADED(tmp_path / "state", HOURS, NOISE, last_seen=1)


def test_a_stream_without_a_seed_stays_without_one(tmp_path: Path) -> None:
    guard = Protector(HOURS, NOISE, SOON, calibration=EveryOutput())
    guard.save(tmp_path / "state")
    back = Protector.load(tmp_path / "state", HOURS, NOISE, calibration=EveryOutput())
    assert back.release(0).caveats == ()


@pytest.mark.parametrize(
    "kind",
    [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64],
)
def test_draws_of_any_seed_go_on_from_their_position(kind: type[np.random.BitGenerator]) -> None:
    source = Randomness(kind(3))
    source.bits()
    copy = Randomness.at(json.loads(json.dumps(source.position)))
    assert [copy.bits() for _ in range(700)] == [source.bits() for _ in range(700)]


def rewritten(path: Path, **changes: NDArray[Any]) -> None:
    """Change arrays of a state and make its checksum fit."""
    with np.load(path) as file:
        content = {name: file[name] for name in file.files if name != "checksum"} | changes
    digest = np.frombuffer(checksum(content), dtype=np.uint8)
    with path.open("wb") as out:
        np.savez(out, checksum=digest, **content)


def test_a_damaged_or_foreign_state_is_refused_in_words(tmp_path: Path) -> None:
    guard = stream(EveryOutput(), AnyPrior())
    for cell in PATH[:3]:
        guard.release(cell)
    path = tmp_path / "state"

    def refused(why: str) -> None:
        with pytest.raises(StreamFileError, match=why):
            LOADED(path, HOURS, NOISE)

    guard.save(path)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        refused("state is not the saved state of a stream")
    spot = whole.index(b"beliefs 0 weights") + 200
    path.write_bytes(whole[:spot] + bytes([whole[spot] ^ 1]) + whole[spot + 1 :])
    refused("not the saved state|changed or damaged")
    path.write_text("time,latitude,longitude\n")
    refused("not the saved state")
    for name, array in (
        ("event 0 tensor", np.ones((4, 2, 5))),
        ("event 0 tensor", np.full((4, 2, 4), np.nan)),
        ("event 0 exponents", np.zeros(3, dtype=np.int64)),
        ("event 0 a", np.ones(3)),
        ("beliefs 0 weights", -np.ones((4, 4))),
        ("whereabouts 0", np.ones(5)),
        ("trust", np.ones(2)),
        ("trust", np.full(1, np.nan)),
        ("trust", np.zeros(1)),
        ("trust", np.full(1, 1.7e308)),
        ("whereabouts 0", np.zeros(4)),
        ("whereabouts 0", np.full(4, 0.2)),
        ("meta", np.frombuffer(b"[1]", dtype=np.uint8)),
        ("meta", np.frombuffer(b"{}", dtype=np.uint8)),
    ):
        guard.save(path)
        rewritten(path, **{name: array})
        refused("does not hold the state of a stream")
    guard.save(path)
    with np.load(path) as file:
        meta = json.loads(file["meta"].tobytes())
    (first, *_) = meta["watched"]
    settled = {"name": "x", "state": "settled", "epsilon": 1.0, "activation": 0, "merging": 0}
    for wrong in (
        {"step": "3"},
        {"eta": -0.1},
        {"asked": 1.5},
        {"distances": [float(10**300) * 10**300]},
        {"settled": [settled | {"moved": 1.0, "tracked_from": 0, "settled_at": [2]}]},
        {"settled": [settled | {"moved": 1.0, "tracked_from": 0, "settled_at": 2, "name": [1]}]},
        {"watched": [first | {"model": 1}]},
        {"watched": [first | {"name": ["soon"]}]},
        {"watched": [first | {"activation": None}]},
        {"watched": [first | {"step": "2"}]},
    ):
        text = json.dumps(meta | wrong).encode()
        guard.save(path)
        rewritten(path, meta=np.frombuffer(text, dtype=np.uint8))
        refused("does not hold the state of a stream")
    guard.save(path)
    LOADED(path, HOURS, NOISE)


def test_a_failed_save_leaves_the_last_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = stream(EveryOutput(), AnyPrior())
    guard.save(tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    guard.release(0)

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space"):
        guard.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("models", [HOURS, TWO])
def test_nothing_in_a_state_depends_on_the_true_cells(
    models: Mobility | Sequence[Mobility], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people with the same releases leave the same file."""
    guards = [Protector(models, NOISE, SOON, calibration=EveryOutput()) for _ in range(2)]
    for guard, cells in zip(guards, ([0, 1, 2, 3], [3, 3, 0, 1]), strict=True):
        monkeypatch.setattr(guard._randomness, "draw", lambda _: 1)
        for cell in cells:
            guard.release(cell)
        guard.save(tmp_path / str(cells[0]))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "3").read_bytes()


def test_events_are_asked_for_before_they_begin_and_once() -> None:
    guard = stream(EveryOutput(), AnyPrior())
    for cell in PATH[:4]:
        guard.release(cell)
    before = guard._left
    for protect, why in (
        (Protect(presence({1}, [3, 5]), 1.0), "begins at step 3, and the next release is that of"),
        (Protect(at({1}, 8), 1.0, name="later"), "has an event 'later' already"),
        (Protect(at({1}, 8), 1.0, name="soon"), "has an event 'soon' already"),
    ):
        with pytest.raises(ProtectionError, match=why):
            guard.add([Protect(at({2}, 9), 1.0, name="fine"), protect])
        assert guard._left is before
        assert guard.protections == (SOON, LATER)
