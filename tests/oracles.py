"""The slow, obvious twin of everything: enumeration, the paper's formulas, high precision."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import mpmath
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from priste.auditing.histories import History, Seen
from priste.calibration import Retry
from priste.checks import Array
from priste.events import AllOf, AnyOf, At, AtLeast, Event, Not, presence
from priste.evidence import FourVectors
from priste.grid import Grid
from priste.mechanisms import Exponential
from priste.mobility import Mobility
from priste.priors import AnyPrior
from priste.protection import Protect
from priste.protector import Protector
from priste.stream import PublicState

# --- enumeration of all trajectories ----------------------------------------------------------


@functools.cache
def all_paths(n_cells: int, n_steps: int) -> Any:
    return np.array(list(itertools.product(range(n_cells), repeat=n_steps)))


def truths(event: Event, paths: Any) -> Any:
    """Whether the event holds, for each path (row)."""
    match event:
        case At(cells, step):
            return np.isin(paths[:, step], cells)
        case AllOf(events):
            return np.all([truths(e, paths) for e in events], axis=0)
        case AnyOf(events):
            return np.any([truths(e, paths) for e in events], axis=0)
        case AtLeast(k, events):
            return np.sum([truths(e, paths) for e in events], axis=0) >= k
        case Not(inner):
            return ~truths(inner, paths)
    raise AssertionError(event)


def path_probabilities(paths: Any, transitions: Sequence[Array], initial: Array) -> Array:
    probability = np.asarray(initial)[paths[:, 0]]
    for t in range(paths.shape[1] - 1):
        probability = probability * transitions[t][paths[:, t], paths[:, t + 1]]
    return np.asarray(probability)


def joints_by_enumeration(
    event: Event, transitions: Sequence[Array], initial: Array, emissions: Sequence[Array]
) -> list[tuple[float, float]]:
    """Pr(releases, E) and Pr(releases, ¬E) after 0, 1, 2, ... releases, over every trajectory."""
    n_steps = max(len(emissions), event.steps[-1] + 1)
    paths = all_paths(len(initial), n_steps)
    weight = path_probabilities(paths, transitions, initial)
    holds = truths(event, paths)
    joints = []
    for t in range(len(emissions) + 1):
        joints.append((float(weight[holds].sum()), float(weight[~holds].sum())))
        if t < len(emissions):
            weight = weight * np.asarray(emissions[t])[paths[:, t]]
    return joints


def joint_by_enumeration(
    event: Event, transitions: Sequence[Array], initial: Array, emissions: Sequence[Array]
) -> tuple[float, float]:
    """Pr(releases, E) and Pr(releases, ¬E), summed over every trajectory."""
    return joints_by_enumeration(event, transitions, initial, emissions)[-1]


def naive_pattern_joint(
    transition: Array,
    before_start: Array,
    columns: Sequence[Array],
    regions: Sequence[Sequence[int]],
) -> float:
    """Algorithm 4 of the paper's appendix: the joint probability of a PATTERN, path by path.

    `before_start` is the distribution one step before the pattern; one column and one region per
    step of the pattern.
    """
    total = 0.0
    arriving = before_start @ transition
    for trajectory in itertools.product(*regions):
        probability = arriving[trajectory[0]] * columns[0][trajectory[0]]
        for t in range(1, len(trajectory)):
            probability *= transition[trajectory[t - 1], trajectory[t]]
            probability *= columns[t][trajectory[t]]
        total += probability
    return float(total)


# --- the paper's two worlds, with its matrices of 2m × 2m ---------------------------------------


def two_world_prior(
    transition: Array,
    initial: Array,
    regions: Mapping[int, Sequence[int]],
    *,
    kind: str,
    literal: bool,
) -> float:
    """Lemma III.1 with the matrices of the paper; `regions` by step, 1-based, consecutive.

    With `literal` the PATTERN matrix of step t uses the region of step t, as eq. (new-M-3) is
    printed; otherwise that of the arrival step t + 1.
    """
    m = len(initial)
    start, end = min(regions), max(regions)
    zero = np.zeros((m, m))

    def inside(step: int) -> Array:
        return np.diag(np.isin(np.arange(m), regions[step]).astype(float))

    state = np.concatenate([initial, np.zeros(m)])
    for t in range(1, end):
        if t < start - 1:
            blocks = [[transition, zero], [zero, transition]]
        elif kind == "presence" or t == start - 1:
            entering = transition @ inside(t + 1)
            blocks = [[transition - entering, entering], [zero, transition]]
        else:
            staying = transition @ inside(t if literal else t + 1)
            blocks = [[transition, zero], [transition - staying, staying]]
        state = state @ np.block(blocks)
    return float(state[m:].sum())


# --- a protector as an algorithm ---------------------------------------------------------------


def sequence_probabilities(
    protector: Protector, path: Sequence[int]
) -> dict[tuple[int, ...], float]:
    """Pr(sequence of releases | true path), over all hidden histories the algorithm can take."""
    found: dict[tuple[int, ...], float] = {}

    def follow(state: PublicState, sequence: tuple[int, ...], probability: float) -> None:
        if len(sequence) == len(path):
            found[sequence] = found.get(sequence, 0.0) + probability
            return
        now = state.arrive()
        plan = protector.calibration.plan(now.situation())
        for outcome in plan.outcomes():
            chance = float(outcome.likelihood[path[len(sequence)]])
            if chance > 0:
                follow(
                    now.observe(outcome.column, plan.warm_start),
                    (*sequence, outcome.output),
                    probability * chance,
                )

    follow(protector.beginning(), (), 1.0)
    return found


def realised_by_enumeration(
    protector: Protector,
    protection: Protect,
    steps: int,
    vertices: Array,
    mobility: Mobility | None = None,
) -> float:
    """The worst two-sided loss after `steps` releases: all paths, all sequences, all edges."""
    event = protection.event
    n_steps = max(steps, event.steps[-1] + 1)
    paths = all_paths(vertices.shape[1], n_steps)
    holds = truths(event, paths)
    model = protector.mobilities[0] if mobility is None else mobility
    transitions = [model.transition(t) for t in range(n_steps)]
    weights = np.array([path_probabilities(paths, transitions, vertex) for vertex in vertices])
    seen = {
        p: sequence_probabilities(protector, p) for p in {tuple(q[:steps]) for q in paths.tolist()}
    }
    a, not_a = weights[:, holds].sum(axis=1), weights[:, ~holds].sum(axis=1)
    worst = -np.inf
    for sequence in {s for found in seen.values() for s in found}:
        likely = np.array([seen[tuple(path[:steps])].get(sequence, 0.0) for path in paths.tolist()])
        b = (weights * likely)[:, holds].sum(axis=1)
        d = (weights * likely)[:, ~holds].sum(axis=1)
        worst = max(worst, rising_loss_over_edges(a, not_a, b, d))
        if protection.sides == "both":
            worst = max(worst, rising_loss_over_edges(not_a, a, d, b))
    return worst


# --- the worst belief --------------------------------------------------------------------------


def loss_of(prior: Array, a: Array, not_a: Array, b: Array, d: Array) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log((prior @ b) / (prior @ a)) - np.log((prior @ d) / (prior @ not_a)))


def condition_over_all_pairs(a: Array, not_a: Array, b: Array, d: Array, bound: float) -> bool:
    """Tell whether the form of Theorem IV.1, with E = `bound`, is copositive: pair by pair."""
    form = bound * (np.outer(a, d) + np.outer(d, a)) - np.outer(b, not_a) - np.outer(not_a, b)
    squares = np.diag(form) / 2
    if (squares < 0).any():
        return False
    return bool((form + 2 * np.sqrt(np.outer(squares, squares)) >= 0).all())


def condition_in_integers(
    vectors: FourVectors, epsilon: float, *, sides: Literal["both", "event"] = "both"
) -> bool:
    """Tell whether no belief loses more than `epsilon`: every pair, in whole numbers only.

    e^ε is rounded to 200 binary digits, far beyond what any test here can tell apart.
    """
    with mpmath.workprec(400):
        bound = int(mpmath.floor(mpmath.exp(mpmath.mpf(epsilon)) * 2**200))
    lowest = min(0, int(vectors.exponents.min()))
    shift = 1200 - lowest  # every float is a whole multiple of 2^-1074

    def whole(value: float, exponent: int) -> int:
        top, bottom = float(value).as_integer_ratio()
        scaled = Fraction(top, bottom) * Fraction(2) ** (shift + exponent)
        assert scaled.denominator == 1
        return scaled.numerator

    orders = vectors.exponents.tolist()
    a = [whole(x, lowest) for x in vectors.a]
    not_a = [whole(x, lowest) for x in vectors.not_a]
    b = [whole(x, e) for x, e in zip(vectors.b, orders, strict=True)]
    d = [whole(x, e) for x, e in zip(vectors.d, orders, strict=True)]
    turned = [(a, not_a, b, d), (not_a, a, d, b)]
    return all(_form_is_copositive(*rows, bound) for rows in turned[: 2 if sides == "both" else 1])


def _form_is_copositive(
    a: list[int], not_a: list[int], b: list[int], d: list[int], bound: int
) -> bool:
    """Tell whether the form of Theorem IV.1, times 2 · 2^200, is copositive: pair by pair."""

    def form(i: int, j: int) -> int:
        return bound * (a[i] * d[j] + d[i] * a[j]) - (b[i] * not_a[j] + not_a[i] * b[j] << 200)

    squares = [form(i, i) for i in range(len(a))]
    if min(squares) < 0:
        return False
    for i in range(len(a)):
        for j in range(i):
            mixed = form(i, j)
            if mixed < 0 and mixed * mixed > squares[i] * squares[j]:
                return False
    return True


def four_vectors_in_fractions(
    cells: set[int], steps: set[int], transitions: list[list[list[Fraction]]], columns: list[Array]
) -> FourVectors:
    """The four vectors of a presence after all columns, for every point mass; then as floats.

    Forward through all states "cell, and whether it happened yet"; `transitions` are exact.
    """
    n, last = len(columns[0]), max(steps)
    rows = []
    for start in range(n):
        prior = _visit(start, cells, steps, transitions, [], last)
        after = _visit(start, cells, steps, transitions, columns, max(last, len(columns) - 1))
        rows.append((*prior, *after))
    a, not_a, b, d = (list(part) for part in zip(*rows, strict=True))
    orders = [_order(x + y) for x, y in zip(b, d, strict=True)]
    scale = [Fraction(2) ** -e for e in orders]
    return FourVectors(
        np.array([float(x) for x in a]),
        np.array([float(x) for x in not_a]),
        np.array([float(x * s) for x, s in zip(b, scale, strict=True)]),
        np.array([float(x * s) for x, s in zip(d, scale, strict=True)]),
        np.array(orders, dtype=np.int64),
    )


def _visit(
    start: int,
    cells: set[int],
    steps: set[int],
    transitions: list[list[list[Fraction]]],
    columns: list[Array],
    last: int,
) -> tuple[Fraction, Fraction]:
    """Pr(columns, presence) and Pr(columns, no presence) from one cell."""
    weights = {(start, False): Fraction(1)}
    for t in range(last + 1):
        read: dict[tuple[int, bool], Fraction] = {}
        for (cell, happened), weight in weights.items():
            state = cell, happened or (t in steps and cell in cells)
            seen = Fraction(float(columns[t][cell])) if t < len(columns) else Fraction(1)
            read[state] = read.get(state, Fraction(0)) + weight * seen
        weights = read
        if t < last:
            moved: dict[tuple[int, bool], Fraction] = {}
            for (cell, happened), weight in weights.items():
                for there, chance in enumerate(transitions[t][cell]):
                    if chance:
                        key = there, happened
                        moved[key] = moved.get(key, Fraction(0)) + weight * chance
            weights = moved
    true = sum((w for (_, h), w in weights.items() if h), Fraction(0))
    return true, sum((w for (_, h), w in weights.items() if not h), Fraction(0))


def _order(value: Fraction) -> int:
    """The binary order of a fraction, to within one."""
    return value.numerator.bit_length() - value.denominator.bit_length() if value else 0


def rising_loss_over_edges(a: Array, not_a: Array, b: Array, d: Array) -> float:
    """The largest log of (b/a)/(d/not_a) over mixtures of two rows: a fine grid, then refined.

    Weights run over 800 orders of magnitude, in logarithms throughout.
    """
    with np.errstate(divide="ignore"):
        logs = [np.log(np.asarray(x, dtype=float)) for x in (a, not_a, b, d)]

    def loss(i: int, j: int, log_w: Any) -> Any:
        la, ln, lb, ld = (np.logaddexp(x[i], x[j] + log_w) for x in logs)
        with np.errstate(invalid="ignore"):
            value = (lb - la) - (ld - ln)
        return np.where(np.isnan(value), -np.inf, value)

    best = -np.inf
    for i in range(len(a)):
        if 0 < a[i] < 1 and b[i] + d[i] > 0:
            best = max(best, float(loss(i, i, 0.0)))
        for j in range(i + 1, len(a)):
            center, width = 0.0, 920.0
            for _ in range(14):
                grid = np.linspace(center - width, center + width, 401)
                values = loss(i, j, grid)
                best = max(best, float(values.max()))
                center, width = float(grid[values.argmax()]), width / 50
    return best


def _mp_edge_loss(rows: Any, i: int, j: int) -> Any:
    (ai, ni, bi, di), (aj, nj, bj, dj) = rows[i], rows[j]
    kappa, tau = bj * di - bi * dj, aj * ni - ai * nj
    square = kappa * aj * nj - tau * bj * dj
    linear = kappa * (ai * nj + aj * ni) - tau * (bi * dj + bj * di)
    constant = kappa * ai * ni - tau * bi * di
    weights = [mpmath.mpf(0)]
    if square != 0 and linear**2 >= 4 * square * constant:
        root = mpmath.sqrt(linear**2 - 4 * square * constant)
        weights += [
            w for w in ((-linear + root) / (2 * square), (-linear - root) / (2 * square)) if w > 0
        ]
    losses = [
        mpmath.log((bi + w * bj) / (ai + w * aj)) - mpmath.log((di + w * dj) / (ni + w * nj))
        for w in weights
    ]
    return max(losses)


def mp_worst_loss(rows: Any) -> Any:
    """The two-sided worst loss of rows (a, not_a, b, d), all positive, in mpmath."""
    mirrored = [(n, a, d, b) for a, n, b, d in rows]
    return max(
        _mp_edge_loss(side, i, j)
        for side in (rows, mirrored)
        for i in range(len(rows))
        for j in range(len(rows))
    )


def mp_presence_losses(
    mobility: Mobility,
    cells: Sequence[int],
    steps: Sequence[int],
    emissions: Any,
    at: Sequence[int],
) -> list[float]:
    """The losses of a PRESENCE event after the steps `at`, any belief, in 60 digits."""
    with mpmath.workdps(60):
        m = mobility.n_cells
        one, zero = mpmath.mpf(1), mpmath.mpf(0)
        matrix = [[mpmath.mpf(float(x)) for x in row] for row in mobility.transition(0)]
        last = max(steps)
        # chance[t][k][j]: the event ends true from world k (1: happened) and cell j after step t
        chance = {last: [[zero] * m, [one] * m]}
        for t in range(last - 1, -1, -1):
            after = chance[t + 1]
            world = [1 if t + 1 in steps and j in cells else 0 for j in range(m)]
            miss = [sum(matrix[i][j] * after[world[j]][j] for j in range(m)) for i in range(m)]
            chance[t] = [miss, [one] * m]
        weights = [[[zero] * m, [zero] * m] for _ in range(m)]
        for i in range(m):
            weights[i][1 if 0 in steps and i in cells else 0][i] = one
        a = [chance[0][0 if not (0 in steps and i in cells) else 1][i] for i in range(m)]
        losses = []
        for t, column in enumerate(emissions):
            if t:
                for i in range(m):
                    moved = [
                        [sum(w[x] * matrix[x][j] for x in range(m)) for j in range(m)]
                        for w in weights[i]
                    ]
                    if t in steps:
                        for j in cells:
                            moved[1][j] += moved[0][j]
                            moved[0][j] = zero
                    weights[i] = moved
            exact = [mpmath.mpf(float(x)) for x in column]
            weights = [
                [[x * e for x, e in zip(w, exact, strict=True)] for w in ws] for ws in weights
            ]
            if t in at:
                table = chance[min(t, last)]
                rows = []
                for i in range(m):
                    b = sum(weights[i][k][j] * table[k][j] for k in (0, 1) for j in range(m))
                    d = sum(weights[i][k][j] * (1 - table[k][j]) for k in (0, 1) for j in range(m))
                    rows.append((a[i], 1 - a[i], b, d))
                losses.append(float(mp_worst_loss(rows)))
        return losses


# --- a released track, from nothing but what is published ---------------------------------------


def presence_vectors(
    cells: Sequence[int],
    steps: Sequence[int],
    transitions: Sequence[Array],
    columns: Sequence[Array],
) -> tuple[Array, Array, Array, Array]:
    """The four vectors of a presence, per cell at the start, backwards from the last column.

    Columns are divided by their largest entry, which changes no odds. The transitions recur.
    """
    n = len(transitions[0])
    inside = np.zeros(n, dtype=bool)
    inside[list(cells)] = True
    silent = [np.ones(n)] * (max(max(steps) + 1 - len(columns), 0))
    told = [*(np.asarray(c) / np.max(c) for c in columns), *silent]

    def backwards(seen: Sequence[Array]) -> tuple[Array, Array]:
        yes, no, done = np.zeros(n), np.ones(n), np.ones(n)  # done: it has happened already
        for t in range(len(seen) - 1, -1, -1):
            if t < len(seen) - 1:
                move = transitions[t % len(transitions)]
                yes, no, done = move @ yes, move @ no, move @ done
            if t in steps:
                yes, no = np.where(inside, done, yes), np.where(inside, 0.0, no)
            yes, no, done = seen[t] * yes, seen[t] * no, seen[t] * done
        return yes, no

    return *backwards([np.ones(n)] * len(told)), *backwards(told)


def largest_loss_of_a_first_release(
    event: Event, transition: Array, vertices: Array, emission: Array
) -> float:
    """The loss of the worst output of a first release, over all paths and edges."""
    a, not_a = np.array([joint_by_enumeration(event, [transition], v, []) for v in vertices]).T
    losses = []
    for column in emission.T[emission.any(axis=0)]:
        joint = [joint_by_enumeration(event, [transition], v, [column]) for v in vertices]
        b, d = np.array(joint).T
        losses.append(rising_loss_over_edges(a, not_a, b, d))
        losses.append(rising_loss_over_edges(not_a, a, d, b))
    return max(losses)


# --- the best remap -----------------------------------------------------------------------------


def best_remap_loss(
    cost: Array, cuts: Sequence[Array], charged: Sequence[Array] = (), price: float = 0.0
) -> float:
    """The least of sum(cost * Q) over stochastic Q whose columns keep every cut: all at once.

    What charged lines give above zero, for each column, is paid for.
    """
    n, m = cost.shape
    lines, n_paid = [*cuts, *charged], m * len(charged)
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.vstack([sparse.kron(line[None, :], sparse.eye_array(m)) for line in lines])
    eased = sparse.vstack([sparse.csr_array((m * len(cuts), n_paid)), -sparse.eye_array(n_paid)])
    result = linprog(
        np.append(cost.ravel(), np.full(n_paid, price)),
        A_ub=sparse.hstack([columns, eased]),
        b_ub=np.zeros(m * len(lines)),
        A_eq=sparse.hstack([rows, sparse.csr_array((n, n_paid))]),
        b_eq=np.ones(n),
    )
    assert result.status == 0, result.message
    return float(result.fun)


def loop_of_many_histories() -> Protector:
    """The published loop on a line of five cells: sequences have many hidden histories."""
    line = Grid(1, 5)
    return Protector(
        Mobility.gaussian(line, sigma=2.0),
        Exponential(line, 2.0),
        Protect(presence({0}, [1, 2]), 0.3),
        calibration=Retry(decay=0.7),
        prior=AnyPrior(),
    )


def all_histories(protector: Protector, sequence: tuple[int, ...]) -> Seen:
    """All hidden histories in which a protector comes to a sequence of releases."""
    beginning = protector.beginning()
    histories = [History(beginning, beginning.evidence)]
    for output in sequence:
        after = []
        for history in histories:
            state = history.state.arrive()
            truth = history.truth if state.step == 0 else tuple(e.advance() for e in history.truth)
            plan = protector.calibration.plan(state.situation())
            for outcome in plan.outcomes():
                if outcome.output == output:
                    likely = tuple(e.observe(outcome.likelihood) for e in truth)
                    after.append(History(state.observe(outcome.column, plan.warm_start), likely))
        histories = after
    return Seen(sequence, histories)
