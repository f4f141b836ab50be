"""How the mechanism of a step is made weak enough for the events to stay secret."""

from priste.calibration.calibration import (
    Calibration,
    CertifiedPlan,
    Draw,
    Outcome,
    Plan,
    Situation,
)
from priste.calibration.every_output import EveryOutput
from priste.calibration.grouped_plan import GroupedPlan
from priste.calibration.optimal import OptimalRemap
from priste.calibration.retry import Retry
from priste.calibration.warm_start import WarmStart

__all__ = [
    "Calibration",
    "CertifiedPlan",
    "Draw",
    "EveryOutput",
    "GroupedPlan",
    "OptimalRemap",
    "Outcome",
    "Plan",
    "Retry",
    "Situation",
    "WarmStart",
]
