"""The public state of a stream in one file, to go on with later, to the bit.

The file holds numbers and a description in JSON, and nothing that could be executed. It holds
nothing about where the user was: a state follows from the model, the events and the releases.
The models, the mechanism, the prior and the calibration are not in it but their fingerprints are,
so that a stream goes on only with what it began with.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.calibration.warm_start import Belief, WarmStart
from priste.checks import shown, whole
from priste.errors import StreamFileError
from priste.evidence import EventModel, Evidence
from priste.mobility import Mobility
from priste.protection import Protect
from priste.storage import event_json, plain_json
from priste.storage.archive import Archive, verified, write_archive
from priste.storage.atomic_files import atomic_file
from priste.storage.fingerprint import fingerprint
from priste.storage.limits import refusing
from priste.stream.account import Entry
from priste.stream.beliefs import Beliefs
from priste.stream.parts import Parts
from priste.stream.public_state import PublicState
from priste.stream.watched import Watched
from priste.stream.whereabouts import Whereabouts

FORMAT = 3

Arrays = dict[str, NDArray[Any]]


def save_state(path: str | Path, state: PublicState, parts: Parts, **notes: Any) -> None:
    """Write a state: the whole file or none. `notes` are plain values to keep with it."""
    with atomic_file(path) as partial, partial.open("wb") as file:
        write_archive(file, arrays_of(state, parts, notes))


def load_state(
    path: str | Path, parts: Parts, earlier: Iterable[Mobility] = ()
) -> tuple[PublicState, dict[str, Any]]:
    """Read a state back, and the notes kept with it; `earlier` models may still be tracked."""
    path = Path(path)
    with refusing(f"{path.name} is not the saved state of a stream", StreamFileError):
        archive = Archive.read(path)
        archive.needs("meta")
        content = archive.content()
    content = verified(content, path.name, StreamFileError)
    return state_of(content, parts, earlier, path.name)


def arrays_of(state: PublicState, parts: Parts, notes: Mapping[str, Any]) -> Arrays:
    """Return everything that a state holds as arrays by name, its description among them."""
    arrays: Arrays = {"trust": state.whereabouts.trust}
    for m, belief in enumerate(state.whereabouts.by_model):
        arrays[f"whereabouts {m}"] = belief
    for m, beliefs in enumerate(state.beliefs):
        arrays[f"beliefs {m} weights"] = beliefs.weights
        arrays[f"beliefs {m} exponents"] = beliefs.exponents
        if beliefs.released is not None:
            arrays[f"beliefs {m} released"] = beliefs.released
    for i, watched in enumerate(state.watched):
        if watched.evidence is not None:
            arrays |= {f"event {i} {name}": x for name, x in _numbers(watched.evidence).items()}
    warm = state.warm_start
    if warm is not None and warm.used is not None:
        arrays["used"] = warm.used.astype(np.uint8)
    meta = {
        "format": FORMAT,
        "made with": parts.fingerprints(),
        "step": state.step,
        "eta": state.eta,
        "asked": state.asked,
        "least_epsilon": state.least_epsilon if math.isfinite(state.least_epsilon) else None,
        "was_exchanged": state.was_exchanged,
        "distances": [beliefs.distance for beliefs in state.beliefs],
        "watched": [_watched_json(watched) for watched in state.watched],
        "settled": [asdict(entry) for entry in state.settled],
        "warm start": None if warm is None else _beliefs_json(warm),
        "notes": notes,
    }
    text = json.dumps(meta, sort_keys=True).encode()
    return {**arrays, "meta": np.frombuffer(text, dtype=np.uint8)}


def state_of(
    content: Mapping[str, NDArray[Any]], parts: Parts, earlier: Iterable[Mobility], name: str
) -> tuple[PublicState, dict[str, Any]]:
    """Return the state that `arrays_of` took apart, and its notes."""
    with refusing(f"{name} does not hold the state of a stream", StreamFileError):
        meta = plain_json.parsed(content["meta"].tobytes(), StreamFileError)
        if not isinstance(meta, dict) or meta.get("format") != FORMAT:
            raise StreamFileError(f"this version reads format {FORMAT}, and it is of another")
    _refuse_other(meta["made with"], parts, name)
    arrays = {key: np.array(array) for key, array in content.items()}  # aligned, and our own
    models = {fingerprint(m): m for m in (*earlier, *parts.mobilities)}
    with refusing(f"{name} does not hold the state of a stream", StreamFileError):
        step = _whole(meta["step"], least=-1)
        beliefs = tuple(
            _beliefs(mobility, arrays, f"beliefs {m}", max(step, 0), _number(meta["distances"][m]))
            for m, mobility in enumerate(parts.mobilities)
        )
        _check_distribution(arrays, "trust", len(parts.mobilities))
        for m, mobility in enumerate(parts.mobilities):
            _check_distribution(arrays, f"whereabouts {m}", mobility.n_states)
        by_model = tuple(arrays[f"whereabouts {m}"] for m in range(len(parts.mobilities)))
        watched = tuple(
            _watched(entry, arrays, f"event {i}", models, len(parts.mobilities))
            for i, entry in enumerate(meta["watched"])
        )
        state = PublicState(
            parts.mechanism,
            parts.mobilities,
            parts.prior,
            _number(meta["eta"]),
            beliefs,
            Whereabouts(by_model, arrays["trust"]),
            watched,
            tuple(map(_settled, meta["settled"])),
            step,
            _warm_start(meta["warm start"], arrays.get("used")),
            math.inf if meta["least_epsilon"] is None else _number(meta["least_epsilon"]),
            _whole(meta["asked"]),
            bool(meta["was_exchanged"]),
        )
    return state, meta["notes"]


def _check(arrays: Arrays, name: str, shape: tuple[int, ...], dtype: type = np.float64) -> None:
    """Refuse an array that is not there, of another shape, or with numbers that are not weights."""
    if name not in arrays:
        raise StreamFileError(f"it has no {name!r}")
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise StreamFileError(f"its {name!r} is {array.dtype} of shape {array.shape}")
    if dtype is np.float64 and not ((array >= 0) & (array < np.inf)).all():
        raise StreamFileError(f"its {name!r} has numbers that are not weights")


def _check_distribution(arrays: Arrays, name: str, length: int) -> None:
    """Refuse an array that is not a distribution over so many."""
    _check(arrays, name, (length,))
    if not abs(arrays[name].sum() - 1) < 1e-9:
        raise StreamFileError(f"its {name!r} does not sum to one")


def _whole(value: object, least: int = 0) -> int:
    return whole(value, "a number of the state", StreamFileError, least=least)


def _number(value: object) -> float:
    """Return a charge, a share or a distance."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise StreamFileError(f"it has {shown(value)} where a number is expected")
    return value


