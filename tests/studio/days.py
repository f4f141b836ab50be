"""A person's days for the studio: files, and what is secret about them."""

from pathlib import Path
from typing import Any

from priste.tracks import write
from tests.tracks import city

ZONE = city.ZONE
DAY = "2024-05-16"
"""The day that is looked at; the ten days before it are learned from."""

CLINIC = {"latitude": 52.52, "longitude": 13.40, "radius_km": 0.4}
MORNINGS = [[9, 10, 11, 12]] * 7


def document(epsilon: float = 0.8) -> dict[str, Any]:
    """What is on the page: a clinic, and being there in the morning."""
    secret = {
        "name": "treatment",
        "place": "clinic",
        "week": MORNINGS,
        "epsilon": epsilon,
        "sides": "both",
    }
    places = [{"name": "clinic", "circle": CLINIC}]
    return {"time_zone": ZONE, "places": places, "secrets": [secret], "kept": ""}


def question(**changes: Any) -> dict[str, Any]:
    """What the page asks."""
    asked = {"time_zone": ZONE, "step": 60, "cells": 100, "day": DAY, "document": document()}
    return asked | changes


def gpx(folder: Path) -> Path:
    """Eleven days of a phone as a GPX file."""
    path = folder / "phone.gpx"
    write(city.days(0, 11), path)
    return path
