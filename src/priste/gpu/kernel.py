"""The compiled program that certifies outputs, on whatever runs it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from priste import worst_case_kernels as kernels
from priste.checks import FAINTEST

FAILS, HOLDS, UNSURE = 0, 1, 2
THREADS = 256
BLOCKS = 1056
"""How many outputs are looked at side by side: eight for each multiprocessor of a large GPU."""

Launch = Callable[..., Any]
"""Takes the arguments of `certify`, the number of blocks first."""

HERE = Path(__file__).parent


def source(margin: float = kernels.MARGIN) -> str:
    """Return the program, with the numbers that it shares with the processor's.

    Pairs of beliefs that are further than a relative `margin` from failing are not looked at; with
    1 all of them are.
    """
    numbers = {
        "FAINTEST": FAINTEST,
        "LEAST": kernels.LEAST,
        "SPREAD": kernels.SPREAD,
        "MARGIN": margin,
    }
    head = "".join(f"#define {name} {value!r}\n" for name, value in numbers.items())
    return head + (HERE / "certify.cu").read_text()


def compiled_for_gpu(cupy: Any, margin: float = kernels.MARGIN) -> Launch:
    """Return the program as CuPy compiles it, see `source`."""
    head = (
        "#define INFINITY __longlong_as_double(0x7ff0000000000000LL)\n"
        "#define INT_MIN (-2147483647 - 1)\n#define INT_MAX 2147483647\n"
        "#define AS_WHOLE(x) ((unsigned long long)__double_as_longlong(x))\n"
    )
    kernel = cupy.RawKernel(head + source(margin), "certify")
    return lambda blocks, *arguments: kernel((blocks,), (THREADS,), arguments)
