"""Event privacy without drowning the signal: the best remap of a mechanism's output."""

import logging
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from priste.calibration.calibration import CertifiedPlan, Situation
from priste.calibration.effort import Effort
from priste.calibration.every_output import EveryOutput
from priste.calibration.grouped import GroupedSearch
from priste.calibration.grouped_plan import GroupedPlan
from priste.calibration.program import SolverError
from priste.calibration.search import Search, same_answer, secret_cells
from priste.calibration.spending import Spending, rationed
from priste.calibration.weighing import focused, weights
from priste.checks import Array, fraction, listing, not_negative, numbers, positive, whole
from priste.errors import ProtectionError

_log = logging.getLogger(__name__)

Loss = Literal["distance", "squared", "same cell"]


@dataclass(frozen=True, eq=False)
class OptimalRemap:
    """Post-process the mechanism so that the expected loss is least and *every* output passes.

    At each step, from public things alone, the row-stochastic Q is computed that minimises the
    expected loss between true and released cell, under the public belief about where the user is,
    such that every output of the mechanism followed by Q keeps every promise. Then one draw is
    made. Whatever location privacy the mechanism has is kept, since Q only sees its output; with
    `NoNoise` there is none, and Q is a mechanism for the events alone.

    For one known prior this is a linear program, and the result its optimum; on a map of more than
    900 cells it is within 2 % of it, or within `gap` if that is more. For a set of priors
    cuts are added until what is certified is within `gap` of what no remap of that map can beat, or
    for `rounds` rounds; the map is then as coarse as the loss allows, unless `outputs` says how
    many cells serve as outputs. On more than 150 cells signals are grouped instead, and what is
    certified is mostly within 1 % of the best of that kind. The solver is never trusted:
    its result is repaired, rounded to whole tickets and certified output by output. If that fails,
    or takes longer than `time_limit` seconds, the best certified matrix is used, at worst that of
    `EveryOutput` or the same answer from everywhere, and the private diary says so. Only then does
    a plan depend on the clock.

    `loss` is the distance, its square, 0 or 1 for the same cell or another, or a matrix of losses
    per true and released cell. The public belief is that of the mobility models, from their
    `initial` on, all counting alike until releases tell which foretold them, with a
    thousandth spread over all cells, so that no row is arbitrary. Models that allow for everything
    believe too little in the usual places; with a `focus` above 1 the loss is weighed by that power
    of the belief, for the most part, and promises stay as they are. `spending` says how much of ε a
    step may use, and `margin` which share of it the belief in the middle of the set never loses: it
    is held back for observers whose model of the person is none of those that the promise is made
    for. With a `thrift` above 0 plans tell only what is worth it: to the loss they add how far a
    release is expected to leave the odds from where they began, times `thrift`, in units of the
    smallest loss between two cells, which is mostly the distance of neighbours.
    With `avoid_secret` no cell is released while an event asks about it, by anybody: a release on
    the very spot is deniable by the numbers, and looks bad. That costs a little accuracy.
    """

    distances: Array | None = field(repr=False)
    loss: Loss | Array = field(repr=False)
    spending: Spending
    margin: float
    focus: float
    thrift: float
    avoid_secret: bool
    gap: float
    rounds: int = field(repr=False)
    outputs: int | None
    time_limit: float = field(repr=False)
    is_guarantee: ClassVar[bool] = True

    def __init__(
        self,
        distances: ArrayLike | None = None,
        *,
        loss: Loss | ArrayLike = "distance",
        spending: Spending = "all",
        margin: float = 0.0,
        focus: float = 1.0,
        thrift: float = 0.0,
        avoid_secret: bool = False,
        gap: float = 0.01,
        rounds: int = 100,
        outputs: int | None = None,
        time_limit: float = 120.0,
    ) -> None:
        if spending not in get_args(Spending):
            raise ProtectionError(
                f"spending must be one of {listing(get_args(Spending))}, got {spending!r}"
            )
        if isinstance(loss, str) and loss not in get_args(Loss):
            raise ProtectionError(
                f"loss must be one of {listing(get_args(Loss))} or a matrix, got {loss!r}"
            )
        values = {
            "distances": None if distances is None else _square(distances, "distances"),
            "loss": loss if isinstance(loss, str) else _square(loss, "loss"),
            "spending": spending,
            "margin": fraction(margin, "margin", ProtectionError, open_at_one=True),
            "focus": positive(focus, "focus", ProtectionError),
            "thrift": not_negative(thrift, "thrift", ProtectionError),
            "avoid_secret": bool(avoid_secret),
            "gap": positive(gap, "gap", ProtectionError),
            "rounds": whole(rounds, "rounds", ProtectionError, least=1),
            "outputs": None
            if outputs is None
            else whole(outputs, "outputs", ProtectionError, least=1),
            "time_limit": positive(time_limit, "time_limit", ProtectionError),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def plan(self, situation: Situation) -> CertifiedPlan | GroupedPlan:
        """Return one draw from the best certified matrix."""
        losses = self._losses(situation)
        belief = focused(situation.belief, self.focus)
        allowed = rationed(replace(situation, belief=belief), self.spending, self.margin)
        effort = Effort(self.gap, self.rounds, self.outputs, self.time_limit, self.thrift)
        avoided = secret_cells(situation) if self.avoid_secret else None
        try:
            if GroupedSearch.serves(effort, allowed):
                return GroupedSearch(effort, allowed, weights(allowed), losses, avoided).plan()
            return Search(effort, allowed, losses, avoided).plan()
        except SolverError as error:
            reason = f"the solver found no optimum ({error})"
            _log.info("a simpler calibration serves: %s", reason)
        remark = f"{reason}: the same answer from everywhere"
        same = same_answer(allowed, losses, remark, avoided)
        if self.avoid_secret:
            return same
        chosen = EveryOutput().plan(allowed)
        if chosen.emission.shape != losses.shape:
            return same
        expected = float(np.sum(weights(allowed)[:, None] * chosen.emission * losses))
        remark = f"{reason}: weakened noise instead (EveryOutput)"
        noise = replace(chosen, expected_loss=expected, remark=remark)
        return min(same, noise, key=lambda plan: plan.expected_loss)

    def _losses(self, situation: Situation) -> Array:
        """Return the loss per true and released cell."""
        n_cells = len(situation.belief)
        if isinstance(self.loss, np.ndarray):
            losses = self.loss
        elif self.loss == "same cell":
            losses = 1 - np.eye(n_cells)
        else:
            known = situation.mechanism.distances if self.distances is None else self.distances
            if known is None:
                raise ProtectionError(
                    f"{type(situation.mechanism).__name__} does not know how far cells are apart; "
                    f"give OptimalRemap(distances), such as grid.distances"
                )
            losses = known**2 if self.loss == "squared" else known
        if len(losses) != n_cells:
            raise ProtectionError(
                f"the losses are for {len(losses)} cells, the mobility has {n_cells}"
            )
        return losses


def _square(values: ArrayLike, what: str) -> Array:
    matrix = numbers(values, what, ProtectionError, ndim=2)
    if matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ProtectionError(f"{what} must be a square matrix, got shape {matrix.shape}")
    return matrix
