"""What an observer concludes who learned the person from other days than the model did.

The promise holds for observers who have one of the model's habits. Others have learned something
else, and nothing is promised about them: this computes what it came to.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from priste.errors import CertificateError
from priste.mobility import Mobility
from priste.priors import KnownPrior
from priste.tracks.certificate import Certificate
from priste.tracks.certificate_check import Check, Verdict, check_releases
from priste.tracks.chain import in_order
from priste.tracks.habits import learned
from priste.tracks.held_out import Days, Setting
from priste.tracks.model import Model, fit_model
from priste.tracks.steps import unbroken
from priste.wording import as_odds


def against(
    certificates: Certificate | Iterable[Certificate], model: Model, days: pd.DataFrame
) -> Check:
    """Return what was realised against an observer who learned the person from `days`.

    `days` is a clean track table. The best model of it is fitted on the map of `model`, which the
    certificate was made under, or all certificates of a stream were.
    """
    given = [certificates] if isinstance(certificates, Certificate) else list(certificates)
    if not given:
        raise CertificateError("there is no certificate to hold against anybody")
    chain = given if len(given) == 1 else in_order(given)
    for certificate in chain:
        certificate.refuse_other(model)
    zone = model.time_zone
    other = fit_model(days, step=model.step, place=model.place, time_zone=zone, habits=1)
    (mobility,) = other.mobilities_from(chain[0].clock.start)
    return realised(chain, mobility)


def realised(certificates: Sequence[Certificate], mobility: Mobility) -> Check:
    """Return what releases tell an observer with these habits in mind about each event."""
    protections = {name: each for c in certificates for name, each in c.named()}
    columns = [column for certificate in certificates for column in certificate.columns()]
    prior = KnownPrior(mobility.initial)
    return check_releases(tuple(protections.values()), [mobility], columns, prior)


def learned_from(cells: Sequence[int | None], model: Model) -> Mobility:
    """Return the habits of somebody who saw these very days and nothing else."""
    runs = unbroken(list(cells))
    zeros = [0] * len(runs)  # of one day, without hours
    days = Days(model.place.grid, [run for _, run in runs], zeros, zeros, 1, model.step)
    return learned(days, Setting("local"))


def in_words(verdict: Verdict) -> str:
    """Return what an observer concludes about an event, in words."""
    beyond = "" if verdict.kept else ", beyond ε"
    return (
        f"“{verdict.name}” (ε = {verdict.protection.epsilon:g}): a loss of {verdict.largest:.2f} "
        f"at the worst step{beyond}; odds {as_odds(verdict.before)} before, "
        f"{as_odds(float(verdict.after[-1]))} after the last release"
    )
