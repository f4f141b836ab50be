"""Each claim is upheld by results that agree with the paper, and not by results that do not."""

from pathlib import Path

import pytest

from priste.reproduce.claims import CLAIMS, audited
from priste.reproduce.experiments import FAST
from priste.reproduce.kept import Kept
from priste.reproduce.settings import Setting
from priste.reproduce.verdicts import NOT, ONLY_IF, REPRODUCED, UNCHECKED, Claim, Results
from tests.reproduce.fakes import filled


def share_of_the_paper(setting: Setting) -> tuple[float, float]:
    pattern = {10.0: 1.0, 3.0: 0.3, 1.0: 0.1}[setting.sigma]
    during = min(1.0, 0.16 / setting.alpha * (setting.epsilon / 0.5) ** 0.7)
    if setting.delta is not None:
        during, pattern = during * 0.9, pattern * (1 - 0.3 * setting.delta)
    if setting.event == "both":
        during *= 0.3
    return pattern * during, pattern


def error_of_the_paper(setting: Setting) -> float:
    loosest_suffers = 3.0 if setting.alpha >= 3 and setting.epsilon < 0.4 else 0.0
    return 6 - min(setting.alpha, 4) - setting.epsilon - (setting.delta or 0) + loosest_suffers


def agreeing(folder: Path) -> Results:
    return filled(
        folder,
        share_of_the_paper,
        error_of_the_paper,
        realised=0.9,
        seconds={
            "ours": lambda n: 0.01 * n,
            "length": lambda n: 1e-6 * 5.0**n,
            "width": lambda n: 1e-6 * 2.0**n,
        },
        thresholds=[(30.0, 1.0, 0.1), (5.0, 4.0, 0.3), (0.0, 0.1, 0.3)],
    )


def disagreeing(folder: Path) -> Results:
    return filled(
        folder,
        lambda s: (min(1.0, 0.5 + s.alpha / 20), 0.2 + 0.1 / s.epsilon / s.sigma + (s.delta or 0)),
        lambda s: 1 + s.alpha + s.epsilon + (s.delta or 0),
        realised=1.2,
        seconds={
            "ours": lambda n: 0.01 * n**4,
            "length": lambda n: 1e-6 * n**2,
            "width": lambda n: 1e-6 * n**5,
        },
        thresholds=[(3.0, 2.0, 0.5), (5.0, 1.0, 0.3), (0.0, 0.1, 0.3)],
        spread=lambda s: 0.001 / s.alpha,
    )


def naive(folder: Path) -> Results:
    """As one would think before reading: more budget is always better, by as much."""
    return filled(
        folder,
        lambda _: (1.0, 1.0),
        lambda s: 6 - s.alpha,
        realised=1.2,
        seconds=dict.fromkeys(("ours", "length", "width"), float),
        thresholds=[(3.0, 2.0, 0.5)] * 3,
    )


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    return [make(tmp_path_factory.mktemp("kept")) for make in (agreeing, disagreeing, naive)]


@pytest.mark.parametrize("claim", CLAIMS, ids=[f"{c.where}: {c.text}" for c in CLAIMS])
def test_a_claim_can_hold_and_can_fail(claim: Claim, worlds: list[Results]) -> None:
    good, *others = (claim.judge(results) for results in worlds)
    if good.verdict == UNCHECKED:
        assert "example" in claim.where  # needs settings of the full mode
        return
    assert good.verdict in (REPRODUCED, ONLY_IF), good
    assert good.numbers
    assert {other.verdict for other in others} - {good.verdict}, others
    if good.verdict == ONLY_IF:
        assert NOT in {other.verdict for other in others}


def test_without_results_nothing_is_claimed(tmp_path: Path) -> None:
    nothing = Results(Kept(tmp_path, FAST.steps), {"geolife": "no data"})
    verdicts = [claim.judge(nothing) for claim in CLAIMS]
    assert {verdict.verdict for verdict in verdicts} == {UNCHECKED}
    assert all(verdict.condition for verdict in verdicts)


def test_audits_are_counted_once_per_setting(worlds: list[Results]) -> None:
    kept, broken = (audited(results, "retry") for results in worlds[:2])
    assert kept.broken == 0
    assert kept.worst == pytest.approx(0.9)
    assert broken.broken == broken.settings == kept.settings > 50
