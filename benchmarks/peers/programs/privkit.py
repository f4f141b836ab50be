"""privkit: its planar Laplace noise, point by point, as displacements on the ground."""

import sys
from typing import Any
from unittest.mock import MagicMock

import numpy as np

FACES = (  # imported by privkit at its start, for pictures of faces alone
    "deepface",
    "keras",
    "keras.applications",
    "keras.applications.inception_v3",
    "open3d",
    "open3d.cpu",
    "open3d.cpu.pybind",
    "open3d.cpu.pybind.geometry",
    "open3d.cpu.pybind.pipelines",
    "open3d.cpu.pybind.pipelines.registration",
    "retinaface",
    "torch",
)
for name in FACES:
    sys.modules[name] = MagicMock(Tensor=MagicMock)

from privkit.ppms import PlanarLaplace  # noqa: E402
from privkit.utils.geo_utils import EARTH_RADIUS  # noqa: E402

PACKAGE = "privkit"
LONGITUDE = 10.0
METRES = 100.0
"""The side of a cell."""


def works(given: Any) -> Any:
    latitude, draws = float(given["latitude"]), int(given["draws"])
    mechanism = PlanarLaplace(float(given["budget"]) / METRES)
    degree = np.radians(1) * EARTH_RADIUS / METRES
    to_cells = degree * np.array([1.0, np.cos(np.radians(latitude))])

    def points() -> Any:
        """Return displacements east and north, on the plane that touches the ground there."""
        noisy = [mechanism.get_obfuscated_point(latitude, LONGITUDE)[:2] for _ in range(draws)]
        return ((np.array(noisy) - [latitude, LONGITUDE]) * to_cells)[:, ::-1]

    return {"points": points}
