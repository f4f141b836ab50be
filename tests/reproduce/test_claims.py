"""Each claim is upheld by results that agree with the paper, and not by results that do not."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from priste.reproduce.claims import CLAIMS, audited
from priste.reproduce.claims.promises import Audited
from priste.reproduce.experiments import FAST, experiments
from priste.reproduce.kept import Kept, Record
from priste.reproduce.settings import Setting
from priste.reproduce.verdicts import NOT, ONLY_IF, REPRODUCED, UNCHECKED, Claim, Results
from tests.reproduce.fakes import filled


def share_of_the_paper(setting: Setting) -> tuple[float, float]:
    """Kept during the event and otherwise: less for loose noise, small ε, strong moves, sets."""
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
        pattern *= 0.6
    return pattern * during, pattern


def error_of_the_paper(setting: Setting) -> float:
    """Loose noise is nearer, except where ε is small."""
    loosest_suffers = 8.0 if setting.alpha >= 3 and setting.epsilon < 0.4 else 0.0
    further = loosest_suffers - setting.decay
    return 8 - min(setting.alpha, 4) - setting.epsilon - 4 * (setting.delta or 0) + further


GROWTH: dict[str, Callable[[int], float]] = {
    "ours": lambda n: 0.01 * n,
    "length": lambda n: 1e-6 * 5.0**n,
    "width": lambda n: 1e-6 * 2.0**n,
    "cells": lambda m: 1e-6 * m,
}


def agreeing(folder: Path) -> Results:
    return filled(
        folder,
        share_of_the_paper,
        error_of_the_paper,
        seconds=GROWTH,
        thresholds=[(30.0, 1.0, 0.1, 4.0), (5.0, 4.0, 0.3, 3.0), (0.0, 0.1, 0.3, 3.0)],
    )


def indifferent(folder: Path, seed: int = 0) -> Results:
    """Nothing depends on anything: there is chance alone."""
    return filled(
        folder,
        lambda _: (0.5, 0.5),
        lambda _: 5.0,
        realised=1.2,
        accounted=1.2,
        seconds={
            "ours": lambda n: 0.01 * n**4,
            "length": lambda n: 1e-6 * n**2,
            "width": lambda n: 1e-6 * n**5,
            "cells": lambda m: 1e-9 * m**3.5,
        },
        thresholds=[(3.0, 2.0, 0.5, 3.0)] * 3,
        spread=0.2,
        seed=seed,
    )


@pytest.fixture(scope="module")
def agreed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return agreeing(tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def chance(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    return [indifferent(tmp_path_factory.mktemp("kept"), seed) for seed in range(10)]


NAMES = [f"{c.where}: {c.text}" for c in CLAIMS]
BY_THE_LOOP_ITSELF = ("V, the sentence", "IV-C and V-A")  # about its account, no comparison
OF_EQUALITY = ("V-C, α, first", "V-C, α, second", "V-C, α (against V-A")  # true if nothing matters


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_a_claim_holds_where_everything_is_as_the_paper_says(claim: Claim, agreed: Results) -> None:
    verdict = claim.judge(agreed)
    if verdict.verdict == UNCHECKED:
        assert "example" in claim.where  # needs settings of the full mode
        return
    assert verdict.verdict in (REPRODUCED, ONLY_IF), verdict
    assert verdict.numbers


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_a_claim_is_not_reproduced_by_chance(claim: Claim, chance: list[Results]) -> None:
    verdicts = Counter(claim.judge(results).verdict for results in chance)
    if claim.where.startswith(BY_THE_LOOP_ITSELF):
        assert REPRODUCED not in verdicts
    elif not claim.where.startswith(OF_EQUALITY):
        assert verdicts[NOT] >= len(chance) - 2, verdicts


def test_without_results_nothing_is_claimed(tmp_path: Path) -> None:
    nothing = Results(
        Kept(tmp_path, FAST.steps, ["somebody"]), tuple(experiments(FAST)), {"geolife": "no data"}
    )
    verdicts = [claim.judge(nothing) for claim in CLAIMS]
    assert {verdict.verdict for verdict in verdicts} == {UNCHECKED}
    assert all(verdict.condition for verdict in verdicts)


def test_claims_about_real_data_are_not_decided_by_made_up_data(tmp_path: Path) -> None:
    all_of_it = agreeing(tmp_path)
    without = [e for e in all_of_it.experiments if not e.is_geolife]
    results = Results(all_of_it.kept, tuple(without), {"geolife": "no data"})
    steeper = next(c for c in CLAIMS if "steep" in c.text)
    verdict = steeper.judge(results)
    assert verdict.verdict == UNCHECKED
    assert verdict.condition.startswith("no data. synthetic")


def test_audits_are_counted_once_per_setting(agreed: Results, chance: list[Results]) -> None:
    kept, broken = audited(agreed, "retry"), audited(chance[0], "retry")
    assert (kept.broken, broken.kept) == (0, 0)
    assert kept.worst == pytest.approx(0.9)
    assert kept.kept == broken.broken > 50


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
    kept = Kept(tmp_path, FAST.steps)
    kept._records[setting] = Record([{"seed": 0}], audit)
    assert audited(Results(kept, (experiment,), {}), setting.method) == found
