"""No odds move by more than ε for any of several models, nor, if asked for, for any mixture.

Random streams under sets of models are audited as `endless` does it, model by model, with events
that wait, merge and settle; a fourth of them once more with the calibration that is the default.
Shorter ones, all of whose sequences are followed, are audited for observers who hold a mixture of
the models and learn from the releases which is true.
"""

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from tests.strategies import random_event, random_stochastic

from priste import (
    AnyPrior,
    EmissionMatrix,
    EventError,
    EveryOutput,
    KnownPrior,
    Mobility,
    OptimalRemap,
    Protect,
    Protector,
    at,
)
from priste.checks import Array
from priste.mixture import Mixture
from priste.stream import PublicState
from priste.stream.parts import default_calibration
from verification.endless import ROUNDING, audited, promise_kept
from verification.endless_settings import Setting, random_setting
from verification.observers import Observer, largest_changes
from verification.report import Finding, times

MISTAKE = "of a mixture's models only the first is followed"
SETS, MIXTURES = 200, 200


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Audit sets of models one by one, then their mixtures."""
    random = np.random.default_rng(14)
    if mistaken:
        with patch.object(Mixture, "of_models", staticmethod(lambda parts: parts[0])):
            yield mixtures_kept(random, times(MIXTURES, effort))
        return
    settings = [random_setting(random, models=(2, 3, 4)) for _ in range(times(SETS, effort))]
    settings += [_by_default(setting) for setting in settings[::4]]
    yield promise_kept("sets of 2 to 4 models", [audited(setting) for setting in settings])
    yield mixtures_kept(random, times(MIXTURES, effort))
    yield not_without_asking()


def mixtures_kept(random: np.random.Generator, count: int) -> Finding:
    """Hold the largest change of any mixture's odds against ε, over all sequences."""
    excess, sequences = -np.inf, 0
    for _ in range(count):
        protector, vertices, steps = _small(random)
        found = _changes(protector, vertices, steps)
        (protection,) = protector.protections
        excess = max(excess, *(change - protection.epsilon for change, _ in found))
        sequences += len(found)
    said = f"{count} sets, {sequences:,} sequences, largest loss − ε {excess:.2g}"
    return Finding("mixtures of models", said, bool(excess <= ROUNDING))


def not_without_asking() -> Finding:
    """Show a stream that keeps ε for each of two models, and not for a mixture of them."""
    rarely, often = (Mobility([[1 - p, p], [1 - p, p]]) for p in (0.1, 0.9))
    protector = Protector(
        (rarely, often),
        EmissionMatrix(np.eye(2)),
        Protect(at({1}, 3), 0.5),
        prior=KnownPrior([0.5, 0.5]),
        calibration=OptimalRemap(1 - np.eye(2)),
        eta=0.0,
    )
    found = _changes(protector, np.array([[0.5, 0.5]]), 4)
    mixed, alone = max(change for change, _ in found), max(change for _, change in found)
    said = f"ε = 0.5, each model {alone:.3f} at most, a mixture {mixed:.3f}"
    return Finding("members are kept and a mixture is not", said, alone <= 0.5 < mixed)


def _by_default(setting: Setting) -> Setting:
    """Return the setting with the calibration that a set of models has unless one is given."""
    calibration = default_calibration(setting.mechanism, len(setting.models))
    return replace(setting, calibration=calibration)


def _small(random: np.random.Generator) -> tuple[Protector, Array, int]:
    """Return a protector against mixtures, its vertices and how many releases to follow."""
    while True:
        n_cells, steps = int(random.integers(2, 4)), int(random.integers(2, 5))
        models = [
            Mobility(random_stochastic(random, (n_cells, n_cells), zeros=0.2))
            for _ in range(int(random.integers(2, 4)))
        ]
        belief = random_stochastic(random, (n_cells,))
        known = random.random() < 0.5
        calibration = EveryOutput(decay=0.7, weakenings=8, refine=4)
        remap = OptimalRemap(1 - np.eye(n_cells), rounds=20)
        try:
            protector = Protector(
                models,
                EmissionMatrix(random_stochastic(random, (n_cells, n_cells), zeros=0.2)),
                Protect(random_event(random, n_cells, steps, 2), float(random.uniform(0.3, 2))),
                prior=KnownPrior(belief) if known else AnyPrior(),
                calibration=calibration if random.random() < 0.5 else remap,
                mixtures=True,
            )
        except EventError:  # foregone
            continue
        return protector, belief[None, :] if known else np.eye(n_cells), steps


def _changes(protector: Protector, vertices: Array, steps: int) -> list[tuple[float, float]]:
    """Return, per sequence, the largest change for any mixture and for any of the models."""
    (protection,) = protector.protections
    event = protection.event
    length = max(steps, event.steps[-1] + 1)
    observers = [
        Observer(
            event, [np.asarray(m.transition(t)) for t in range(length)], m.cell_of_state, vertices
        )
        for m in protector.mobilities
    ]
    a = np.concatenate([o.a for o in observers])
    not_a = np.concatenate([o.not_a for o in observers])
    found: list[tuple[float, float]] = []

    def follow(state: PublicState, weights: list[Array]) -> None:
        if state.step + 1 == steps:
            return
        now = state.arrive()
        if now.step > 0:
            weights = [o.moved(now.step - 1, w) for o, w in zip(observers, weights, strict=True)]
        plan = protector.calibration.plan(now.situation())
        for outcome in plan.outcomes():
            seen = [
                o.released(w, outcome.likelihood) for o, w in zip(observers, weights, strict=True)
            ]
            joints = [o.joint(now.step, w) for o, w in zip(observers, seen, strict=True)]
            mixed = max(largest_changes(a, not_a, np.concatenate(joints)))
            alone = max(
                float(max(largest_changes(o.a, o.not_a, joint)))
                for o, joint in zip(observers, joints, strict=True)
            )
            found.append((float(mixed), alone))
            follow(now.observe(outcome.column, plan.warm_start), seen)

    follow(protector.beginning(), [o.start for o in observers])
    return found
