"""How far plans, made step by step, are from the best that could be done with a whole stream.

`python -m benchmarks whole_stream[=STEPS[,STREAMS]]`

On three cells, with two habits and an event at the last step, the best mechanism of all is a linear
program: each release may depend on all cells so far, the person's and those that were released, and
whatever is released, every promise is kept at every step. Plans look at the cell of their step
alone, and not ahead. Both lose what is expected if either habit is as likely.
"""

import itertools
import sys
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from priste import EmissionMatrix, KnownPrior, Mobility, OptimalRemap, Protect, Protector, at
from priste.calibration.spending import RESERVE, Spending
from priste.checks import Array

PLACES = np.array([0.0, 1.0, 6.0])
DISTANCES = np.abs(PLACES[:, None] - PLACES)
N, SECRET, EPSILON = len(PLACES), 2, 0.35
WAYS: tuple[Spending, ...] = ("all", "proportional")


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("whole_stream=")]
    steps, streams = (int(n) for n in ((words or ["4,10"])[0] + ",10").split(",")[:2])
    ratios: dict[str, list[float]] = {way: [] for way in WAYS}
    for seed in range(streams):
        habits = random_habits(seed)
        least = best_loss(habits, steps)
        for way in WAYS:
            ratios[way].append(loss_of_plans(habits, steps, way) / least)
    print(f"Whole stream: the loss of plans over the least possible, {steps} steps, ε = {EPSILON}")
    for way in WAYS:
        found = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios[way]))
        print(f"  spending {way}: {np.mean(ratios[way]):.2f} in the mean ({found})")


def random_habits(seed: int) -> list[Mobility]:
    """Return two ways to move, one more often at rest, that begin alike."""
    random = np.random.default_rng(seed)
    start = random.dirichlet(np.ones(N))
    return [
        Mobility((1 - stay) * random.dirichlet(np.full(N, 0.5), N) + stay * np.eye(N), start)
        for stay in (0.7, 0.9)
    ]


def loss_of_plans(habits: Sequence[Mobility], steps: int, spending: Spending) -> float:
    """Return the expected sum of distances of plans, over all that may be released."""
    guard = Protector(
        habits,
        EmissionMatrix(np.eye(N)),
        Protect(at({SECRET}, steps - 1), EPSILON),
        prior=KnownPrior(habits[0].initial),
        calibration=OptimalRemap(DISTANCES, spending=spending),
    )
    pending = [(0, guard.beginning(), [habit.initial for habit in habits])]
    loss = 0.0
    while pending:
        step, state, weights = pending.pop()
        now = state.arrive()
        plan = guard.calibration.plan(now.situation())
        for outcome in plan.outcomes():
            there = [weight * outcome.likelihood for weight in weights]
            loss += float(np.mean(there, axis=0) @ DISTANCES[:, outcome.output])
            if step + 1 < steps and np.sum(there) > 1e-9:
                moved = [w @ habit.transition(step) for w, habit in zip(there, habits, strict=True)]
                pending.append((step + 1, now.observe(outcome.column, None), moved))
    return loss


def best_loss(habits: Sequence[Mobility], steps: int) -> float:
    """Return the least expected sum of distances of any mechanism for the whole stream.

    Its variables are Pr(releases | cells), up to each step, by cells and then by releases. They sum
    to those of the step before, whatever the last cell: nobody knows where they will be.
    """
    sizes = [N ** (2 * t) for t in range(1, steps + 1)]
    begin = np.concatenate([[0], np.cumsum(sizes)])
    moves = [np.asarray(habit.transition(0)) for habit in habits]
    prior = [
        float((habit.initial @ np.linalg.matrix_power(move, steps - 1))[SECRET])
        for habit, move in zip(habits, moves, strict=True)
    ]
    cost: Array = np.zeros(begin[-1])
    equal, promises = [], []
    for t in range(1, steps + 1):
        tracks = np.array(list(itertools.product(range(N), repeat=t)))
        n, here = len(tracks), slice(begin[t - 1], begin[t])
        chances = [
            habit.initial[tracks[:, 0]] * move[tracks[:, :-1], tracks[:, 1:]].prod(axis=1)
            for habit, move in zip(habits, moves, strict=True)
        ]
        last = DISTANCES[np.ix_(tracks[:, -1], tracks[:, -1])]
        cost[here] = (np.mean(chances, axis=0)[:, None] * last).ravel()
        sums = sparse.kron(sparse.eye_array(n), np.kron(np.eye(n // N), np.ones(N)))
        before = sparse.kron(np.kron(np.eye(n // N), np.ones((N, 1))), sparse.eye_array(n // N))
        equal.append({t - 1: sums, t - 2: -before} if t > 1 else {0: sums})
        for chance, move, a in zip(chances, moves, prior, strict=True):
            ends = np.linalg.matrix_power(move, steps - t)[tracks[:, -1], SECRET]
            true, false = chance * ends / a, chance * (1 - ends) / (1 - a)
            for one, other in ((true, false), (false, true)):
                line = one - np.exp((1 - RESERVE) * EPSILON) * other
                promises.append({t - 1: sparse.kron(line[None], sparse.eye_array(n))})
    given = np.zeros(sum(N ** (2 * t - 1) for t in range(1, steps + 1)))
    given[:N] = 1
    lines, sums = _placed(promises, sizes), _placed(equal, sizes)
    none = np.zeros(lines.shape[0])
    found = linprog(cost, lines, none, sums, given, bounds=(0, 1), method="highs-ipm")
    if not found.success:
        raise RuntimeError(found.message)
    return float(found.fun)


def _placed(rows: list[dict[int, sparse.sparray]], sizes: Sequence[int]) -> sparse.csr_array:
    """Return a matrix of rows of blocks, each block in the columns of its step."""
    filled = []
    for row in rows:
        height = next(iter(row.values())).shape[0]
        none = [sparse.csr_array((height, size)) for size in sizes]
        filled.append([row.get(step, empty) for step, empty in enumerate(none)])
    return sparse.block_array(filled, format="csr")
