"""How much a stream of releases reveals about an event, in plain calls.

`emissions` is one column per step: the probability, from each cell, of what was released then.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from priste.checks import Array, distribution, numbers
from priste.errors import EvidenceError, PriorError
from priste.events import Event
from priste.evidence import EventModel, Evidence, FourVectors
from priste.mobility import Mobility
from priste.priors import AnyPrior, KnownPrior, Prior
from priste.worst_case import Sides, check_sides, worst_case


def prior_probability(event: Event, mobility: Mobility, initial: ArrayLike | None = None) -> float:
    """Return Pr(E) before any release; `initial` defaults to the mobility's own."""
    evidence = _start(event, mobility, initial)
    return float(evidence.a[0])


def prior_odds(event: Event, mobility: Mobility, initial: ArrayLike | None = None) -> float:
    """Return Pr(E) / Pr(¬E) before any release."""
    evidence = _start(event, mobility, initial)
    return _odds(float(evidence.a[0]), float(evidence.not_a[0]))


def joint_probability(
    event: Event,
    mobility: Mobility,
    initial: ArrayLike,
    emissions: Iterable[ArrayLike],
    *,
    log: bool = False,
) -> tuple[float, float]:
    """Return Pr(releases, E) and Pr(releases, ¬E), or their logarithms if `log`.

    Long streams underflow as plain numbers; their logarithms do not.
    """
    now = _start(event, mobility, initial)
    for after in _observed(now, emissions):
        now = after
    vectors, scale = now.four_vectors(), int(now.exponents[0])
    b, d = float(vectors.b[0]), float(vectors.d[0])
    if log:
        shift = scale * math.log(2)
        return tuple(math.log(x) + shift if x > 0 else -math.inf for x in (b, d))  # type: ignore[return-value]
    return math.ldexp(b, scale), math.ldexp(d, scale)


def posterior_odds(
    event: Event,
    mobility: Mobility,
    emissions: Iterable[ArrayLike],
    *,
    initial: ArrayLike | None = None,
) -> Array:
    """Return Pr(E | releases) / Pr(¬E | releases) after each step.

    `initial` defaults to the mobility's own.
    """
    evidence = _start(event, mobility, initial)
    vectors = [_possible(now) for now in _observed(evidence, emissions)]
    return np.array([_odds(float(v.b[0]), float(v.d[0])) for v in vectors])


def privacy_loss(
    event: Event,
    mobility: Mobility,
    emissions: Iterable[ArrayLike],
    *,
    prior: Prior | None = None,
    sides: Sides = "both",
) -> Array:
    """Return the worst loss over the set of beliefs after each step, in nats of odds.

    `prior` is the set of beliefs, `AnyPrior()` if not given.
    """
    check_sides(sides)
    prior = AnyPrior() if prior is None else prior
    evidence = Evidence.start(EventModel(event, mobility), prior).refuse_foregone()
    observed = _observed(evidence, emissions)
    return np.array([worst_case(_possible(now), sides=sides).loss for now in observed])


def _possible(evidence: Evidence) -> FourVectors:
    """Return the four vectors, or raise if what was released is impossible."""
    vectors = evidence.four_vectors()
    if not (vectors.b + vectors.d).any():
        raise EvidenceError(
            f"the release of step {evidence.step} is impossible under this mobility and every "
            f"belief considered, so odds are not defined; check the emissions up to that step"
        )
    return vectors


def _start(event: Event, mobility: Mobility, initial: ArrayLike | None) -> Evidence:
    given = mobility.initial if initial is None else initial
    belief = KnownPrior(distribution(given, "initial", PriorError, size=mobility.n_cells))
    return Evidence.start(EventModel(event, mobility), belief)


def _observed(evidence: Evidence, emissions: Iterable[ArrayLike]) -> Iterator[Evidence]:
    """Yield the evidence after each release."""
    n_cells = evidence.model.mobility.n_cells
    for step, values in enumerate(emissions):
        column = numbers(values, f"the emission column of step {step}", EvidenceError, ndim=1)
        if len(column) != n_cells:
            raise EvidenceError(
                f"the emission column of step {step} must have one entry per cell ({n_cells}), "
                f"got {len(column)}"
            )
        if column.max() > 1 + 1e-9:
            raise EvidenceError(
                f"the emission column of step {step} holds {column.max()} at cell "
                f"{int(column.argmax())}; probabilities lie in [0, 1]"
            )
        evidence = (evidence.advance() if step else evidence).observe(column)
        yield evidence


def _odds(happened: float, failed: float) -> float:
    if failed > 0:
        return happened / failed
    return math.inf if happened > 0 else math.nan
