"""A whole run of Algorithm 2 beside the matrix products it cannot do without.

These are, for the very run that is timed: the weights of all beliefs times the transition matrix at
each step (one world before the event begins, two from then on), and for each candidate output that
is tested the masses of true and of false times its emission column. The ratio to the first kind
alone is printed too.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.measure import report, side_by_side
from benchmarks.paper_run import EVENT, GRID, STEPS, protector
from priste.worlds import compile_event


def main() -> None:
    print(f"Algorithm 2: {GRID.n_cells} cells, {STEPS} steps, any prior, everything included")
    n, first = GRID.n_cells, min(compile_event(EVENT, GRID.n_cells).moves)
    random = np.random.default_rng(0)
    weights = {worlds: random.random((n * worlds, n)) for worlds in (1, 2)}
    masses, column = random.random((2, n, n)), random.random(n)
    for sigma, budget in [(1.0, 0.5), (3.0, 1.0), (10.0, 2.0)]:
        mobility = protector(sigma, budget, seed=1).mobilities[0]
        path = mobility.sample(STEPS, seed=0).tolist()

        def run(sigma: float = sigma, budget: float = budget, path: list[int] = path) -> int:
            """One stream; the number of candidate outputs that it tested."""
            releases = list(protector(sigma, budget, seed=1).stream(path))
            return sum(r.private.attempts - (r.private.budget == 0) for r in releases)

        transition, candidates = mobility.transition(0), run()

        def products(transition: np.ndarray = transition, candidates: int = candidates) -> None:
            mobility_alone(transition)
            for _ in range(candidates):
                masses[0] @ column, masses[1] @ column

        def mobility_alone(transition: np.ndarray = transition) -> None:
            for step in range(STEPS - 1):
                weights[1 if step < first else 2] @ transition

        works: dict[str, Callable[[], object]] = {
            "run": run,
            "all products": products,
            "mobility products alone": mobility_alone,
        }
        times = side_by_side(works, rounds=9)
        for name in list(works)[1:]:
            ratio = times["run"] / times[name]
            what = f"σ = {sigma}, budget {budget}: run over {name}"
            report(what, f"{ratio:.2f}", "at most 3", ratio <= 3)
