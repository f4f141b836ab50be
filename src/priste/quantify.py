"""How much a stream of releases tells about an event, in plain calls.

`emissions` is one column per step: the probability, from each cell, of what was released then.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from priste.checks import Array, numbers
from priste.errors import EvidenceError
from priste.events import Event
from priste.evidence import EventModel, Evidence
from priste.mobility import Mobility
from priste.priors import AnyPrior, KnownPrior, Prior
from priste.worst_case import Sides, worst_case


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
    initial: ArrayLike | None,
    emissions: Sequence[ArrayLike],
    *,
    log: bool = False,
) -> tuple[float, float]:
    """Return Pr(releases, E) and Pr(releases, ¬E), or their logarithms if `log`.

    Long streams underflow as plain numbers; their logarithms do not.
    """
    start = _start(event, mobility, initial)
    now = deque(_observed(start, emissions), maxlen=1).pop() if len(emissions) else start
    _, _, b, d, exponents = now.four_vectors()
    scale = int(exponents[0]) * math.log(2)
    logs = [math.log(x) + scale if x > 0 else -math.inf for x in (float(b[0]), float(d[0]))]
    with_event, without = logs if log else [math.exp(x) for x in logs]
    return with_event, without


def posterior_odds(
    event: Event, mobility: Mobility, initial: ArrayLike | None, emissions: Sequence[ArrayLike]
) -> Array:
    """Return Pr(E | releases) / Pr(¬E | releases) after each step."""
    evidence = _start(event, mobility, initial)
    vectors = [now.four_vectors() for now in _observed(evidence, emissions)]
    return np.array([_odds(float(v.b[0]), float(v.d[0])) for v in vectors])


def privacy_loss(
    event: Event,
    mobility: Mobility,
    emissions: Sequence[ArrayLike],
    prior: Prior | None = None,
    sides: Sides = "both",
) -> Array:
    """Return the worst loss over the set of beliefs after each step, in nats of odds."""
    prior = AnyPrior() if prior is None else prior
    evidence = Evidence.start(EventModel(event, mobility), prior).refuse_foregone()
    losses = []
    for step, now in enumerate(_observed(evidence, emissions)):
        vectors = now.four_vectors()
        if not (vectors.b + vectors.d).any():
            raise EvidenceError(
                f"the release of step {step} is impossible under this mobility and every belief "
                f"considered, so the loss is not defined; check the emissions of steps 0 to {step}"
            )
        losses.append(worst_case(vectors, sides=sides).loss)
    return np.array(losses)


def _start(event: Event, mobility: Mobility, initial: ArrayLike | None) -> Evidence:
    belief = KnownPrior(mobility.initial if initial is None else initial)
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
