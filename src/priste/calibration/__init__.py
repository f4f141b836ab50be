"""How the mechanism of a step is made weak enough for the events to stay secret."""

from priste.calibration.calibration import Calibration, Draw, Outcome, Situation
from priste.calibration.every_output import EveryOutput
from priste.calibration.optimal import OptimalRemap
from priste.calibration.retry import Retry

__all__ = [
    "Calibration",
    "Draw",
    "EveryOutput",
    "OptimalRemap",
    "Outcome",
    "Retry",
    "Situation",
]
