"""The code of the GPU on this processor: its program in blocks of one thread, NumPy for CuPy.

Arrays of the device are of a type of their own, which refuses to be mixed with others as CuPy's do.
"""

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

from priste.errors import MissingExtraError
from priste.gpu.device import Gpu
from priste.gpu.kernel import HERE, Launch, source


class OnDevice(np.ndarray[Any, Any]):
    """An array of the device."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        if out is not None:
            options["out"] = tuple(map(_here, out))
        found = getattr(ufunc, method)(*map(_here, inputs), **options)
        return out[0] if out is not None else _there(found)

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"{function.__name__} of NumPy does not take arrays of the device")

    def __getitem__(self, index: Any) -> Any:
        return _there(self.view(np.ndarray)[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.view(np.ndarray)[_index(index)] = _here(value)


def _here(value: Any) -> Any:
    if isinstance(value, OnDevice):
        return value.view(np.ndarray)
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("an array of the host is mixed with one of the device")
    return value


def _there(value: Any) -> Any:
    return value.view(OnDevice) if isinstance(value, np.ndarray) else value


def _index(index: Any) -> Any:
    return tuple(map(_here, index)) if isinstance(index, tuple) else _here(index)


class Xp:
    """What is used of CuPy."""

    ndarray = OnDevice
    int8, int32, int64 = np.int8, np.int32, np.int64

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)

        def on_device(*args: Any, **options: Any) -> Any:
            return _there(function(*map(_here, args), **options))

        return on_device

    @staticmethod
    def asarray(array: Any) -> Any:
        return array if isinstance(array, OnDevice) else np.array(array).view(OnDevice)

    @staticmethod
    def asnumpy(array: Any) -> Any:
        return np.array(_here(array))


KINDS = ("stand-in", "a GPU")


@cache
def device_of(kind: str) -> Gpu:
    """Return the GPU, or its code on this processor, for arrays of any size."""
    if kind == "stand-in":
        return Gpu(Xp(), _compiled(), pays_from=0)
    try:
        found = Gpu.found()
    except MissingExtraError as error:
        pytest.skip(str(error))
    found.pays_from = 0
    return found


def _compiled() -> Launch:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler is here to run the program of the GPU with")
    folder = Path(mkdtemp())
    program, library = folder / "certify.cpp", folder / "certify.so"
    program.write_text((HERE / "as_processor.h").read_text() + source())
    flags = ["-O2", "-fno-strict-aliasing", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", str(library), str(program)], check=True)
    certify = ctypes.CDLL(str(library)).certify
    certify.restype = None

    def launch(_blocks: int, *arguments: Any) -> None:
        certify(*map(_as_c, arguments))

    return launch


def _as_c(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, np.float64) else ctypes.c_int(int(value))
