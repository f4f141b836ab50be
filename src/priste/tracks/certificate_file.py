"""A certificate as JSON, and back."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from priste.checks import Array, is_whole, positive, shown
from priste.dyadic import TICKETS
from priste.errors import CertificateError
from priste.events import Withheld
from priste.grid import Grid
from priste.protection import Protect
from priste.storage import event_json, plain_json
from priste.storage.atomic_files import atomic_file
from priste.storage.limits import MAX_MARKUP_BYTES, content_of, refusing
from priste.tracks.adversary import Adversary
from priste.tracks.certificate import Certificate
from priste.tracks.link import Link, Standing
from priste.tracks.names import checked
from priste.tracks.places import LocalMap
from priste.tracks.recipe import Recipe
from priste.tracks.steps import Clock

FORMAT = 5


def save_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate as JSON: the whole file or none."""
    with atomic_file(path) as partial:
        partial.write_text(to_text(certificate), encoding="utf-8")


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate back."""
    path = Path(path)
    text = content_of(path, MAX_MARKUP_BYTES, CertificateError)
    with refusing(f"{path.name} is not a certificate", CertificateError):
        content = plain_json.parsed(text, CertificateError)
    if not isinstance(content, dict) or "certificate" not in content:
        raise CertificateError(f"{path.name} is not a certificate")
    if content["certificate"] != FORMAT:
        raise CertificateError(
            f"{path.name} is a certificate of format {shown(content['certificate'])}; this version "
            f"reads format {FORMAT}, so use the version of priste that wrote it"
        )
    with refusing(f"{path.name} does not hold a certificate", CertificateError):
        certificate = _from_json(content)
    object.__setattr__(certificate, "file_digest", hashlib.sha256(text).hexdigest())
    return certificate


def digest_of(certificate: Certificate) -> str:
    """Return the SHA-256 of the file of a certificate: read from it, or yet to be written."""
    own = to_text(certificate).encode() if not certificate.file_digest else b""
    return certificate.file_digest or hashlib.sha256(own).hexdigest()


def to_text(certificate: Certificate) -> str:
    """Return a certificate as JSON, one line for each release."""
    content = to_json(certificate)
    releases = [json.dumps(release) for release in content.pop("releases")]
    head = json.dumps(content, ensure_ascii=False, indent=1)[: -len("\n}")]
    return head + ',\n "releases": [\n  ' + ",\n  ".join(releases) + "\n ]\n}\n"


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain values."""
    place, clock = certificate.place, certificate.clock
    protections: list[dict[str, Any]] = [
        {"name": name, "epsilon": p.epsilon, "sides": p.sides} for name, p in certificate.named()
    ]
    if not certificate.withholds_events:
        shown_events = zip(protections, certificate.protections, certificate.largest, strict=True)
        for entry, protection, largest in shown_events:
            entry |= {"largest_loss": largest, "event": event_json.to_json(protection.event)}
    link = certificate.link
    for entry, standing in zip(protections, link.standings if link else (), strict=False):
        left = entry["epsilon"] - standing.activation - standing.merging
        entry |= {"standing": asdict(standing), "left": left}
    return {
        "certificate": FORMAT,
        "protections": protections,
        "adversary": certificate.adversary.kind,
        "rho": certificate.adversary.rho,
        "mechanism": certificate.mechanism.to_json(),
        "calibration": certificate.calibration.to_json(),
        "map": {
            "rows": place.grid.rows,
            "columns": place.grid.columns,
            "cell_size_km": place.grid.cell_size,
            "elsewhere": place.grid.elsewhere,
            "latitude": place.latitude,
            "longitude": place.longitude,
        },
        "time_zone": certificate.time_zone,
        "start": clock.start.isoformat(),
        "step_seconds": clock.length.total_seconds(),
        "steps": certificate.n_steps,
        "stream": None if link is None else _link_json(link, certificate.steps),
        "model": certificate.model,
        "habits": certificate.habits,
        "caveats": list(certificate.caveats),
        "made_by": certificate.made_by,
        "created": certificate.created,
        "meaning": list(certificate.sentences()),
        "releases": [
            {"step": step, "cell": cell} | ({} if column is None else {"tickets": _tickets(column)})
            for step, (cell, column) in certificate.releases.items()
        ],
    }


def _from_json(content: dict[str, Any]) -> Certificate:
    area = content["map"]
    grid = Grid(area["rows"], area["columns"], area["cell_size_km"], area["elsewhere"])
    place = LocalMap(grid, area["latitude"], area["longitude"])
    releases = {
        r["step"]: (r["cell"], _column(r["tickets"], grid.n_cells) if "tickets" in r else None)
        for r in content["releases"]
    }
    if len(releases) != len(content["releases"]):
        raise CertificateError("a step is released twice")
    step = positive(content["step_seconds"], "step_seconds", CertificateError)
    return Certificate(
        tuple(map(_protection, content["protections"])),
        tuple(p["largest_loss"] for p in content["protections"] if "largest_loss" in p),
        Adversary(content["adversary"], content["rho"]),
        Recipe.from_json(content["mechanism"]),
        Recipe.from_json(content["calibration"]),
        place,
        content["time_zone"],
        Clock(pd.Timestamp(content["start"]), pd.Timedelta(seconds=step)),
        content["steps"],
        content["model"],
        releases,
        tuple(content["caveats"]),
        content["made_by"],
        content["created"],
        None if content["stream"] is None else _link(content),
        content["habits"],
    )


def _link_json(link: Link, steps: range) -> dict[str, Any]:
    return {
        "number": link.number,
        "before": link.before,
        "first_step": steps.start,
        "last_step": steps.stop - 1,
        "eta": link.eta,
    }


def _link(content: dict[str, Any]) -> Link:
    entry = content["stream"]
    standings = [p["standing"] for p in content["protections"] if "standing" in p]
    link = Link(
        entry["number"],
        entry["first_step"],
        entry["eta"],
        entry["before"],
        tuple(Standing(**standing) for standing in standings),
    )
    if entry["last_step"] != link.first + content["steps"] - 1:
        raise CertificateError("its steps do not end with its last step")
    return link


def _protection(entry: dict[str, Any]) -> Protect:
    name = checked(entry["name"], "a protection", CertificateError)
    event = event_json.from_json(entry["event"]) if "event" in entry else Withheld()
    return Protect(event, entry["epsilon"], sides=entry["sides"], name=name)


def _tickets(column: Array) -> int | list[int]:
    """Return a column in 2^53rds; one number if it is the same from every cell."""
    tickets: list[int] = (column * TICKETS).astype(np.int64).tolist()
    return tickets[0] if len(set(tickets)) == 1 else tickets


def _column(tickets: Any, n_cells: int) -> Array:
    several = tickets if isinstance(tickets, list) else [tickets]
    if len(several) not in (1, n_cells) or not all(
        is_whole(ticket) and 0 <= ticket <= TICKETS for ticket in several
    ):
        raise CertificateError(f"tickets must be {n_cells} whole numbers of 0 to 2^53, or one")
    return np.broadcast_to(np.array(several, dtype=np.int64) / TICKETS, (n_cells,))
