"""The verdict on each claim, from results that support it, contradict it, or are chance alone."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduction.claims import CLAIMS, audited
from reproduction.claims.promises import Audited
from reproduction.experiments import FAST, experiments
from reproduction.results_store import Record, ResultsStore
from reproduction.settings import Setting
from reproduction.verdicts import (
    NOT,
    ONLY_IF,
    REPRODUCED,
    UNCHECKED,
    UNDECIDED,
    Claim,
    Results,
)

from priste.checks import Array
from tests.reproduction.fakes import SPREAD, by_chance, by_rule, filled


def share_of_the_paper(setting: Setting) -> tuple[float, float]:
    """Less is left for loose noise, small ε, strong moves and location sets."""
    pattern = {10.0: 1.0, 3.0: 0.35, 1.0: 0.1}[setting.sigma] if setting.alpha > 0.05 else 1.0
    during = min(1.0, 0.16 / setting.alpha * (setting.epsilon / 0.5) ** 0.7)
    if setting.delta is not None:
        during, pattern = during * 0.9, pattern * (0.999 - 0.1 * setting.delta)
    if setting.event == "both":
        during *= 0.9
    if setting.alpha >= 3:
        during *= 0.1
    during = min(1.0, during * (setting.decay + 0.5))
    if setting.alpha >= 3 and setting.epsilon < 0.4:
        pattern *= 0.9
    return pattern * during, pattern


def error_of_the_paper(setting: Setting) -> float:
    """Loose noise is nearer, except where ε is small; 3- and 5-PLM are alike."""
    loosest_suffers = 8.0 if setting.alpha >= 3 and setting.epsilon < 0.4 else 0.0
    further = loosest_suffers - setting.decay
    return 8 - min(setting.alpha, 3) - setting.epsilon - 4 * (setting.delta or 0) + further


def opposite_share(setting: Setting) -> tuple[float, float]:
    """More is left for strong moves and location sets, and during the event; too little for all."""
    pattern = {10.0: 0.3, 3.0: 0.5, 1.0: 0.8}[setting.sigma]
    noise = 0.5 * min(1.0, 0.25 / setting.alpha**2)
    during = pattern * noise * (1 + 0.2 * setting.epsilon) * (1.2 - setting.decay / 2)
    during *= 1 + (setting.delta or 0) / 2
    return during, 0.8 * during


def opposite_error(setting: Setting) -> float:
    """The looser the noise, the larger ε and δ, and the slower the decay, the farther off."""
    return (2 + setting.alpha) * (1 + setting.epsilon + (setting.delta or 0)) * (1 + setting.decay)


def rising(values: tuple[float, float, float]) -> Callable[[int, str], Array]:
    """Runs of each threshold: `seconds` and `budget` go with the values, others against them."""
    random = np.random.default_rng(1)

    def runs(number: int, name: str) -> Array:
        value = values[number] if name in ("seconds", "budget") else 1 / values[number]
        return np.asarray(value * (1 + SPREAD * random.normal(size=8)))

    return runs


def supporting(folder: Path) -> Results:
    return filled(
        folder,
        by_rule(share_of_the_paper, error_of_the_paper),
        runs=8,
        audit={"realised": 0.9, "to the end": True},
        seconds={
            "ours": lambda n: 0.01 * n,
            "length": lambda n: 1e-6 * 5.0**n,
            "width": lambda n: 1e-6 * 2.0**n,
            "cells": lambda m: 1e-6 * m,
        },
        thresholds=rising((1.0, 2.0, 3.0)),
    )


def contradicting(folder: Path) -> Results:
    return filled(
        folder,
        by_rule(opposite_share, opposite_error),
        runs=8,
        audit={"realised": 1.2, "to the end": True},
        accounted=1.2,
        seconds={
            "ours": lambda n: 0.01 * n**4,
            "length": lambda n: 1e-6 * n**2,
            "width": lambda n: 1e-6 * n**5,
            "cells": lambda m: 1e-9 * m**3.5,
        },
        thresholds=rising((3.0, 2.0, 1.0)),
    )


def meaningless(folder: Path, seed: int) -> Results:
    """Three runs each, and nothing depends on anything."""
    random = np.random.default_rng(seed)

    def anything(_: int) -> float:
        return float(random.lognormal(sigma=10))

    return filled(
        folder,
        by_chance,
        runs=3,
        audit={"realised": 0.9, "to the end": False},
        seconds=dict.fromkeys(("ours", "length", "width", "cells"), anything),
        thresholds=lambda *_: random.lognormal(size=3),
        seed=seed,
    )


@pytest.fixture(scope="module")
def support(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return supporting(tmp_path_factory.mktemp("support"))


@pytest.fixture(scope="module")
def contradiction(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return contradicting(tmp_path_factory.mktemp("contradiction"))


@pytest.fixture(scope="module")
def chance(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    return [meaningless(tmp_path_factory.mktemp("chance"), seed) for seed in range(10)]


every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=[f"{c.where}: {c.text}" for c in CLAIMS])


@every_claim
def test_results_that_support_a_claim_reproduce_it(claim: Claim, support: Results) -> None:
    verdict = claim.judge(support)
    assert verdict.verdict in (REPRODUCED, ONLY_IF), verdict
    assert verdict.numbers


@every_claim
def test_results_that_contradict_a_claim_do_not_reproduce_it(
    claim: Claim, contradiction: Results
) -> None:
    verdict = claim.judge(contradiction)
    assert verdict.verdict == NOT, verdict


@every_claim
def test_chance_decides_nothing(claim: Claim, chance: list[Results]) -> None:
    verdicts = Counter(claim.judge(results).verdict for results in chance)
    assert verdicts[UNDECIDED] >= len(chance) - 2, verdicts


def test_without_results_nothing_is_claimed(tmp_path: Path) -> None:
    nothing = Results(
        ResultsStore(tmp_path, FAST.steps, ["somebody"]),
        tuple(experiments(FAST)),
        {"geolife": "no data"},
    )
    verdicts = [claim.judge(nothing) for claim in CLAIMS]
    assert {verdict.verdict for verdict in verdicts} == {UNCHECKED}
    assert all(verdict.condition for verdict in verdicts)


def test_claims_about_real_data_are_not_decided_by_made_up_data(tmp_path: Path) -> None:
    all_of_it = supporting(tmp_path)
    without = [e for e in all_of_it.experiments if not e.is_geolife]
    results = Results(all_of_it.store, tuple(without), {"geolife": "no data"})
    steeper = next(c for c in CLAIMS if "steep" in c.text)
    verdict = steeper.judge(results)
    assert verdict.verdict == UNCHECKED
    assert verdict.condition.startswith("no data. synthetic")


def test_audits_are_counted_once_per_setting(support: Results, contradiction: Results) -> None:
    held, broken = audited(support, "retry"), audited(contradiction, "retry")
    assert (held.above, broken.within) == (0, 0)
    assert held.worst == pytest.approx(0.9, rel=1e-12)
    assert held.within == broken.above > 50


@pytest.mark.parametrize(
    ("audit", "found"),
    [
        ({"realised": 1.1, "to the end": False}, Audited(1, 0, 0, 0, 1.1)),
        ({"realised": 0.9, "to the end": True}, Audited(0, 0, 1, 0, 0.9)),
        ({"realised": 0.9, "to the end": False}, Audited(0, 0, 0, 1, 0.9)),
        (
            {"realised": 0.9, "to the end": False, "estimate": (1.5, 0.25)},
            Audited(1, 1, 0, 0, 1.25),
        ),
        (
            {"realised": 0.9, "to the end": False, "estimate": (1.5, 0.7)},
            Audited(0, 0, 0, 1, 0.9),
        ),
    ],
)
def test_an_estimate_counts_only_if_all_of_its_interval_is_above(
    audit: dict[str, Any], found: Audited, tmp_path: Path
) -> None:
    experiment = experiments(FAST)[0]
    setting = experiment.settings()[0].but(epsilon=1.0)
    store = ResultsStore(tmp_path, FAST.steps)
    store._records[setting] = Record([{"seed": 0}], audit)
    assert audited(Results(store, (experiment,), {}), setting.method) == found
