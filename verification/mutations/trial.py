"""Try mutants: each in a process of its own, in memory, on the tests of its module.

The parent has imported the libraries once and forks for each mutant. Compiled functions run as
plain Python (`NUMBA_DISABLE_JIT`), so that no mutant is compiled. Before any mutant the tests run
on the module as it is; those that take long in plain Python, or need the compiler, are left out.
The quickest run first, and then those that noticed most mutants for the time they take.
"""

import contextlib
import importlib.abc
import importlib.util
import math
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest

from verification.mutations.operators import Mutant

EXAMPLES = (8, 40)
"""How many examples a property is tried on, and again for the mutants that survive."""

SLOWEST = 3.0
"""Seconds of the processor that a test may take to be run at all, and half of what stops it."""

_FORK = multiprocessing.get_context("fork")


class InMemory(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module in a text instead of its file."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source

    def find_spec(
        self,
        fullname: str,
        path: object = None,  # noqa: ARG002
        target: object = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return a spec for the module, and for no other."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Run the text."""
        exec(compile(self.source, f"<mutant of {self.name}>", "exec"), module.__dict__)


class Quickly:
    """A plugin: few examples of each property, and a test that takes long is stopped."""

    def __init__(self, examples: int) -> None:
        self.examples = examples
        self.seconds: dict[str, float] = {}
        self.left_out: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Take few examples, and no time to make them smaller."""
        for item in items:
            if getattr(item.obj, "is_hypothesis_test", False):
                settings = item.obj._hypothesis_internal_use_settings
                item.obj._hypothesis_internal_use_settings = hypothesis.settings(
                    settings,
                    max_examples=min(settings.max_examples, self.examples),
                    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
                )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Stop a test that takes long: as it is it is left out, with a mutant it has failed."""
        if item.nodeid.partition("[")[0] in {test.partition("[")[0] for test in self.left_out}:
            pytest.skip("it was too slow with other parameters")
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, 2 * SLOWEST, 0.5)  # again if somebody tries again
        start = time.process_time()
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.seconds[item.nodeid] = time.process_time() - start
            if self.seconds[item.nodeid] > SLOWEST:
                self.left_out.append(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which tests do not pass."""
        if report.failed and report.nodeid not in self.left_out:
            self.left_out.append(report.nodeid)


def _stop(*_: object) -> None:
    raise TimeoutError(f"a test took more than {2 * SLOWEST:g} s")


def quick_tests(files: Sequence[str]) -> tuple[dict[str, float], list[str]]:
    """Return the tests that pass quickly with their seconds, the quickest first, and the others."""
    here, there = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_measure, args=(list(files), there))
    process.start()
    there.close()
    seconds, left_out = here.recv()
    process.join()
    return dict(sorted(seconds.items(), key=lambda pair: pair[1])), left_out


def _measure(files: list[str], answer: Connection) -> None:
    plugin = Quickly(EXAMPLES[-1])
    _run(files, [plugin])
    left_out = plugin.left_out
    quick = {test: took for test, took in plugin.seconds.items() if test not in left_out}
    answer.send((quick, left_out))


def _ldexp(
    mantissa: float, exponent: int, exact: Callable[[float, int], float] = math.ldexp
) -> float:
    return exact(mantissa, int(exponent))


def _run(tests: list[str], plugins: list[object], *options: str) -> int:
    math.ldexp = _ldexp  # type: ignore[assignment]  # compiled code takes numpy's integers
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
        plain = ["-q", "--assert=plain", "-p", "no:cacheprovider", *options]
        return int(pytest.main([*plain, *tests], plugins))


def _try(mutant: Mutant, tests: list[str], examples: int, answer: Connection) -> None:
    sys.meta_path.insert(0, InMemory(f"priste.{mutant.module.replace('/', '.')}", mutant.source))
    plugin = Quickly(examples)
    status = _run(tests, [plugin], "-x")
    answer.send(plugin.left_out[:1])
    os._exit(status)


def survivors(
    mutants: Sequence[Mutant], tests: dict[str, float], processes: int
) -> Iterator[Mutant]:
    """Yield the mutants that no test notices."""
    few, many = EXAMPLES
    doubtful = list(_survivors(mutants, tests, processes, few))
    yield from _survivors(doubtful, tests, processes, many)


def _survivors(
    mutants: Sequence[Mutant], tests: dict[str, float], processes: int, examples: int
) -> Iterator[Mutant]:
    """Yield mutants as they survive. What never ends is noticed."""
    limit = 60 + 10 * sum(tests.values())  # by the clock, which others use too
    pending = list(reversed(mutants))
    running: dict[int, tuple[ForkProcess, Connection, Mutant, float]] = {}
    noticed: Counter[str] = Counter()  # how many mutants each test noticed
    while pending or running:
        while pending and len(running) < processes:
            mutant = pending.pop()
            order = sorted(tests, key=lambda test: -noticed[test] / (0.05 + tests[test]))
            here, there = _FORK.Pipe(duplex=False)
            process = _FORK.Process(target=_try, args=(mutant, order, examples, there))
            process.start()
            there.close()
            running[process.sentinel] = process, here, mutant, time.monotonic() + limit
        wait(list(running), timeout=1.0)
        for sentinel, (process, here, mutant, deadline) in list(running.items()):
            if process.is_alive() and time.monotonic() > deadline:
                process.kill()
                process.join()
            if not process.is_alive():
                process.join()
                del running[sentinel]
                with here, contextlib.suppress(EOFError):  # it may have ended without a word
                    noticed.update(here.recv())
                if process.exitcode == 0:
                    yield mutant


def source_of(module: str) -> str:
    """Return the text of a module of the package."""
    return (Path("src/priste") / f"{module}.py").read_text()
