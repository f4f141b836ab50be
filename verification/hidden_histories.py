"""Where hidden histories of a sequence are sampled, each is kept as often as its weight requires.

Then probabilities are unbiased, whatever the histories and the beliefs: a history that is kept
with probability p must count 1/p times. Sequences of the published loop are thinned out again and
again; how often each history is kept is counted and compared with the weight that it was given.
"""

from collections.abc import Iterator

import numpy as np
from reproduction.streams import estimated, followed
from scipy.stats import binom
from tests.oracles import all_histories, loop_of_many_histories

from priste import (
    AnyPrior,
    Exponential,
    Grid,
    KnownPrior,
    Mobility,
    Protect,
    Protector,
    Retry,
    audit,
    presence,
)
from priste.auditing.histories import History, Seen
from priste.checks import Array
from verification.report import Finding, times
from verification.statistics import ALARM, shown, surprise

MISTAKE = "histories that are kept weigh as much as before"
SEQUENCES = ((2, 2), (3, 1, 2))
HISTORIES, REPEATS, STEPS = 8, 6, 4


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Thin out two sequences, to few histories and to more; then estimate losses of streams."""
    yield from counted(effort, mistaken=mistaken)
    if not mistaken:
        yield estimates(times(200, effort))


def estimates(cases: int) -> Finding:
    """Compare intervals for the loss of released streams with the loss over all histories."""
    random = np.random.default_rng(8)
    above = below = seen = 0
    while seen < cases:
        line = Grid(1, int(random.integers(4, 8)))
        mobility = Mobility.gaussian(line, float(random.uniform(1, 4)))
        loop = Protector(
            mobility,
            Exponential(line, float(random.uniform(0.5, 3))),
            Protect(presence({0, 1}, [1, 2, 3]), float(random.choice([0.1, 0.2, 0.4]))),
            calibration=Retry(),
            seed=int(random.integers(10**9)),
            prior=AnyPrior(),
        )
        path = mobility.sample(STEPS, seed=int(random.integers(10**9))).tolist()
        released = [release.cell for release in loop.stream(path)]
        found = followed(loop, released, STEPS, HISTORIES)
        step = int(np.argmax(found.realised))
        if step < found.n_exact or found.worst.is_limit:
            continue  # nothing is estimated
        mean, half = estimated(loop, found, released, HISTORIES, REPEATS)
        exact = audit(
            loop, step + 1, sequences=[released], prior=KnownPrior(found.worst.belief)
        ).worst
        rises, truly = (np.log(o[1] / o[0]) for o in (found.worst.odds[step], exact.odds[step]))
        loss = np.sign(rises) * truly
        above, below, seen = above + (mean - half > loss), below + (mean + half < loss), seen + 1
    said = f"{seen} streams, the 99 % interval lies above the loss in {above}, below it in {below}"
    p = float(binom.sf(above - 1, seen, 0.025))
    return Finding("the loss over all histories", f"{said}, {shown(p)}", p >= ALARM)


def counted(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Count how often each history is kept, against the weight it is given."""
    loop, random = loop_of_many_histories(), np.random.default_rng(7)
    for sequence in SEQUENCES:
        seen = all_histories(loop, sequence)
        for histories in (3, 12):
            draws = times(10_000, effort)
            counts, weights = stays(seen, histories, draws, random)
            if mistaken:
                weights = np.minimum(weights, 1.0)
            drawn = counts > 0
            p = surprise(counts[drawn], 1 / weights[drawn], draws)
            said = f"{draws:,} draws of {histories}, {drawn.sum()} histories kept, {shown(p)}"
            yield Finding(f"{len(seen.histories)} histories of {sequence}", said, p >= ALARM)
            never, left = (
                int((~drawn).sum()),
                max(histories - float((1 / weights[drawn]).sum()), 0.0),
            )
            p = max(1 - left / max(never, 1), 0.0) ** draws  # the likeliest of them is never kept
            said = f"{never} never kept, {left:.1e} of them expected per draw, {shown(p)}"
            yield Finding("and the rest are that rare", said, p >= ALARM)


def stays(
    seen: Seen, histories: int, draws: int, random: np.random.Generator
) -> tuple[np.ndarray, Array]:
    """Return how often each history was kept, and the weight it was given then."""
    number = {id(history.state): k for k, history in enumerate(seen.histories)}
    counts, weights = np.zeros(len(seen.histories), dtype=np.int64), np.ones(len(seen.histories))
    for _ in range(draws):
        for history in seen.thinned(histories, random).histories:
            k = number[id(history.state)]
            counts[k] += 1
            weights[k] = mass(history) / mass(seen.histories[k])
    return counts, weights


def mass(history: History) -> float:
    """Return the probability of a history under the likeliest belief."""
    vectors = history.truth[0].four_vectors()
    return float(np.ldexp(vectors.b + vectors.d, vectors.exponents).max())
