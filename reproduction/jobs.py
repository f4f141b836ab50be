"""Run and audit the streams that are missing from the store, on all cores."""

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
from reproduction.experiments import Experiment, Mode
from reproduction.geolife import prepare
from reproduction.results_store import ResultsStore
from reproduction.settings import METHODS, Dataset, Setting, synthetic
from reproduction.streams import audit_streams, run_streams

_BATCH = {"retry": 20, "every output": 5, "remap": 5}  # runs in one job
_WEIGHT = {"retry": 1, "every output": 5, "remap": 25}  # rough time of one run


class Job(NamedTuple):
    """Some runs of a setting, or (without seeds) its audit."""

    setting: Setting
    seeds: tuple[int, ...] | None

    @property
    def weight(self) -> int:
        """Its rough time, in runs of the published loop."""
        return 20 if self.seeds is None else len(self.seeds) * _WEIGHT[self.setting.method]


def missing_runs(experiments: Iterable[Experiment], store: ResultsStore) -> list[Job]:
    """Return the runs that the store lacks, those of the published loop first."""
    wanted: dict[Setting, int] = {}
    for experiment in experiments:
        for setting in experiment.settings():
            runs = experiment.runs.of(setting.method)
            wanted[setting] = max(wanted.get(setting, 0), runs)
    jobs = []
    for setting, runs in sorted(wanted.items(), key=lambda item: METHODS.index(item[0].method)):
        have, size = {run["seed"] for run in store.record(setting).runs}, _BATCH[setting.method]
        todo = [seed for seed in range(runs) if seed not in have]
        jobs += [Job(setting, tuple(todo[k : k + size])) for k in range(0, len(todo), size)]
    return jobs


def missing_audits(settings: Iterable[Setting], store: ResultsStore, mode: Mode) -> list[Job]:
    """Return the settings whose streams have not been audited as closely as the mode asks."""
    wanted = {"ways": mode.ways, "repeats": mode.repeats}
    jobs = []
    for setting in settings:
        record = store.record(setting)
        known = record.audit and {name: record.audit.get(name) for name in wanted}
        if record.runs and known != wanted:
            jobs.append(Job(setting, None))
    return jobs


def run_jobs(
    jobs: list[Job],
    store: ResultsStore,
    mode: Mode,
    people: Sequence[Path],
    workers: int | None,
    progress: Progress,
) -> None:
    """Run the jobs. Each result is saved at once; an interruption loses only running jobs."""
    total, done = sum(job.weight for job in jobs) or 1, 0
    pool = ProcessPoolExecutor(workers or os.cpu_count(), initializer=_start_worker)
    try:
        running: dict[Future[Any], Job] = {
            pool.submit(_run_job, job, mode, people, _released(job, store, mode)): job
            for job in jobs
        }
        for future in as_completed(running):
            job = running[future]
            save = store.add_audit if job.seeds is None else store.add_runs
            save(job.setting, future.result())
            done += job.weight
            progress(done / total)
    except BaseException:
        for process in active_children():
            process.terminate()  # their jobs are lost anyway
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _released(job: Job, store: ResultsStore, mode: Mode) -> list[list[int]]:
    """Return the streams that an audit follows."""
    if job.seeds is not None:
        return []
    return [run["released"] for run in store.record(job.setting).runs[: mode.audited]]


def _start_worker() -> None:
    """Limit a worker to one thread, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    worst_case.CORES = 1


def _run_job(job: Job, mode: Mode, people: Sequence[Path], released: list[list[int]]) -> Any:
    dataset = _world(job.setting, people, mode.steps)
    if job.seeds is None:
        return audit_streams(job.setting, dataset, released, mode.ways, mode.repeats)
    return run_streams(job.setting, dataset, mode.steps, job.seeds)


def _world(setting: Setting, people: Sequence[Path], steps: int) -> Dataset:
    if not setting.is_geolife:
        return synthetic(setting.sigma, setting.cell)
    return real_world(people[setting.person], setting.place, steps)


real_world = cache(prepare)
"""The dataset of a person's folder, prepared once in each process."""
