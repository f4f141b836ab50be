"""Answer for one peer: `python -m benchmarks.peers.programs NAME PROBLEM.npz`.

A program names its package, `PACKAGE`, and has a function `works(given)`, which gets ready for the
arrays of the problem and returns what can be done with them, by name.
"""

import importlib
import json
import os
import sys
import time
from importlib import metadata
from typing import Any

import numpy as np


def main(name: str, problem: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a peer prints is no answer

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer, default=lambda value: np.asarray(value).tolist()), file=answers)
        answers.flush()

    program = importlib.import_module(f"benchmarks.peers.programs.{name}")
    with np.load(problem) as arrays:
        given = dict(arrays)
    start = time.perf_counter()
    works = program.works(given)
    ready = time.perf_counter() - start
    version = metadata.version(program.PACKAGE)
    say({"version": version, "works": list(works), "ready": ready})
    for line in sys.stdin:
        work, *arguments = json.loads(line)
        start = time.perf_counter()
        try:
            answer = {"value": works[work](*arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        say({"seconds": time.perf_counter() - start} | answer)


main(*sys.argv[1:])
