"""One point of a curve in a process of its own: `python -m benchmarks.scaling.point NAME SIZE`.

Prints the seconds of one call (processor time of all threads, so that a busy machine matters
little; the best of some calls) and the most megabytes that preparing and doing the work added to
what the process held before, with everything compiled and run once on a small case.
"""

import json
import sys
import time
from pathlib import Path

from benchmarks.scaling.curves import CURVES

LONG_ENOUGH = 0.5  # seconds of calls after which there is no need for another


def main() -> None:
    name, size = sys.argv[1], int(sys.argv[2])
    curve = CURVES[name]
    curve.prepare(curve.smallest)()  # loads the compiled loops
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = megabytes("VmRSS")
    work = curve.prepare(size)
    taken: list[float] = []
    while sum(taken) < LONG_ENOUGH:
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    print(json.dumps([min(taken) / curve.releases, megabytes("VmHWM") - before]))


def megabytes(field: str) -> float:
    """What Linux says of this process: VmRSS is held now, VmHWM the most that was."""
    (line,) = [s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith(field)]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
