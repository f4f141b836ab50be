"""Peers get the same work as we do, and none of them is left out of the report."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.paper_run import EPSILON, EVENT
from benchmarks.peers import event_prior, forward, laplace, run, worst_case
from benchmarks.peers.install import Unavailable, python_of, reason
from benchmarks.peers.programs import lifted
from benchmarks.peers.programs.verdicts import verdicts
from benchmarks.peers.roster import PEERS
from benchmarks.peers.talk import Conversation
from docs.peers_table import blocks

from priste import PlanarLaplace
from priste.evidence import FourVectors
from priste.worst_case import is_within


@pytest.mark.parametrize("work", ["one", "every"])
def test_the_lifted_chain_gives_our_joint_probabilities(work: str) -> None:
    given = forward.problem()
    theirs = lifted.forward(given[work], given["lifted"], given["likelihoods"])
    np.testing.assert_allclose(theirs, getattr(forward, work)(), rtol=1e-12, atol=0)


def test_the_chains_of_the_model_checker_give_our_priors() -> None:
    given = event_prior.problem()
    twice = given["twice"].astype(float)
    for _ in range(event_prior.LAST):
        twice = given["product"] @ twice
    ours = event_prior.chances(event_prior.TWICE)
    np.testing.assert_allclose(twice[given["starts"]], ours, rtol=1e-12, atol=0)

    (first, last), region = given["window"], given["region"]
    never = np.ones(len(region))
    for step in range(last, -1, -1):
        never = np.where(region & (step >= first), 0.0, never)
        never = given["transition"] @ never if step else never
    np.testing.assert_allclose(1 - never, event_prior.chances(EVENT), rtol=0, atol=1e-12)


def test_what_solvers_are_given_has_our_verdict() -> None:
    def nowhere_negative(form: Any) -> bool:
        squares = np.diag(form)
        if (squares < 0).any():
            return False
        return bool((form + np.sqrt(np.outer(squares, squares)) >= 0).all())

    def from_factors(side: Any, bound: float) -> bool:
        p, q, beta, delta = side
        form = bound * np.outer(p, delta) - np.outer(beta, q)
        return nowhere_negative((form + form.T) / 2)

    ask = verdicts(worst_case.problem(), nowhere_negative, from_factors)
    seen = set()
    for k, vectors in enumerate(worst_case.instances()):
        some = FourVectors._make(np.ascontiguousarray(vector[::4]) for vector in vectors)
        ours = is_within(some, EPSILON)
        assert ask["whole"](k, 4) == ask["factors"](k, 4) == ours
        seen.add(ours)
    assert seen == {True, False}


def test_a_solver_that_does_not_know_is_not_taken_to_pass() -> None:
    given = {"rows": np.ones((1, 4, 2)), "bound": 2.0}
    answers = iter([None, True, None, False])
    ask = verdicts(given, lambda _: next(answers), lambda _side, _bound: None)
    assert ask["whole"](0, 1) is None
    assert ask["whole"](0, 1) is False


def test_a_program_answers_and_says_what_went_wrong(tmp_path: Path) -> None:
    problem = tmp_path / "problem.npz"
    np.savez(problem, **forward.problem())
    with Conversation(Path(sys.executable), "lifted", problem) as peer:
        assert peer.greeting["version"] == np.__version__
        answer = peer.ask("one")
        np.testing.assert_allclose(answer.value, forward.one(), rtol=1e-12, atol=0)
        assert answer.seconds > 0
        assert peer.ask("one", "too much").error.startswith("TypeError")
        peer._process.kill()
        assert peer.ask("one").error
        assert not peer.ask("one").error  # it was started again


def test_a_program_that_does_not_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(Unavailable, match="No module named 'benchmarks.peers.programs.nobody'"),
        Conversation(Path(sys.executable), "nobody", tmp_path / "problem.npz"),
    ):
        pass


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            "Looking in indexes: https://me:secret@packages.example\n"
            "ERROR: No matching distribution found for qif\n"
            "WARNING: Location '/srv/wheels' is ignored\n[notice] A new release of pip",
            "ERROR: No matching distribution found for qif",
        ),
        (
            "ERROR: Could not install from https://packages.example/x to ~/.venv/x: refused",
            "ERROR: Could not install from (address) to (path): refused",
        ),
        (
            "Traceback\n  File '/home/me/a.py', line 1\nOSError: and/or no '/usr/lib/x.so' there",
            "OSError: and/or no '(path)' there",
        ),
        (
            "ERROR: pool(host='packages.example', port=443) timed out",
            "ERROR: pool((address)) timed out",
        ),
        ("", "it ended without a word"),
    ],
)
def test_reasons_are_short_and_tell_nothing_of_the_machine(output: str, said: str) -> None:
    assert reason(output) == said


def test_a_peer_that_cannot_be_installed_is_reported_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(command: Any, **_: Any) -> Any:
        (tmp_path / "scip").mkdir(exist_ok=True)
        words = f"ERROR: no wheel of {command[-1]} for {tmp_path}"
        return subprocess.CompletedProcess(command, int("pip" in command), words, "")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(Unavailable, match=r"^ERROR: no wheel of numpy for \(path\)$"):
        python_of(PEERS["scip"], tmp_path)
    assert not (tmp_path / "scip").exists()


def test_every_peer_is_compared_and_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: object) -> Path:
        raise Unavailable("ERROR: no such wheel")

    assert run.COMPARISONS.keys() == PEERS.keys()
    monkeypatch.setattr(run, "python_of", refuses)
    results = {"machine": run.machine(), "versions": run.versions()}
    page = blocks(results | {"peers": {name: run.measured(PEERS[name]) for name in PEERS}})
    for name in PEERS:
        for block in ("peers", run.measured(PEERS[name])["comparison"]):
            (line,) = [line for line in page[block] if line.startswith(f"| {name} |")]
            assert "not measured" in line
            assert "no such wheel" in line


def test_the_words_after_the_name_choose_peers_and_file() -> None:
    assert run.asked(["events", "peers"]) == (list(PEERS), run.FILE)
    assert run.asked(["peers=scip,qif,out.json"]) == (["scip", "qif"], Path("out.json"))
    with pytest.raises(SystemExit, match="no such peer: skip; there are cplex, scip"):
        run.asked(["peers=skip"])


def test_noise_by_its_definition_passes_and_squeezed_noise_does_not() -> None:
    moves = laplace.by_definition(20_000, np.random.default_rng(7))
    fair = laplace.law_of_draws("fair", moves)
    assert fair["isotropy"] < 1.1
    assert fair["radius"] < 0.02
    squeezed = laplace.law_of_draws("squeezed", laplace.snapped(moves * [1, 0.7]))
    assert squeezed["isotropy"] > 1.5
    assert squeezed["radius"] > 0.05


def test_our_matrix_keeps_its_law() -> None:
    law = laplace.law_of_matrix("ours", PlanarLaplace(laplace.GRID, laplace.BUDGET).emission())
    assert law["rows"] < 1e-14
    assert law["coordinate"] < 1e-9
    assert law["beyond"] < 1e-9
