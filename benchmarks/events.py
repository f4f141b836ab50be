"""Cost against the length and the width of an event."""

import numpy as np

from benchmarks.measure import report, side_by_side
from priste import AnyPriorOn, Event, Grid, Mobility, PlanarLaplace, pattern, presence, privacy_loss

GRID = Grid(20, 20)
BELIEFS = AnyPriorOn(range(40))


def main() -> None:
    print("Quantification: 400 cells, 40 beliefs, releases up to the event's end")
    mobility = Mobility.gaussian(GRID, 2.0)
    column = PlanarLaplace(GRID, 0.5).emission()[:, 210]

    def quantify(event: Event) -> None:
        privacy_loss(event, mobility, [column] * (event.steps[-1] + 1), prior=BELIEFS)

    lengths = [5, 10, 20, 50, 100, 200]
    widths = [5, 10, 20, 50, 100, 200]
    for name, kind in (
        ("PRESENCE", lambda cells, steps: presence(cells, range(1, steps + 1))),
        ("PATTERN", lambda cells, steps: pattern([cells] * steps, start=1)),
    ):
        times = side_by_side(
            {str(n): lambda n=n, kind=kind: quantify(kind(range(5), n)) for n in lengths}  # type: ignore[misc]
        )
        slope = np.polyfit(np.log(lengths), np.log(list(times.values())), 1)[0]
        shown = ", ".join(f"{n}: {t / times['5']:.1f}" for n, t in times.items())
        report(
            f"{name}, time over that of length 5 ({shown}), fitted exponent",
            f"{slope:.2f}",
            "at most 1.15 (linear)",
            slope <= 1.15,
        )
        times = side_by_side(
            {str(n): lambda n=n, kind=kind: quantify(kind(range(n), 20)) for n in widths}  # type: ignore[misc]
        )
        slope = np.polyfit(np.log(widths), np.log(list(times.values())), 1)[0]
        shown = ", ".join(f"{n}: {t / times['5']:.2f}" for n, t in times.items())
        report(
            f"{name}, time over that of width 5 ({shown}), fitted exponent",
            f"{slope:.2f}",
            "at most 0.1 (flat)",
            slope <= 0.1,
        )
