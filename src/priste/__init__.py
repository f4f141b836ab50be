"""Spatiotemporal event privacy: quantify it, protect it, audit it."""

import logging

from priste.accelerator import use_gpu
from priste.auditing import Audit, Finding, audit
from priste.calibration import EveryOutput, OptimalRemap, Retry
from priste.errors import (
    AuditError,
    EventError,
    EvidenceError,
    GridError,
    MechanismError,
    MissingExtraError,
    MobilityError,
    NoGpuWarning,
    PriorError,
    PristeError,
    ProtectionError,
    StreamFileError,
    UnobservedRowsWarning,
)
from priste.events import Event, at, at_least, pattern, presence
from priste.grid import Grid
from priste.mechanisms import (
    EmissionMatrix,
    Exact,
    Exponential,
    LocationSet,
    Mechanism,
    NoNoise,
    PlanarLaplace,
    Uniform,
)
from priste.mobility import Mobility
from priste.priors import AnyPrior, AnyPriorOn, KnownPrior, NearPrior, Prior
from priste.protection import Protect
from priste.protector import Diary, Protector, Release
from priste.quantify import (
    joint_probability,
    posterior_odds,
    prior_odds,
    prior_probability,
    privacy_loss,
)
from priste.stream import Account, Entry
from priste.worst_case import within, worst_case_loss

__version__ = "0.1.0"  # the only place that says it

logging.getLogger("priste").addHandler(logging.NullHandler())

__all__ = [
    "Account",
    "AnyPrior",
    "AnyPriorOn",
    "Audit",
    "AuditError",
    "Diary",
    "EmissionMatrix",
    "Entry",
    "Event",
    "EventError",
    "EveryOutput",
    "EvidenceError",
    "Exact",
    "Exponential",
    "Finding",
    "Grid",
    "GridError",
    "KnownPrior",
    "LocationSet",
    "Mechanism",
    "MechanismError",
    "MissingExtraError",
    "Mobility",
    "MobilityError",
    "NearPrior",
    "NoGpuWarning",
    "NoNoise",
    "OptimalRemap",
    "PlanarLaplace",
    "Prior",
    "PriorError",
    "PristeError",
    "Protect",
    "ProtectionError",
    "Protector",
    "Release",
    "Retry",
    "StreamFileError",
    "Uniform",
    "UnobservedRowsWarning",
    "at",
    "at_least",
    "audit",
    "joint_probability",
    "pattern",
    "posterior_odds",
    "presence",
    "prior_odds",
    "prior_probability",
    "privacy_loss",
    "use_gpu",
    "within",
    "worst_case_loss",
]
