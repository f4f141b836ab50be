"""A stream of true cells in, a stream of releases out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from priste.calibration import Calibration, Retry, Situation
from priste.checks import Array, is_whole
from priste.errors import ProtectionError
from priste.evidence import EventModel, Evidence
from priste.mechanisms.location_set import LocationSet
from priste.mechanisms.mechanism import Mechanism
from priste.mobility import Mobility
from priste.priors import AnyPrior, Prior
from priste.protection import Protect
from priste.randomness import Randomness
from priste.worst_case import worst_case


@dataclass(frozen=True)
class Diary:
    """What must stay on the device: all of it may depend on where the user was.

    `losses` has one loss per protection: how far the worst belief's odds have moved by now, in
    nats, under the accounting of the calibration.
    """

    true_cell: int
    budget: float
    attempts: int
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Release:
    """One step of the protected stream. `step` and `cell` are public, `private` is not."""

    step: int
    cell: int
    private: Diary = field(repr=False, compare=False)

    def public(self) -> dict[str, int]:
        """Return what may leave the device."""
        return {"step": self.step, "cell": self.cell}


class Protector:
    """Releases one perturbed cell per step so that the events stay secret.

    No observer whose belief about step 0 lies in `prior`, who knows the mobility and everything
    released, may see their odds on a protected event change by more than its ε. Whether that is
    kept against somebody who also knows the algorithm depends on the calibration, see there.

    Random draws come from the operating system; with a `seed` they are reproducible and offer no
    protection against somebody who knows or guesses the seed.
    """

    def __init__(
        self,
        mobility: Mobility,
        mechanism: Mechanism,
        protections: Protect | Sequence[Protect],
        prior: Prior | None = None,
        calibration: Calibration | None = None,
        seed: int | None = None,
    ) -> None:
        asked = (protections,) if isinstance(protections, Protect) else tuple(protections)
        if not asked or not all(isinstance(p, Protect) for p in asked):
            raise ProtectionError("protections must be one or more Protect(event, epsilon)")
        n_cells = mechanism.emission().shape[0]
        if n_cells != mobility.n_cells:
            raise ProtectionError(
                f"the mechanism knows {n_cells} cells, the mobility {mobility.n_cells}; "
                f"both must be made for the same map"
            )
        self.mobility = mobility
        self.mechanism = mechanism
        self.protections = asked
        self.prior: Prior = AnyPrior() if prior is None else prior
        self.calibration: Calibration = Retry() if calibration is None else calibration
        self._randomness = Randomness(seed)
        self._left = _Public(
            step=-1,
            evidence=tuple(
                Evidence.start(EventModel(p.event, mobility), self.prior).refuse_foregone()
                for p in asked
            ),
            belief=mobility.states(
                mechanism.prior if isinstance(mechanism, LocationSet) else mobility.initial
            ),
        )

    @property
    def step(self) -> int:
        """The step of the next release."""
        return self._left.step + 1

    @property
    def is_reproducible(self) -> bool:
        """Whether a seed was given: then the draws are not secret."""
        return not self._randomness.is_secure

    def release(self, true_cell: int) -> Release:
        """Release the next step of the stream. On an error nothing has changed."""
        cell = self._checked(true_cell)
        now = self._arrived()
        mechanism = self.mechanism.for_belief(self.mobility.cells(now.belief))
        situation = Situation(mechanism, self.protections, now.evidence)
        draw = self.calibration.draw(situation, cell, self._randomness)
        evidence = tuple(e.observe(draw.column) for e in now.evidence)
        losses = tuple(
            worst_case(e.four_vectors(), sides=p.sides).loss
            for e, p in zip(evidence, self.protections, strict=True)
        )
        self._left = _Public(now.step, evidence, self._posterior(now.belief, draw.column))
        return Release(now.step, draw.output, Diary(cell, draw.budget, draw.attempts, losses))

    def skip(self) -> None:
        """Let a step pass without a release.

        When to skip must not depend on where the user is: that would be a release of its own.
        """
        self._left = self._arrived()

    def stream(self, true_cells: Iterable[int | None]) -> Iterator[Release]:
        """Yield the release of each true cell; `None` is a step to skip."""
        for cell in true_cells:
            if cell is None:
                self.skip()
            else:
                yield self.release(cell)

    def _arrived(self) -> "_Public":
        """Return the public state at the next step, before its release."""
        left = self._left
        if left.step < 0:
            return _Public(0, left.evidence, left.belief)
        belief = np.asarray(left.belief @ self.mobility.transition(left.step))
        return _Public(left.step + 1, tuple(e.advance() for e in left.evidence), belief)

    def _posterior(self, belief: Array, column: Array) -> Array:
        """Return the public belief over the states once the release is known (Bayes' rule)."""
        joint = belief * column[self.mobility.cell_of_state]
        total = float(joint.sum())
        return joint / total if total > 0 else belief

    def _checked(self, true_cell: object) -> int:
        # the value itself is a secret and stays out of the message
        n_cells = self.mobility.n_cells
        if not is_whole(true_cell):
            problem = f"it is not a whole number but of type {type(true_cell).__name__}"
        elif true_cell < 0 or true_cell >= n_cells:
            problem = "it is negative" if true_cell < 0 else f"it is above {n_cells - 1}"
        else:
            return int(true_cell)
        raise ProtectionError(
            f"the true cell of step {self.step} is not on the map: {problem}; "
            f"cells are 0 to {n_cells - 1} (the value is kept out of this message)"
        )


@dataclass(frozen=True, eq=False)
class _Public:
    """What everybody can know at `step`: evidence per protection, belief over the states."""

    step: int
    evidence: tuple[Evidence, ...]
    belief: Array
