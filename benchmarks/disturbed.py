"""A job on a Dask cluster whose workers are killed at random: `disturbed[=KILLS[,PERSON_DAYS]]`.

A real scheduler and two workers; a worker is killed every few seconds, the scheduler is restarted
halfway, and a second driver does the same job at the same time. What is released must be, to the
byte, what an undisturbed run releases with the same key.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from benchmarks.many import DAYS, EVENTS, people, population
from benchmarks.measure import report
from priste.tracks import protect_many, save_model

KEY = bytes(range(32))
PARTS = 64


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("disturbed=")]
    kills, days = (*map(int, words[0].split(",")), 2000)[:2] if words else (50, 2000)
    print(f"A Dask cluster with {kills} workers killed: {days:,} person-days")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "events.toml").write_text(EVENTS)
        tables = [table.to_pandas() for table in people(days // DAYS)]
        pd.concat(tables).to_parquet(folder / "people.parquet", index=False)
        model = population()
        save_model(model, folder / "model.npz")
        (folder / "key").write_bytes(KEY)
        given = folder / "people.parquet", model, folder / "events.toml"
        protect_many(*given, folder / "quiet", key=KEY, parts=PARTS)
        with Cluster(folder) as cluster:
            killed = disturbed_run(folder, cluster, kills, 1.5, PARTS)
        quiet, disturbed = (released(folder / name) for name in ("quiet", "disturbed"))
        report("workers killed", f"{killed}", f"at least {kills}", killed >= kills)
        same = quiet == disturbed
        report("files as without a disturbance", str(same), "True", same)
        table = pd.read_parquet(folder / "disturbed" / "released")
        twice = int(table.duplicated(["user", "time"]).sum())
        report("steps released twice", f"{twice}", "0", twice == 0)
        whole = len(table) == len(pd.concat(tables))
        report("steps released", f"{len(table):,}", f"{len(pd.concat(tables)):,}", whole)


def disturbed_run(folder: Path, cluster: "Cluster", kills: int, every: float, parts: int) -> int:
    """Do a job twice at once on a cluster that is disturbed; return how many workers died.

    The folder holds people.parquet, model.npz, events.toml and key.
    """
    command: list[str | Path] = [
        *(sys.executable, "-m", "priste", "protect-many", folder / "people.parquet"),
        *("--model", folder / "model.npz", "--events", folder / "events.toml"),
        *("--out", folder / "disturbed", "--key", folder / "key", "--parts", str(parts)),
        *("--dask", cluster.address),
    ]
    log = (folder / "drivers.log").open("ab")
    drivers = []
    for _ in range(2):
        drivers.append(subprocess.Popen(command, stdout=log, stderr=log))
        time.sleep(1.0)
    killed, restarted = 0, False
    while any(driver.poll() is None for driver in drivers):
        time.sleep(every)
        if killed < kills:
            killed += cluster.kill_one()
        if killed >= kills // 2 and not restarted:
            restarted = True
            cluster.restart_scheduler()
        cluster.mend()
    log.close()
    if any(driver.returncode for driver in drivers):
        raise RuntimeError((folder / "drivers.log").read_text())
    return killed


def released(folder: Path) -> dict[str, bytes]:
    """Return the public files of a job."""
    files = sorted((folder / "released").rglob("*.parquet"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Cluster:
    """A scheduler and two workers, processes of this machine."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._log = (folder / "cluster.log").open("ab")
        self._folder = folder

    def __enter__(self) -> "Cluster":
        self._scheduler = self._start_scheduler()
        self._workers = [self._start_worker() for _ in range(2)]
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._workers, self._scheduler):
            process.kill()
            process.wait()
        self._log.close()

    def kill_one(self) -> bool:
        """Kill a worker, if one is alive."""
        alive = [worker for worker in self._workers if worker.poll() is None]
        if not alive:
            return False
        os.kill(random.choice(alive).pid, signal.SIGKILL)
        return True

    def restart_scheduler(self) -> None:
        """Kill the scheduler and start another, which knows nothing."""
        self._scheduler.kill()
        self._scheduler.wait()
        self._scheduler = self._start_scheduler()

    def mend(self) -> None:
        """Start a worker for each that is dead."""
        for k, worker in enumerate(self._workers):
            if worker.poll() is not None:
                self._workers[k] = self._start_worker()

    def _start_scheduler(self) -> "subprocess.Popen[bytes]":
        where = ("--host", "127.0.0.1", "--port", str(self.port))
        return self._start("dask_scheduler", *where, "--no-dashboard")

    def _start_worker(self) -> "subprocess.Popen[bytes]":
        alone = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        place = ("--local-directory", str(self._folder))
        return self._start("dask_worker", self.address, *alone, *place, "--death-timeout", "10")

    def _start(self, what: str, *words: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", f"distributed.cli.{what}", *words]
        return subprocess.Popen(command, stdout=self._log, stderr=self._log)


if __name__ == "__main__":
    main()
