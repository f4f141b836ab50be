"""A GPU beside two cores: `gpu[=FILE]`.

The file is an .npz with how real people move: ``transition``, ``initial``, ``rows``, ``columns``.

Any belief on 10,000 cells: certify all outputs of a mechanism, and whole releases of `EveryOutput`;
the certification of 40,000 cells; and verdicts compared one by one with those of the processor.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.measure import report
from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    Mobility,
    NearPrior,
    PlanarLaplace,
    Prior,
    Protect,
    Protector,
    accelerator,
    presence,
    use_gpu,
    worst_case,
)
from priste.accelerator import ON_DEVICE
from priste.dyadic import dyadic_in
from priste.evidence import EventModel, Evidence
from priste.gpu.device import Gpu
from priste.gpu.kernel import HOLDS, UNSURE, compiled_for_gpu
from priste.gpu.noise import snapped_laplace
from priste.worst_case import first_beyond, is_beyond

SIDE, EPSILON = 100, 1.0
SAMPLE = 200
"""How many outputs of a large map the processor certifies; its time for all is computed."""


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("gpu=")]
    print("A GPU, any belief, beside two cores")
    if not use_gpu() or (gpu := accelerator.accelerator(10**12)) is None:
        return
    compare("random", random_instances(), gpu, 10_000)
    if words:
        compare("real", real_instances(Path(words[0])), gpu, 1_000)
    certified(gpu)
    released()
    curve(gpu)


def compare(
    kind: str, instances: Iterator[tuple[Evidence, np.ndarray, float]], gpu: Gpu, wanted: int
) -> None:
    """Compare verdicts on outputs with those of the processor."""
    count = unsure = wrong = broken = 0
    for evidence, columns, epsilon in instances:
        b, d = (gpu.copy_of(columns).T @ mass.T for mass in gpu.masses(evidence))
        found = gpu.verdicts(evidence, b, d, math.exp(epsilon - worst_case.GUARD), True)
        use_gpu(False)
        expected = is_beyond(evidence, columns, epsilon)
        accelerator._used = gpu
        sure = found != UNSURE
        wrong += int(((found == HOLDS) == expected)[sure].sum())
        unsure += int((~sure).sum())
        broken += int(expected.sum())
        count += len(found)
    told = f"{wrong} of {count:,} differ ({broken:,} break the promise, {unsure} left to the other)"
    report(f"{kind} instances", told, f"0 of {wanted:,}", wrong == 0 and count >= wanted)


def random_instances() -> Iterator[tuple[Evidence, np.ndarray, float]]:
    """Small maps, other habits, events and releases each time."""
    for seed in range(600):
        random = np.random.default_rng(seed)
        grid = Grid(*random.integers(2, 9, 2).tolist())
        mobility = Mobility.gaussian(grid, sigma=random.uniform(0.4, 3))
        steps = range(random.integers(0, 3), random.integers(3, 6))
        event = presence([int(random.integers(grid.n_cells - 1))], steps=steps)
        prior: Prior = AnyPrior() if seed % 2 else NearPrior(mobility.initial, 0.1)
        evidence = Evidence.start(EventModel(event, mobility), prior)
        for _ in range(random.integers(0, 6)):
            evidence = evidence.observe(random.random(grid.n_cells) ** random.uniform(0, 2))
            evidence = evidence.advance()
        sharp = random.uniform(0, 2, 24) * random.choice([0.02, 0.3, 1.0])
        yield evidence, np.exp(-sharp * random.random((grid.n_cells, 24))), random.uniform(0.1, 2)


def real_instances(path: Path) -> Iterator[tuple[Evidence, np.ndarray, float]]:
    """A model of real people, and what planar Laplace noise of several budgets could release."""
    real = np.load(path)
    grid = Grid(int(real["rows"]), int(real["columns"]), 0.5)
    mobility = Mobility(real["transition"], real["initial"])
    often = int(np.argmax(mobility.initial))
    event = presence([often], steps=range(2, 6))
    evidence = Evidence.start(EventModel(event, mobility), NearPrior(mobility.initial, 0.1))
    random = np.random.default_rng(0)
    for _ in range(8):
        for budget in (0.02, 0.1, 0.4):
            yield evidence, PlanarLaplace(grid, budget).lottery(), 0.5
        column = PlanarLaplace(grid, 0.05).lottery()[:, random.integers(grid.n_cells)]
        evidence = evidence.observe(np.ascontiguousarray(column)).advance()


def start() -> tuple[Grid, Evidence]:
    """Any belief on a large map, after a step, before an event that comes soon."""
    grid = Grid(SIDE, SIDE, 0.2)
    mobility = Mobility.gaussian(grid, sigma=0.3)
    event = presence(grid.disc(10, 10, radius=0.5), steps=range(2, 5))
    evidence = Evidence.start(EventModel(event, mobility), AnyPrior())
    return grid, evidence.observe(np.ones(grid.n_cells)).advance()


def certified(gpu: Gpu) -> None:
    """Certify all outputs of noise that passes, on both."""
    grid, evidence = start()
    for budget in (0.01, 0.001, 0.0001):
        noise = PlanarLaplace(grid, budget)
        if first_beyond(evidence, noise.to_certify(), EPSILON) is None:
            break
        print(f"    budget {budget} is too much", flush=True)
    lottery = noise.to_certify()
    gpu.masses(evidence)
    taken = [seconds(gpu, lambda: first_beyond(evidence, lottery, EPSILON)) for _ in range(3)]
    joint = [seconds(gpu, lambda: [m @ lottery for m in gpu.masses(evidence)]) for _ in range(3)]
    columns = noise.lottery()[:, :SAMPLE]
    use_gpu(False)
    evidence.masses  # noqa: B018  computed once, and not part of it
    with two_cores():
        first_beyond(evidence, columns[:, :2], EPSILON)
        began = time.perf_counter()
        first_beyond(evidence, columns, EPSILON)
        here = (time.perf_counter() - began) * grid.n_cells / SAMPLE
    accelerator._used = gpu
    told = f"{min(taken):.2f} s, of which products {min(joint):.2f} (two cores: {here:,.0f} s)"
    what = f"{grid.n_cells:,} cells, certify all outputs"
    report(what, told, "under 1 s", min(taken) < 1)
    print(f"    two cores over the GPU: {here / min(taken):,.0f}", flush=True)


def released() -> None:
    """Whole releases of a stream: what is carried on, the plan, the draw and the loss."""
    grid = Grid(SIDE, SIDE, 0.2)
    mobility = Mobility.gaussian(grid, sigma=0.3)
    secret = Protect(presence(grid.disc(10, 10, radius=0.5), steps=range(2, 5)), EPSILON)
    stream = Protector(
        mobility,
        PlanarLaplace(grid, 1.0),
        secret,
        prior=AnyPrior(),
        calibration=EveryOutput(),
        eta=0,
        seed=0,
    )
    times = []
    for cell in (5050, 5051, 4950, 4900):
        began = time.perf_counter()
        release = stream.release(cell)
        times.append(time.perf_counter() - began)
        private = release.private
        print(
            f"    {times[-1]:.2f} s, {private.attempts} candidates, budget {private.budget:.2g}, "
            f"loss {max(private.losses.values()):.4f}",
            flush=True,
        )
    told = f"{max(times[1:]):.2f} s at most, the first {times[0]:.2f}"
    report(f"{grid.n_cells:,} cells, a release", told, "under 3 s", max(times[1:]) < 3)


def curve(gpu: Gpu) -> None:
    """Certify all outputs of ever larger maps."""
    for side in (50, 100, 141, 200):
        taken, told, all_pairs = large_map(gpu, side)
        wanted = 45.0 if side == 200 else math.inf
        what = f"{side * side:,} cells certified"
        report(what, f"{taken:.2f} s, {told}", f"under {wanted:g} s", taken < wanted)
        print(f"    {all_pairs:.2f} s if no pair could be left out", flush=True)
        gpu.xp.get_default_memory_pool().free_all_blocks()


def large_map(gpu: Gpu, side: int) -> tuple[float, str, float]:
    """Return how long a map takes, what is found, and how long all pairs of beliefs would take.

    Evidence and noise are made on the device: an event soon, in the middle, after a step.
    """
    n, xp = side * side, gpu.xp
    line = xp.arange(side) * 1.0
    kernel = xp.exp(-0.5 * ((line[:, None] - line) / 1.5) ** 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    moves = 0.99 * xp.kron(kernel, kernel) + 0.01 / n  # a few may be anywhere
    near = xp.abs(line - side // 2) < 3
    region = (near[:, None] & near).ravel()
    soon = moves @ (moves @ region.astype(float))
    true, false = moves * soon, moves * (1 - soon)
    del moves
    evidence: Any = SimpleNamespace(
        a=gpu.fetched(true.sum(axis=1)),
        not_a=gpu.fetched(false.sum(axis=1)),
        exponents=np.zeros(n, dtype=np.int64),
        model=SimpleNamespace(mobility=SimpleNamespace(n_states=n, n_cells=n)),
    )
    evidence.__dict__[ON_DEVICE] = true, false
    lottery = snapped_laplace(xp, Grid(side, side, 0.2), 0.001)
    if n <= 20_000:  # beyond, rounding to tickets takes more memory than there is
        lottery = dyadic_in(xp, lottery)
    results: list[Any] = []

    def certify() -> None:
        results.append(gpu.doubtful(evidence, lottery, math.e, True, np.arange(n)))

    taken = min(seconds(gpu, certify) for _ in range(2))
    found, doubtful = results[-1]
    told = f"{'all hold' if found is None else 'one fails'}, {len(doubtful)} doubtful"
    b, d = (lottery[:, :1024].T @ mass.T for mass in (true, false))
    unsparing = Gpu(xp, compiled_for_gpu(xp, margin=1.0))
    unsparing.verdicts(evidence, b[:1], d[:1], math.e, True)  # compiled
    every = seconds(gpu, lambda: unsparing.verdicts(evidence, b, d, math.e, True))
    return taken, told, every * n / len(b)


def seconds(gpu: Gpu, work: Any) -> float:
    """The time of a call, until the device has done everything."""
    gpu.xp.cuda.Device().synchronize()
    began = time.perf_counter()
    work()
    gpu.xp.cuda.Device().synchronize()
    return time.perf_counter() - began


class two_cores:
    """This process on two cores."""

    def __enter__(self) -> None:
        self._cores, self._count = os.sched_getaffinity(0), worst_case.CORES
        os.sched_setaffinity(0, set(list(self._cores)[:2]))
        worst_case.CORES = 2

    def __exit__(self, *_: object) -> None:
        os.sched_setaffinity(0, self._cores)
        worst_case.CORES = self._count


if __name__ == "__main__":
    main()
