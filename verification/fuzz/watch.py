"""A reader at work in a process of its own, with a watch on its time and memory."""

import faulthandler
import multiprocessing
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from priste.errors import PristeError
from verification.fuzz.readers import READERS

SECONDS, MEGABYTES = 2.0, 500.0
"""What one input may take, beside what the reader takes anyway."""

_CEILING = 8 * 2**30  # address space that nobody gets beyond, so that the machine survives too
_PATIENCE = 60.0  # by the clock on the wall: others work on this machine too
_FRESH = 1_000  # inputs after which a process begins anew: what stays in memory is no finding


@dataclass
class Tally:
    """What came of many inputs."""

    inputs: int = 0
    accepted: int = 0
    slowest: float = 0.0
    largest: float = 0.0
    """The largest growth of a process, in megabytes."""
    failures: dict[int, str] = field(default_factory=dict)


def watched(name: str, seeds: range, *, mistaken: bool = False) -> Tally:
    """Run a reader on the inputs of `seeds` and return what came of them."""
    READERS[name].warm()
    tally = Tally()
    pending = iter(_portions(seeds))
    portion = next(pending, None)
    while portion:
        done = _portion(name, portion, tally, mistaken)
        portion = portion[done:] or next(pending, None)
    return tally


def _portions(seeds: range) -> Iterator[range]:
    return (seeds[i : i + _FRESH] for i in range(0, len(seeds), _FRESH))


def _portion(name: str, seeds: range, tally: Tally, mistaken: bool) -> int:
    """Run a process on some inputs until it is done or one of them is too much; return how many."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(name, seeds, theirs, mistaken), daemon=True)
    worker.start()
    theirs.close()
    done = 0
    try:
        for seed in seeds:
            done += 1
            tally.inputs += 1
            failure = _outcome(ours, worker, tally)
            if failure:
                tally.failures[seed] = failure
            if not worker.is_alive() or failure in (_SLOW, _LARGE):
                break
    finally:
        worker.kill()
        worker.join()
        ours.close()
    return done


_SLOW, _LARGE = f"took more than {SECONDS:g} s", f"took more than {MEGABYTES:g} MB"


def _outcome(ours: Connection, worker: multiprocessing.process.BaseProcess, tally: Tally) -> str:
    """Wait for what comes of one input; return what is wrong with it, if anything."""
    if not ours.poll(_PATIENCE):
        return _SLOW
    try:
        accepted, problem, seconds, megabytes = ours.recv()
    except EOFError:
        worker.join()
        code = worker.exitcode or 0
        return f"ended its process: {signal.Signals(-code).name if code < 0 else code}"
    tally.accepted += accepted
    tally.slowest = max(tally.slowest, seconds)
    tally.largest = max(tally.largest, megabytes)
    if problem:
        return str(problem)
    return _SLOW if seconds > SECONDS else _LARGE if megabytes > MEGABYTES else ""


def _work(name: str, seeds: range, theirs: Connection, mistaken: bool) -> None:
    """Read inputs one by one and tell what comes of each."""
    warnings.simplefilter("ignore")
    faulthandler.disable()  # the one who waits tells of a crash
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    resource.setrlimit(resource.RLIMIT_AS, (_CEILING, _CEILING))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    reader = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"input{reader.suffix}"
        for seed in seeds:
            path.write_bytes(reader.spoilt(seed))
            before, start = _megabytes(), time.process_time()
            accepted, problem = False, ""
            try:
                if mistaken and seed % 20 == 7:
                    os.kill(os.getpid(), signal.SIGSEGV)
                reader.read(path)
                accepted = True
            except PristeError as error:
                problem = _unfit(str(error))
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                problem = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            seconds = time.process_time() - start
            theirs.send((accepted, problem, seconds, _megabytes() - before))


def _unfit(message: str) -> str:
    """Return what is wrong with a message, if anything: it is short, printable and says why."""
    if "more memory than there is" in message:
        return _LARGE
    lines = message.split("\n")
    fit = len(message) < 2_000 and all(line.isprintable() for line in lines)
    return "" if fit else f"a message of {len(message):,} characters: {message[:40]!r}"


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
