"""Location mechanisms: from a true cell to the distribution of what is released."""

from priste.mechanisms.exponential import Exponential
from priste.mechanisms.location_set import LocationSet
from priste.mechanisms.matrix import EmissionMatrix
from priste.mechanisms.mechanism import Mechanism
from priste.mechanisms.no_noise import Exact, NoNoise
from priste.mechanisms.planar_laplace import PlanarLaplace
from priste.mechanisms.uniform import Uniform

__all__ = [
    "EmissionMatrix",
    "Exact",
    "Exponential",
    "LocationSet",
    "Mechanism",
    "NoNoise",
    "PlanarLaplace",
    "Uniform",
]
