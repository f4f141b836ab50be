"""How the mechanism of a step is made weak enough for the events to stay secret."""

from priste.calibration.calibration import Calibration, Draw, Situation
from priste.calibration.retry import Retry

__all__ = ["Calibration", "Draw", "Retry", "Situation"]
