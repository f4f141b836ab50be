"""A conversation with a peer's program: one question, one timed answer."""

import json
import os
import select
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Self

from benchmarks.peers.install import Unavailable, reason

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds until a silent program is given up
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}


class Answer(NamedTuple):
    seconds: float
    value: Any
    error: str = ""
    """What went wrong, if something did; there is no value then."""


class Conversation:
    """The running program of a peer; use it in a `with` block."""

    def __init__(self, python: Path, name: str, problem: Path) -> None:
        self.name = name
        self._command: list[str | Path] = [python, "-m", "benchmarks.peers.programs", name, problem]

    def __enter__(self) -> Self:
        self._complaints = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
        )
        try:
            self.greeting = self._hear()
        except Unavailable:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, work: str, *arguments: object) -> Answer:
        """Let the peer do a work once; a program that fell silent or ended is started again."""
        assert self._process.stdin
        try:
            print(json.dumps([work, *arguments]), file=self._process.stdin, flush=True)
            heard = self._hear()
        except (Unavailable, BrokenPipeError) as silence:
            self._end()
            self.__enter__()
            return Answer(PATIENCE, None, str(silence))
        error = reason(heard["error"]) if "error" in heard else ""
        return Answer(heard["seconds"], heard.get("value"), error)

    def _hear(self) -> Any:
        out = self._process.stdout
        assert out
        if not select.select([out], [], [], PATIENCE)[0]:
            raise Unavailable(f"it gave no answer within {PATIENCE:g} s")
        line = out.readline()
        if not line:
            self._complaints.seek(0)
            raise Unavailable(f"its program ended: {reason(self._complaints.read())}")
        return json.loads(line)

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()
