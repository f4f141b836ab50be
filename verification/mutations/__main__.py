"""Try the mutants of all modules, or of those named: `python -m verification.mutations dyadic`.

`sample=60` tries that many of each module, `lines=17,51` those of some lines, `processes=2` so many
at once. The exit status is 1 if a mutant survives that is not known to be equivalent.
"""

import os
import random
import sys
import time
import tomllib
from importlib.util import find_spec
from pathlib import Path

from verification.mutations import MODULES

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
ANYTHING = "*"


def main(words: list[str]) -> int:
    """Try mutants and return the exit status."""
    if find_spec("cosmic_ray") is None:
        print("mutants are made by cosmic-ray, which is not installed: pip install cosmic-ray")
        return 2
    options = dict(word.split("=", 1) for word in words if "=" in word)
    names = [word for word in words if "=" not in word]
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        print(f"there is no module {unknown[0]!r}; there are {', '.join(MODULES)}")
        return 2
    import_libraries()
    sample = int(options["sample"]) if "sample" in options else None
    lines = {int(number) for number in options.get("lines", "").split(",") if number}
    processes = int(options.get("processes", 1))
    return int(sum(survive(name, sample, lines, processes) for name in names or MODULES) > 0)


def import_libraries() -> None:
    """Import what every mutant needs, once, and without the compiler."""
    os.environ.update(NUMBA_DISABLE_JIT="1", OPENBLAS_NUM_THREADS="1")
    import highspy  # noqa: F401
    import mpmath  # noqa: F401
    import numba  # noqa: F401
    import numpy.testing  # noqa: F401
    import scipy.optimize
    import scipy.sparse
    import scipy.stats  # noqa: F401
    import threadpoolctl  # noqa: F401


def survive(name: str, sample: int | None, lines: set[int], processes: int) -> int:
    """Try the mutants of a module and tell how many survive."""
    from verification.mutations.operators import mutants
    from verification.mutations.trial import quick_tests, source_of, survivors

    start = time.monotonic()
    known = [
        (entry["line"], entry["becomes"])
        for entry in tomllib.loads(EQUIVALENT.read_text()).get("equivalent", [])
        if entry["module"] == name
    ]
    everyone = mutants(name, source_of(name))
    chosen = [m for m in everyone if m.number in lines] if lines else everyone
    if sample is not None and sample < len(chosen):
        chosen = random.Random(0).sample(chosen, sample)
    equivalent = [m for m in chosen if (m.line, m.becomes) in known or (m.line, ANYTHING) in known]
    tried = [m for m in chosen if m not in equivalent]
    tests, left_out = quick_tests([f"tests/{file}" for file in MODULES[name]])
    for test in sorted({test.partition("[")[0] for test in left_out}):
        print(f"  left out (slow in plain Python): {test}", flush=True)
    alive = []
    for mutant in survivors(tried, tests, processes):
        alive.append(mutant)
        print(f"  SURVIVES {mutant}", flush=True)
    print(
        f"{name}: {len(everyone)} mutants, {len(equivalent)} of {len(chosen)} equivalent, "
        f"{len(tried) - len(alive)} of {len(tried)} noticed by {len(tests)} tests, "
        f"{time.monotonic() - start:.0f} s",
        flush=True,
    )
    return len(alive)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
