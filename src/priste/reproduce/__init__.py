"""The paper's evaluation, regenerated: its figures, its table, and a verdict on each claim."""

from priste.reproduce.run import reproduce

__all__ = ["reproduce"]
