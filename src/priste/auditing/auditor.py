"""What an adversary who knows the algorithm really learns.

The audit follows a protector as an algorithm: every sequence of releases that can be seen, with
its true probability from every true path. Where the algorithm has hidden choices (the attempts of
`Retry`), each sequence collects all hidden histories that lead to it. The loss of a sequence is
then that of an observer who knows all this, the worst over the set of beliefs.
"""

from collections.abc import Iterable, Sequence

from priste.auditing.result import Audit
from priste.auditing.walk import LIMIT, Walk, checked_sequence
from priste.checks import whole
from priste.errors import AuditError
from priste.mobility import Mobility
from priste.priors import Prior
from priste.progress import Progress, progress_line
from priste.protector import Protector
from priste.randomness import Seed


def audit(
    protector: Protector,
    steps: int,
    *,
    truth: Mobility | None = None,
    prior: Prior | None = None,
    samples: int | None = None,
    sequences: Iterable[Sequence[int]] | None = None,
    histories: int | None = None,
    limit: int = LIMIT,
    seed: Seed | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Return the realised losses of `protector` over its first `steps` releases.

    Every sequence is followed, which is exact; an audit that would visit more than `limit` hidden
    states is refused. With `samples`, that many sequences are followed instead (half drawn as the
    algorithm would, half by always taking the worst output), and losses are lower bounds.

    With `sequences`, only the given releases are followed, each for `steps` steps; losses are
    lower bounds too. There, `histories` keeps at most that many hidden histories from one step to
    the next, drawn so that probabilities are unbiased. From the first step that had more, losses
    are estimates; the largest over several beliefs errs upwards, so ask again for one belief.

    `truth` asks what would be realised if people moved as it says, and not as the protector
    assumes; `prior` asks about another set of beliefs. The protector itself is not changed.
    """
    steps = whole(steps, "steps", AuditError, least=1)
    limit = whole(limit, "limit", AuditError, least=1)
    if histories is not None:
        whole(histories, "histories", AuditError, least=1)
        if sequences is None:
            raise AuditError(
                "histories= needs sequences=: it limits the hidden histories of given ones"
            )
    models = protector.mobilities if truth is None else (truth,)
    if any(model.n_cells != protector.mobilities[0].n_cells for model in models):
        raise AuditError(
            f"truth has {models[0].n_cells} cells, the protector's mobility "
            f"{protector.mobilities[0].n_cells}; make both for the same map"
        )
    walk = Walk(
        protector,
        models,
        protector.prior if prior is None else prior,
        steps,
        limit,
        progress or progress_line("audit"),
    )
    if sequences is not None:
        walk.follow_these([checked_sequence(s, steps) for s in sequences], histories, seed)
    elif samples is None:
        walk.follow_all()
    else:
        walk.follow_some(whole(samples, "samples", AuditError, least=1), seed)
    about = []
    if truth is not None:
        about.append(f"if people moved as {truth!r}, which is not what the protector assumes")
    if prior is not None:
        about.append(f"for beliefs in {prior!r}, which is not what the protector assumes")
    return walk.result(tuple(about), is_exact=samples is None and sequences is None)
