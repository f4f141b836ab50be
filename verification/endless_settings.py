"""Streams to audit: random ones, and some made by hand so that nothing of ε is left unused."""

from dataclasses import dataclass

import numpy as np
from tests.strategies import random_event, random_stochastic

from priste import (
    AnyPrior,
    AnyPriorOn,
    EmissionMatrix,
    EventError,
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    LocationSet,
    Mobility,
    NearPrior,
    OptimalRemap,
    Protect,
    Protector,
    at,
    pattern,
    presence,
)
from priste.calibration import Calibration
from priste.checks import Array
from priste.events import AllOf, AnyOf, At, AtLeast, Event, Not
from priste.mechanisms.mechanism import Mechanism
from priste.priors import Prior
from priste.worst_case import Sides


@dataclass(frozen=True, eq=False)
class Setting:
    """A stream of `horizon` releases.

    Each protection is asked for after the release of its step, -1 being before the first. So is
    the exchange of the models. Nothing is released at the steps that are `skipped`. The vertices
    span the set of beliefs.
    """

    models: tuple[Mobility, ...]
    mechanism: Mechanism
    asked: tuple[tuple[int, Protect], ...]
    prior: Prior
    vertices: Array
    calibration: Calibration
    eta: float
    horizon: int
    exchange: tuple[int, tuple[Mobility, ...]] | None = None
    skipped: frozenset[int] = frozenset()
    seed: int = 0

    def protector(self) -> Protector:
        """Return what releases, with all that is asked for before the first release."""
        return Protector(
            self.models,
            self.mechanism,
            [p for step, p in self.asked if step < 0],
            prior=self.prior,
            calibration=self.calibration,
            eta=self.eta,
        )

    def moves(self, model: int, *, is_exchanged: bool) -> list[Array]:
        """Return the matrix of every step, the new model's from the exchange on."""
        last = max(p.event.steps[-1] for _, p in self.asked)
        matrices = []
        for step in range(max(self.horizon, last + 1)):
            mobility = self.models[model]
            if is_exchanged and self.exchange and step >= self.exchange[0]:
                mobility = self.exchange[1][model]
            matrix = mobility.transition(step)
            matrices.append(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
        return matrices


def tight_settings() -> list[Setting]:
    """Return streams in which waiting, merging and settling cost all that is charged for them."""
    return [tight_waiting(), tight_merging()]


def tight_waiting(eta: float = 0.3, falling: bool = False) -> Setting:
    """Return a stream that first discloses the state in which the odds are largest.

    Nobody moves until step 3, and the observer is all but sure of the other state. Then the event
    is live, and what is left of ε is used up in the same direction.
    """
    epsilon, still = 1.0, np.eye(2)
    high = 1 / (1 + np.exp(-0.4))
    low = 1 / (1 + np.exp(-0.4 + 0.999 * eta * epsilon))
    going = np.array([[high, 1 - high], [low, 1 - low]])
    after = np.array([[0.6, 0.4], [0.4, 0.6]])
    belief = np.array([1 - 1e-6, 1e-6] if falling else [1e-6, 1 - 1e-6])
    return Setting(
        (Mobility([still, still, still, going, after, after, after, after]),),
        EmissionMatrix(np.eye(2)),
        ((-1, Protect(at({0}, 4), epsilon, name="there at 4")),),
        KnownPrior(belief),
        belief[None, :],
        EveryOutput(refine=40),
        eta,
        horizon=8,
    )


def tight_merging(eta: float = 0.3) -> Setting:
    """Return a stream whose event compares the place at step 7 with that at step 8.

    Step 8 is independent of all before, so the event's odds are even from every state. But once
    step 8 is known they are those of the place at step 7, about which beliefs still differ.
    """
    lazy = np.kron(np.eye(2), [[0.8, 0.2], [0.2, 0.8]])
    leaving = np.tile([0.0, 0.0, 0.5, 0.5], (4, 1))
    noisy = np.kron(np.diag([1.0, 0.0]), [[0.56, 0.44], [0.44, 0.56]])
    sure = np.diag([0.0, 0.0, 1.0, 1.0])
    same = (at({0, 2}, 7) & at({2}, 8)) | (at({1, 3}, 7) & at({3}, 8))
    return Setting(
        (Mobility([lazy] * 7 + [leaving] * 3),),
        EmissionMatrix(noisy + sure),
        ((-1, Protect(same, 0.5, name="stayed")),),
        AnyPriorOn([0, 1]),
        np.eye(4)[:2],
        EveryOutput(refine=40),
        eta,
        horizon=10,
    )


def random_setting(random: np.random.Generator, models: tuple[int, ...] = ()) -> Setting:
    """Return a stream in which much happens, none of whose first events is foregone.

    It has one of the numbers of `models`; one or two without.
    """
    while True:
        setting = _setting(random, models)
        try:
            setting.protector()
        except EventError:
            continue
        return setting


def _setting(random: np.random.Generator, models_wanted: tuple[int, ...]) -> Setting:
    n_cells = int(random.choice([2, 3, 4], p=[0.5, 0.3, 0.2]))
    horizon = int(random.integers(7, 15))
    order = 2 if n_cells < 4 and random.random() < 0.15 else 1
    n_models = int(random.choice([1, 2], p=[0.75, 0.25])) if order == 1 else 1
    if models_wanted:
        n_models = int(random.choice(models_wanted))
    models = tuple(_mobility(random, n_cells, horizon, order) for _ in range(n_models))
    prior, vertices = _prior(random, n_cells)
    exchange = None
    if random.random() < 0.2:
        renewed = tuple(_mobility(random, n_cells, horizon, order) for _ in range(n_models))
        exchange = int(random.integers(horizon - 3)), renewed
    events = _events(random, n_cells, horizon)
    asked = []
    for number, event in enumerate(events):
        sides: Sides = "both" if random.random() < 0.85 else "event"
        epsilon = float(random.uniform(0.3, 2.0))
        late = number > 0 and random.random() < 0.4
        step = int(random.integers(event.steps[0])) if late and event.steps[0] > 0 else -1
        asked.append((step, Protect(event, epsilon, sides=sides, name=f"secret {number}")))
    calibration: Calibration = EveryOutput(decay=0.7, weakenings=8, refine=4)
    if random.random() < 0.5:
        calibration = OptimalRemap(1 - np.eye(n_cells), rounds=20)
    return Setting(
        models,
        _mechanism(random, n_cells),
        tuple(asked),
        prior,
        vertices,
        calibration,
        float(random.uniform(0.05, 0.3)),
        horizon,
        exchange,
        frozenset(np.flatnonzero(random.random(horizon) < random.choice([0, 0.2])).tolist()),
        int(random.integers(2**32)),
    )


def _mobility(random: np.random.Generator, n_cells: int, horizon: int, order: int) -> Mobility:
    if order == 2:
        tracks = [random.integers(n_cells, size=40).tolist() for _ in range(3)]
        return Mobility.fit(tracks, n_cells, order=2, smoothing=float(random.uniform(0.5, 6)))
    kind = random.choice(["fixed", "varying", "periodic", "zeros"])
    count = {"fixed": 1, "varying": horizon + 16, "periodic": 2, "zeros": 1}[kind]
    local = random_stochastic(
        random, (count, n_cells, n_cells), zeros=0.3 if kind == "zeros" else 0
    )
    common = random_stochastic(random, (count, 1, n_cells))
    share = 0.0 if kind == "zeros" else random.uniform(0.1, 0.8)
    return Mobility((1 - share) * local + share * common, repeat=kind != "varying")


def _prior(random: np.random.Generator, n_cells: int) -> tuple[Prior, Array]:
    belief, points = random_stochastic(random, (n_cells,)), np.eye(n_cells)
    match int(random.integers(8)):
        case 0:
            return KnownPrior(belief), belief[None, :]
        case 1 | 2:
            cells = sorted(random.choice(n_cells, 2, replace=False).tolist())
            return AnyPriorOn(cells), points[cells]
        case 3 | 4:
            rho = float(random.uniform(0.05, 0.8))
            return NearPrior(belief, rho), (1 - rho) * belief + rho * points
        case _:
            return AnyPrior(), points


def _mechanism(random: np.random.Generator, n_cells: int) -> Mechanism:
    match int(random.integers(4)):
        case 0:
            return EmissionMatrix(np.eye(n_cells))
        case 1:
            return EmissionMatrix(random_stochastic(random, (n_cells, n_cells), zeros=0.2))
        case 2:
            share = random.uniform(0.2, 0.9)
            noise = random_stochastic(random, (n_cells, n_cells))
            return EmissionMatrix(share * np.eye(n_cells) + (1 - share) * noise)
        case _:
            exponential = Exponential(Grid(1, n_cells), float(random.uniform(0.3, 2)))
            if random.random() < 0.8:
                return exponential
            return LocationSet(exponential, 0.1, np.full(n_cells, 1 / n_cells))


def _events(random: np.random.Generator, n_cells: int, horizon: int) -> list[Event]:
    """Return one to three events: one kind that recurs, or several that overlap."""
    start = int(random.integers(2, max(horizon - 4, 3)))
    region = random.choice(n_cells, int(random.integers(1, n_cells)), replace=False).tolist()
    kind, length = int(random.integers(4)), int(random.integers(1, 4))

    def beginning(step: int) -> Event:
        if kind == 0:
            return presence(region, range(step, step + length))
        if kind == 1:
            return pattern([region] * length, step)
        if kind == 2:
            return at(region, step)
        return _later(random_event(random, n_cells, 3, depth=int(random.integers(1, 3))), step)

    gap = int(random.integers(1, 5))
    count = int(random.choice([1, 2, 3], p=[0.4, 0.4, 0.2]))
    return [beginning(start + gap * k) for k in range(count)]


def _later(event: Event, steps: int) -> Event:
    """Return the same event some steps later."""
    match event:
        case At(cells, step):
            return At(cells, step + steps)
        case AllOf(events):
            return AllOf(tuple(_later(e, steps) for e in events))
        case AnyOf(events):
            return AnyOf(tuple(_later(e, steps) for e in events))
        case AtLeast(k, events):
            return AtLeast(k, tuple(_later(e, steps) for e in events))
        case Not(inner):
            return Not(_later(inner, steps))
    raise TypeError(type(event).__name__)
