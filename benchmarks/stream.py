"""A whole run of Algorithm 2 beside the matrix products it cannot do without."""

import numpy as np

from benchmarks.measure import report, side_by_side
from benchmarks.paper_run import EVENT, GRID, STEPS, protector
from priste.worlds import compile_event


def main() -> None:
    print(f"Algorithm 2: {GRID.n_cells} cells, {STEPS} steps, any prior, everything included")
    for sigma, budget in [(1.0, 0.5), (3.0, 1.0), (10.0, 2.0)]:
        guard = protector(sigma, budget, seed=0)
        transition = guard.mobilities[0].transition(0)
        path = guard.mobilities[0].sample(STEPS, seed=0).tolist()
        worlds = compile_event(EVENT, GRID.n_cells)
        n, first = GRID.n_cells, min(worlds.moves)
        weights = {k: np.random.default_rng(0).random((n * k, n)) for k in (1, 2)}

        def run(sigma: float = sigma, budget: float = budget, path: list[int] = path) -> None:
            for _ in protector(sigma, budget, seed=1).stream(path):
                pass

        def products(
            transition: np.ndarray = transition,
            weights: dict[int, np.ndarray] = weights,
            first: int = first,
        ) -> None:
            for step in range(STEPS - 1):
                weights[1 if step < first else 2] @ transition

        times = side_by_side({"run": run, "products": products}, rounds=9)
        ratio = times["run"] / times["products"]
        report(
            f"σ = {sigma}, budget {budget}: run over products",
            f"{ratio:.2f}",
            "at most 3",
            ratio <= 3,
        )