def _settled(values: Mapping[str, Any]) -> Entry:
    """Return the line of a settled event."""
    entry = Entry(**values)
    for number in (entry.epsilon, entry.activation, entry.merging, entry.moved):
        _number(number)
    for count in (entry.tracked_from, entry.settled_at, entry.beliefs, entry.model):
        _whole(count)
    if not isinstance(entry.name, str) or entry.state != "settled":
        raise StreamFileError(f"it has {shown(entry.name)} among its settled events")
    return entry


def _beliefs(
    mobility: Mobility, arrays: Arrays, prefix: str, step: int, distance: float
) -> Beliefs:
    names = {part: f"{prefix} {part}" for part in ("weights", "exponents", "released")}
    rows = len(arrays[names["weights"]])
    _check(arrays, names["weights"], (rows, mobility.n_states))
    _check(arrays, names["exponents"], (rows,), np.int64)
    if names["released"] in arrays:
        _check(arrays, names["released"], (mobility.n_cells,))
    weights, exponents = arrays[names["weights"]], arrays[names["exponents"]]
    return Beliefs(mobility, weights, exponents, step, distance, arrays.get(names["released"]))


def _refuse_other(made_with: Mapping[str, Any], parts: Parts, name: str) -> None:
    for what, now in parts.fingerprints().items():
        if made_with.get(what) != now:
            raise StreamFileError(
                f"{name} is the state of a stream with another {what}; go on with the one that it "
                f"began with (a model can be exchanged afterwards), or begin another stream"
            )


