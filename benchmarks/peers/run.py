"""All peers, one after the other, and the file their results are kept in."""

import datetime
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers import event_prior, forward, laplace, worst_case
from benchmarks.peers.compare import Found
from benchmarks.peers.install import Unavailable, python_of
from benchmarks.peers.roster import PEERS, Peer
from benchmarks.peers.talk import ROOT, Conversation

FILE = ROOT / "docs" / "data" / "peers.json"
COMPARISONS: dict[str, Any] = {
    "cplex": worst_case,
    "scip": worst_case,
    "gurobi": worst_case,
    "lifted": forward,
    "hmmlearn": forward,
    "dynamax": forward,
    "stormpy": event_prior,
    "privkit": laplace,
    "qif": laplace,
}


def main() -> None:
    names, file = asked(sys.argv[1:])
    print(f"Peers: {', '.join(names)}")
    results = earlier(file)
    for name in names:
        results["peers"][name] = found = measured(PEERS[name])
        show(found)
        file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def asked(words: list[str]) -> tuple[list[str], Path]:
    """Return the peers to measure and the file to keep the results in."""
    given = [part for w in words if w.startswith("peers=") for part in w[6:].split(",")]
    files = [Path(part) for part in given if part.endswith(".json")]
    names = [part for part in given if not part.endswith(".json")]
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise SystemExit(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}")
    return names or list(PEERS), files[0] if files else FILE


def earlier(file: Path) -> dict[str, Any]:
    """Return what the file holds of other peers, if it was measured on the same ground."""
    ground = {"machine": machine(), "versions": versions()}
    fresh: dict[str, Any] = ground | {"peers": {}}
    if not file.exists():
        return fresh
    kept: dict[str, Any] = json.loads(file.read_text())
    if {key: kept.get(key) for key in ground} == ground:
        return kept
    print("  the numbers kept are of another machine or other versions; they are replaced")
    return fresh


def measured(peer: Peer) -> dict[str, Any]:
    """Return all about one peer, or why it could not be measured."""
    comparison = COMPARISONS[peer.name]
    about: dict[str, Any] = {
        "comparison": comparison.__name__.rpartition(".")[2],
        "what": peer.what,
        "remark": peer.remark,
        "date": datetime.date.today().isoformat(),
    }
    try:
        python = python_of(peer)
        with tempfile.TemporaryDirectory() as folder, one_thread():
            problem = Path(folder) / "problem.npz"
            np.savez(problem, **comparison.problem())
            with Conversation(python, peer.name, problem) as conversation:
                about["version"] = conversation.greeting["version"]
                about["ready"] = conversation.greeting["ready"]
                found: Found = comparison.compare(conversation)
    except Unavailable as error:
        return about | {"unavailable": str(error)}
    return about | found._asdict()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep this process and those it starts on one core, where the system can."""
    with threadpool_limits(1):
        if not hasattr(os, "sched_setaffinity"):
            yield
            return
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(cores)})
        try:
            yield
        finally:
            os.sched_setaffinity(0, cores)


def machine() -> dict[str, Any]:
    """Return what decides about speed, and nothing that tells whose machine it is."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (OSError, StopIteration, ValueError):
        processor, memory = platform.processor(), 0.0
    return {
        "processor": processor or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    packages = ("priste", "numpy", "scipy", "numba")
    return {"python": platform.python_version()} | {p: metadata.version(p) for p in packages}


def show(found: dict[str, Any]) -> None:
    print(f"  {found['what']} {found.get('version', '')}")
    if "unavailable" in found:
        print(f"    not measured: {found['unavailable']}", flush=True)
        return
    for row in found["rows"]:
        speed = "no time"
        if "ratio" in row:
            least, ratio = "at least " if row["at_least"] else "", row["ratio"]
            speed = f"{least}{ratio['median']:,.3g} times our time"
            speed += f" ({ratio['min']:,.3g} to {ratio['max']:,.3g})"
        print(f"    {row['work']}: {speed}; {row['agreement']}", flush=True)
    for law in found["laws"]:
        print(f"    {law}")
