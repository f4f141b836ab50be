"""What a stream runs with, besides its events: how people move, the noise, beliefs and choices."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from priste.calibration import Calibration, OptimalRemap
from priste.calibration.optimal import Loss
from priste.errors import ProtectionError
from priste.mechanisms.mechanism import Mechanism
from priste.mobility import Mobility
from priste.priors import NearPrior, Prior
from priste.storage.fingerprint import fingerprint

DEFAULT_RHO = 0.1
"""The fraction of the belief about the start that is free, unless a prior is given."""


DEFAULT_MARGIN = 0.65
"""The share of ε that is held back where several models say that none is certain."""

DEFAULT_FOCUS = 1.5
"""How much more the usual places count there: several models allow for more than people do."""

DEFAULT_THRIFT = 0.5
"""How dear it is there to move odds, in units of the distance between neighbouring cells."""


def default_calibration(
    mechanism: Mechanism,
    n_models: int = 1,
    *,
    margin: float | None = None,
    avoid_secret: bool = False,
) -> Calibration:
    """Return the calibration that serves people best, with a margin of one's own if given.

    Several models let a single release move the odds of one as far up as those of another down;
    nothing could be said after that. So they spend ε little by little.
    """
    loss: Loss = "same cell" if mechanism.distances is None else "distance"
    if n_models == 1:
        return OptimalRemap(loss=loss, margin=margin or 0.0, avoid_secret=avoid_secret)
    held_back = DEFAULT_MARGIN if margin is None else margin
    return OptimalRemap(
        loss=loss,
        spending="proportional",
        margin=held_back,
        focus=DEFAULT_FOCUS,
        thrift=DEFAULT_THRIFT if loss == "distance" else 0.0,
        avoid_secret=avoid_secret,
    )


class Parts(NamedTuple):
    """The parts of a stream, which stay the same as it goes on, the mobility perhaps excepted."""

    mobilities: tuple[Mobility, ...]
    mechanism: Mechanism
    prior: Prior
    calibration: Calibration

    @classmethod
    def of(
        cls,
        mobility: Mobility | Sequence[Mobility],
        mechanism: Mechanism,
        prior: Prior | None,
        calibration: Calibration | None,
    ) -> Self:
        """Return the parts that a user gave, with defaults for those left out."""
        mobilities = tuple(mobility) if isinstance(mobility, Iterable) else (mobility,)
        if not mobilities or not all(isinstance(m, Mobility) for m in mobilities):
            raise ProtectionError(
                "mobility must be a Mobility or several; wrap a matrix: Mobility(matrix)"
            )
        if not isinstance(mechanism, Mechanism):
            raise ProtectionError(
                f"mechanism must be one of priste.mechanisms, got {_kind(mechanism)}; "
                f"wrap a matrix: EmissionMatrix(matrix)"
            )
        for name, value, method, example in (
            ("prior", prior, "vertices", "AnyPrior() or KnownPrior(belief)"),
            ("calibration", calibration, "plan", "OptimalRemap()"),
        ):
            if value is not None and (isinstance(value, type) or not hasattr(value, method)):
                raise ProtectionError(f"{name} must be like {example}, got {_kind(value)}")
        n_cells = mechanism.n_inputs
        for model in mobilities:
            if n_cells != model.n_cells:
                raise ProtectionError(
                    f"the mechanism has {n_cells} cells, the mobility {model.n_cells}; "
                    f"make both for the same map"
                )
        return cls(
            mobilities,
            mechanism,
            NearPrior(mobilities[0].initial, DEFAULT_RHO) if prior is None else prior,
            default_calibration(mechanism, len(mobilities)) if calibration is None else calibration,
        )

    def fingerprints(self) -> dict[str, Any]:
        """Return the fingerprint of each part."""
        return {
            "mobility": [fingerprint(mobility) for mobility in self.mobilities],
            "mechanism": fingerprint(self.mechanism),
            "prior": fingerprint(self.prior),
            "calibration": fingerprint(self.calibration),
        }


def _kind(value: object) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__
