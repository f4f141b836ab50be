"""Many people: their fixes protected in streams of their own, on all cores or a cluster."""

from priste.tracks.many.certificates import certificates_of
from priste.tracks.many.run import Delivered, protect_many

__all__ = ["Delivered", "certificates_of", "protect_many"]
