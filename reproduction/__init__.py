"""The paper's evaluation, regenerated: its figures, its table, and a verdict on each claim."""
