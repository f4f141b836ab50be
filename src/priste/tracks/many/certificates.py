"""The certificates of one person, out of those of many."""

from pathlib import Path

import pyarrow.parquet as pq

from priste.checks import shown
from priste.errors import CertificateError, TrackError
from priste.tracks.many.folder import Job

PUBLIC, FULL = "certificates", "full_certificates"
"""What a part calls them: those that everybody may have, and those that name the events."""


def certificates_of(folder: str | Path, user: str, *, full: bool = False) -> list[str]:
    """Return the text of each certificate of a person, one for every run, the first one first.

    Where events are hidden, only the `full` ones name them: these are private.
    """
    folder = Path(folder)
    if not (folder / "private").is_dir():
        raise TrackError(f"{folder} is not the folder of a job")
    job = Job.open(folder)
    part, found = job.part_of(user), []
    for run in job.runs():
        path = run.part(part) / f"{FULL if full else PUBLIC}.parquet"
        if path.exists():
            rows = pq.read_table(path, filters=[("user", "==", user)])
            found += rows["certificate"].to_pylist()
    if not found:
        raise CertificateError(f"nothing was released of {shown(user)} in {folder}")
    return found
