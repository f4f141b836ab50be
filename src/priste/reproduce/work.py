"""All streams of all experiments, on all cores, as far as they are not kept already."""

import os
import signal
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import active_children
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from priste import worst_case
from priste.progress import Progress
from priste.reproduce.experiments import Effort, Experiment
from priste.reproduce.geolife import prepare
from priste.reproduce.kept import Kept
from priste.reproduce.settings import METHODS, Setting, World, synthetic
from priste.reproduce.streams import audit_streams, run_streams

_AT_ONCE = {"retry": 20, "every output": 5, "remap": 5}  # runs a worker does before it reports
_WEIGHT = {"retry": 1, "every output": 5, "remap": 25}  # how long one takes, roughly


class Job(NamedTuple):
    """Some runs of a setting, or (without seeds) its audit."""

    setting: Setting
    seeds: tuple[int, ...] | None

    @property
    def weight(self) -> int:
        """How long it takes, roughly, in runs of the published loop."""
        return 20 if self.seeds is None else len(self.seeds) * _WEIGHT[self.setting.method]


def missing_runs(experiments: Iterable[Experiment], kept: Kept) -> list[Job]:
    """Return the runs that are not kept yet: of the published loop first, then of the others."""
    wanted: dict[Setting, int] = {}
    for experiment in experiments:
        for setting in experiment.settings():
            runs = experiment.runs.of(setting.method)
            wanted[setting] = max(wanted.get(setting, 0), runs)
    jobs = []
    for setting, runs in sorted(wanted.items(), key=lambda item: METHODS.index(item[0].method)):
        have, size = {run["seed"] for run in kept.record(setting).runs}, _AT_ONCE[setting.method]
        todo = [seed for seed in range(runs) if seed not in have]
        jobs += [Job(setting, tuple(todo[k : k + size])) for k in range(0, len(todo), size)]
    return jobs


def missing_audits(settings: Iterable[Setting], kept: Kept, effort: Effort) -> list[Job]:
    """Return the settings whose streams have not been audited, with as much effort."""
    wanted = {"ways": effort.ways, "repeats": effort.repeats}
    jobs = []
    for setting in settings:
        record = kept.record(setting)
        known = record.audit and {name: record.audit.get(name) for name in wanted}
        if record.runs and known != wanted:
            jobs.append(Job(setting, None))
    return jobs


def work_off(
    jobs: list[Job],
    kept: Kept,
    effort: Effort,
    people: Sequence[Path],
    workers: int | None,
    progress: Progress,
) -> None:
    """Do the jobs; what is done is kept at once, and an interruption loses only what is running."""
    total, done = sum(job.weight for job in jobs) or 1, 0
    pool = ProcessPoolExecutor(workers or os.cpu_count(), initializer=_alone)
    try:
        running: dict[Future[Any], Job] = {
            pool.submit(_do, job, effort, people, _released(job, kept, effort)): job for job in jobs
        }
        for future in as_completed(running):
            job = running[future]
            keep = kept.add_audit if job.seeds is None else kept.add
            keep(job.setting, future.result())
            done += job.weight
            progress(done / total)
    except BaseException:
        for process in active_children():
            process.terminate()  # what they are at is lost anyway
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _released(job: Job, kept: Kept, effort: Effort) -> list[list[int]]:
    """Return the streams that an audit follows."""
    if job.seeds is not None:
        return []
    return [run["released"] for run in kept.record(job.setting).runs[: effort.audited]]


def _alone() -> None:
    """Make a worker use one thread, since they are many, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    worst_case.CORES = 1


def _do(job: Job, effort: Effort, people: Sequence[Path], released: list[list[int]]) -> Any:
    world = _world(job.setting, people, effort.steps)
    if job.seeds is None:
        return audit_streams(job.setting, world, released, effort.ways, effort.repeats)
    return run_streams(job.setting, world, effort.steps, job.seeds)


def _world(setting: Setting, people: Sequence[Path], steps: int) -> World:
    if not setting.is_geolife:
        return synthetic(setting.sigma, setting.cell)
    return real_world(people[setting.person], setting.place, steps)


real_world = cache(prepare)
"""The world of a person's folder, prepared once in each process."""
