"""The share η of an event's ε that waiting may cost, and merging, and that is held back."""

from priste.calibration import Calibration
from priste.checks import fraction
from priste.errors import PristeError

DEFAULT_ETA = 0.01
"""The share of an event's ε that its activation may cost, and the merging of beliefs."""


def checked_eta(eta: object, error: type[PristeError]) -> float:
    """Return a share that leaves something of ε."""
    share = fraction(eta, "eta", error, open_at_one=True)
    if share >= 1 / 3:
        raise error(f"eta is taken three times, so it is below 1/3; got {share:g}")
    return share


def eta_for(calibration: Calibration, eta: float = DEFAULT_ETA) -> float:
    """Return the share for a calibration: 0 if what it accounts for is not what happens."""
    return eta if calibration.is_guarantee else 0.0
