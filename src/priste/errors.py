"""What can go wrong, one class per noun; each is also a built-in error, mostly a `ValueError`."""


class PristeError(Exception):
    """The root of all errors this package raises on purpose."""


class GridError(PristeError, ValueError):
    """An invalid map, point or region."""


class MobilityError(PristeError, ValueError):
    """An invalid transition matrix or initial distribution."""


class EventError(PristeError, ValueError):
    """An event that is malformed, impossible, certain or too complex."""


class PriorError(PristeError, ValueError):
    """A belief of the adversary that is not a distribution over the cells."""


class EvidenceError(PristeError, ValueError):
    """Emission columns or evidence vectors that do not fit together."""


class MechanismError(PristeError, ValueError):
    """A mechanism with a wrong budget, matrix or parameter."""


class ProtectionError(PristeError, ValueError):
    """A protection, a calibration or a true cell that cannot be used."""


class AuditError(PristeError, ValueError):
    """An audit that cannot be done as asked."""


class HistoriesLostError(AuditError):
    """None of the hidden histories that an audit kept leads to the next release."""


class TrackError(PristeError, ValueError):
    """A track that cannot be read, understood or written."""


class NoFixesError(TrackError):
    """A track file without a fix."""


class EventsFileError(PristeError, ValueError):
    """An events file with a field that cannot be understood."""


class ModelFileError(PristeError, ValueError):
    """A file that is damaged, or not a model file."""


class StreamFileError(PristeError, ValueError):
    """A file that is damaged, or not the saved state of this stream."""


class CertificateError(PristeError, ValueError):
    """A certificate that cannot be made, read or checked."""


class PayloadError(PristeError, ValueError):
    """What an app sent cannot be read."""


class GatewayError(PristeError, RuntimeError):
    """The gateway cannot start or go on."""


class StudioError(PristeError, ValueError):
    """What the studio was asked for cannot be done."""


class MissingExtraError(PristeError, ImportError):
    """A part of the package whose optional dependencies are not installed."""


class NoGpuWarning(UserWarning):
    """A GPU was asked for and there is none, so the processor does the work."""


class UnobservedRowsWarning(UserWarning):
    """Some rows of a fitted mobility rest on smoothing alone."""