def _numbers(evidence: Evidence) -> Arrays:
    true, false = evidence.faint
    numbers: Arrays = {
        "a": evidence.a,
        "not_a": evidence.not_a,
        "faint": np.array([true, false], dtype=np.uint8),
        "tensor": evidence.tensor,
        "exponents": evidence.exponents,
    }
    return numbers if evidence.released is None else {**numbers, "released": evidence.released}


def _watched_json(watched: Watched) -> dict[str, Any]:
    protection, evidence = watched.protection, watched.evidence
    return {
        "name": watched.name,
        "is_named": protection.name is not None,
        "event": event_json.to_json(protection.event),
        "epsilon": protection.epsilon,
        "sides": protection.sides,
        "model": watched.model,
        "begins": watched.begins,
        "activation": watched.activation,
        "merging": watched.merging,
        "reserve": watched.reserve,
        "step": None if evidence is None else evidence.step,
        "mobility": None if evidence is None else fingerprint(evidence.model.mobility),
    }


def _watched(
    entry: Mapping[str, Any],
    arrays: Arrays,
    prefix: str,
    models: Mapping[str, Mobility],
    n_models: int,
) -> Watched:
    name = entry["name"] if entry["is_named"] else None
    event = event_json.from_json(entry["event"])
    protection = Protect(event, entry["epsilon"], sides=entry["sides"], name=name)
    evidence = None
    if entry["step"] is not None:
        if entry["mobility"] not in models:
            raise StreamFileError(
                f"{entry['name']!r} is still tracked with a model from before an exchange; give "
                f"it as one of the earlier models"
            )
        model = EventModel(event, models[entry["mobility"]], first=_whole(entry["begins"]))
        _check_evidence(arrays, prefix, model, entry["step"])
        true, false = arrays[f"{prefix} faint"].astype(bool)
        evidence = Evidence(
            model,
            arrays[f"{prefix} a"],
            arrays[f"{prefix} not_a"],
            (true, false),
            entry["step"],
            arrays[f"{prefix} tensor"],
            arrays[f"{prefix} exponents"],
            arrays.get(f"{prefix} released"),
        )
    activation, merging, reserve = (
        _number(entry[name]) for name in ("activation", "merging", "reserve")
    )
    title = entry["name"]
    if not isinstance(title, str) or entry["model"] not in range(n_models):
        raise StreamFileError(f"it follows {shown(title)} under a model that is not there")
    begins = _whole(entry["begins"])
    return Watched(
        protection, title, entry["model"], begins, activation, merging, reserve, evidence
    )


def _check_evidence(arrays: Arrays, prefix: str, model: EventModel, step: int) -> None:
    rows, states = len(arrays[f"{prefix} a"]), model.mobility.n_states
    for name in ("a", "not_a"):
        _check(arrays, f"{prefix} {name}", (rows,))
    _check(arrays, f"{prefix} faint", (2, rows), np.uint8)
    _check(arrays, f"{prefix} exponents", (rows,), np.int64)
    _check(arrays, f"{prefix} tensor", (rows, len(model.ends_true(step)), states))
    if f"{prefix} released" in arrays:
        _check(arrays, f"{prefix} released", (model.mobility.n_cells,))


def _beliefs_json(warm: WarmStart) -> list[list[Any]]:
    return [
        [k, output, [list(belief) for belief in found]]
        for k, by_output in warm.beliefs.items()
        for output, found in by_output.items()
    ]


def _warm_start(entries: list[list[Any]] | None, used: NDArray[Any] | None) -> WarmStart | None:
    if entries is None:
        return None
    beliefs: dict[int, dict[int, tuple[Belief, ...]]] = {}
    for k, output, found in entries:
        beliefs.setdefault(k, {})[output] = tuple(Belief(*belief) for belief in found)
    return WarmStart(beliefs, None if used is None else used.astype(bool))
