"""Timing that survives a noisy machine: interleaved repeats, medians, ratios."""

import statistics
import time
from collections.abc import Callable
from typing import Any


def seconds(work: Callable[[], Any], repeats: int = 1) -> float:
    """The time of one call, averaged over `repeats`."""
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - start) / repeats


def side_by_side(
    works: dict[str, Callable[[], Any]], rounds: int = 5, repeats: int = 1
) -> dict[str, float]:
    """The median time of each, measured in turn so that a slow moment hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()  # compiled and warm
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work, repeats))
    return {name: statistics.median(values) for name, values in times.items()}


def spread(ratios: list[float]) -> str:
    """Median, smallest and largest, for reading."""
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    return f"{middle:,.1f} (from {low:,.1f} to {high:,.1f})"


def report(what: str, found: str, wanted: str, reached: bool) -> None:
    """Print one line of results."""
    print(f"  {'reached' if reached else 'MISSED '}  {what}: {found}; wanted {wanted}", flush=True)
