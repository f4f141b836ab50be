"""Whether large arrays are computed on a GPU: only if somebody asks for it, and there is one."""

import warnings
from typing import TYPE_CHECKING, Any

from priste.errors import MissingExtraError, NoGpuWarning

if TYPE_CHECKING:
    from priste.gpu.device import Gpu

ON_DEVICE = "on the device"
"""Where evidence and mechanisms keep what the GPU computed of them, among their attributes."""

_used: "Gpu | None" = None


def use_gpu(use: bool = True) -> bool:
    """Compute large arrays on a GPU from now on, or no longer; tell whether one is used.

    Where there is none, or CuPy is not installed (``pip install 'priste[gpu]'``), a warning says so
    and the processor does the work. Promises are the same either way: what the GPU cannot decide
    beyond rounding, the processor does.
    """
    global _used
    _used = None
    if use:
        try:
            from priste.gpu.device import Gpu

            _used = Gpu.found()
        except MissingExtraError as error:
            warnings.warn(f"no GPU is used: {error}", NoGpuWarning, stacklevel=2)
    return _used is not None


def on_processor(array: Any) -> Any:
    """Return an array here, wherever it is: one that is too small to certify on the GPU, say."""
    return _used.to_host(array) if _used is not None and _used.owns(array) else array


def accelerator(numbers: int) -> "Gpu | None":
    """Return the GPU if one is used and pays for an array of so many numbers."""
    return _used if _used is not None and numbers >= _used.pays_from else None
