"""What an audit found."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from priste.checks import Array
from priste.protection import Protect
from priste.wording import as_odds

TOLERANCE = 1e-9
"""How far a realised loss may lie above the promised one by rounding."""


@dataclass(frozen=True, eq=False)
class Finding:
    """What the audit found for one protection.

    ``realised[t]`` is the worst loss after t + 1 releases, ``odds[t]`` the odds on the event that
    the worst belief gave before and gives then. `sequence` is the worst sequence of all, `belief`
    the worst belief over the cells at step 0; where `is_limit`, beliefs ever closer to it come
    ever closer to the loss.
    """

    protection: Protect
    realised: Array
    odds: tuple[tuple[float, float], ...]
    sequence: tuple[int, ...]
    belief: Array
    is_limit: bool

    def __repr__(self) -> str:
        worst = float(self.realised.max())
        return f"Finding(promised {self.promised:g}, realised {worst:.4g})"

    @property
    def promised(self) -> float:
        """The ε of the protection."""
        return self.protection.epsilon

    @property
    def excess(self) -> float:
        """By how much the worst loss exceeds the promise; negative if it is kept."""
        return float(self.realised.max()) - self.promised


@dataclass(frozen=True, eq=False)
class Audit:
    """Promised and realised losses, one `Finding` per protection.

    `about` says which other movement or beliefs were asked about, if any.
    `is_exact` says whether every sequence was followed. If not, the realised losses are lower
    bounds: there may be worse sequences among those not seen. After the first `n_exact` releases
    they are estimates, since hidden histories were left out at random.
    """

    algorithm: str
    about: tuple[str, ...]
    is_exact: bool
    n_exact: int
    n_sequences: int
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        verdict = "kept" if self.kept else "NOT KEPT"
        return f"Audit({verdict}, {self.n_sequences} sequences, worst {self.worst!r})"

    @property
    def worst(self) -> Finding:
        """The finding that is furthest above its promise, or least below."""
        return max(self.findings, key=lambda finding: finding.excess)

    @property
    def promised(self) -> float:
        """The promised ε (of the worst finding)."""
        return self.worst.promised

    @property
    def realised(self) -> Array:
        """The worst loss after each release (of the worst finding)."""
        return self.worst.realised

    @property
    def kept(self) -> bool:
        """Whether no loss above its promise was found."""
        return self.worst.excess <= TOLERANCE

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        steps = len(self.findings[0].realised)
        how = "exact, all" if self.is_exact else "sampled, realised losses are lower bounds;"
        if self.n_exact < steps:
            how = f"estimated after {self.n_exact} releases, from some of the hidden histories;"
        yield f"Audit of {self.algorithm} ({how} {self.n_sequences} sequences of {steps} releases)"
        yield from self.about
        for finding in self.findings:
            verdict = "kept" if finding.excess <= TOLERANCE else "NOT KEPT"
            yield f"\n{finding.protection.event!r}: {verdict}"
            yield "  releases  promised  realised   odds of the worst observer, before and after"
            steps_of = zip(finding.realised, finding.odds, strict=True)
            for t, (loss, (before, after)) in enumerate(steps_of, start=1):
                odds = f"{as_odds(before)} → {as_odds(after)}"
                yield f"  {t:8d}  {finding.promised:8.4f}  {loss:8.4f}   {odds}"
            yield f"  worst sequence: {', '.join(map(str, finding.sequence))}"
            likely = np.argsort(-finding.belief, kind="stable")[:6]
            beliefs = ", ".join(
                f"cell {c}: {finding.belief[c]:.3g}" for c in likely if finding.belief[c] > 0
            )
            limit = " (as the limit of beliefs near it)" if finding.is_limit else ""
            yield f"  worst belief at step 0: {beliefs}{limit}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(repr(finding.protection.event))}</td><td>{t}</td>"
            f"<td>{finding.promised:.4f}</td><td>{loss:.4f}</td></tr>"
            for finding in self.findings
            for t, loss in enumerate(finding.realised, start=1)
        )
        head = "".join(f"<th>{h}</th>" for h in ("event", "releases", "promised", "realised"))
        caption = escape(next(self._lines()))
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>"
