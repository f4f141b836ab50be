"""The optimal remap for many streams of one setting, each plan computed once."""

from hashlib import sha256
from typing import Any, ClassVar

from priste.calibration import OptimalRemap, Plan, Situation

Plans = dict[bytes, Plan]
"""Plans, by the public situation they were made in."""


class CachedRemap:
    """The optimal remap, with plans reused from earlier streams.

    A plan depends on the public situation and nothing else, and many streams of one setting begin
    alike. The streams of one setting share `plans`.
    """

    is_guarantee: ClassVar[bool] = True

    def __init__(self, plans: Plans, **options: Any) -> None:
        self._plans, self._remap = plans, OptimalRemap(**options)

    def plan(self, situation: Situation) -> Plan:
        """Return the plan of this step, made now or in an earlier stream."""
        digest = sha256(situation.belief.tobytes())
        for evidence in situation.evidence:
            digest.update(evidence.tensor.tobytes() + evidence.exponents.tobytes())
        key = digest.digest()
        if key not in self._plans:
            self._plans[key] = self._remap.plan(situation)
        return self._plans[key]
