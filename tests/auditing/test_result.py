import numpy as np
import pytest

from priste import Protect, at
from priste.auditing.result import Audit, Finding

EVENT = at(0, 3)


def finding(worst: float, **changes: object) -> Finding:
    """A finding with a promise of 0.5, the worst loss after the second of three releases."""
    arguments: dict[str, object] = {
        "protection": Protect(EVENT, 0.5),
        "realised": np.array([0.1, worst, 0.2]),
        "odds": ((1.0, 2.0), (1.0, 3.0), (1.0, 4.0)),
        "sequence": (2, 0, 1),
        "belief": np.array([0.0, 0.25, 0.75]),
        "is_limit": False,
    }
    return Finding(**{**arguments, **changes})  # type: ignore[arg-type]


def audited(*findings: Finding, is_exact: bool = True, n_exact: int = 3) -> Audit:
    return Audit("Some()", ("about this",), is_exact, n_exact, 8, findings)


def test_the_worst_finding_is_the_furthest_above_its_promise() -> None:
    small = finding(0.3, protection=Protect(EVENT, 0.05))
    large = finding(0.6)
    assert small.excess == pytest.approx(0.25, rel=1e-12)
    assert large.excess == pytest.approx(0.1, rel=1e-12)
    for found in (audited(small, large), audited(large, small)):
        assert found.worst is small
        assert found.promised == 0.05
        assert found.realised.tolist() == [0.1, 0.3, 0.2]
    assert repr(large) == "Finding(promised 0.5, realised 0.6)"
    assert repr(audited(large)) == f"Audit(NOT KEPT, 8 sequences, worst {large!r})"


@pytest.mark.parametrize(
    ("excess", "kept"), [(-0.1, True), (5e-10, True), (2e-9, False), (0.5, False)]
)
def test_a_promise_is_kept_up_to_rounding(excess: float, kept: bool) -> None:
    found = audited(finding(0.5 + excess))
    assert found.kept is kept
    assert (f"{EVENT!r}: NOT KEPT" in str(found)) is not kept
    assert repr(found).startswith("Audit(kept" if kept else "Audit(NOT KEPT")


def test_an_audit_prints_every_release_with_its_number() -> None:
    lines = str(audited(finding(0.6))).splitlines()
    assert lines[0] == "Audit of Some() (exact, all 8 sequences of 3 releases)"
    assert lines[1] == "about this"
    table = [" ".join(line.split()[:3]) for line in lines[5:8]]
    assert table == ["1 0.5000 0.1000", "2 0.5000 0.6000", "3 0.5000 0.2000"]
    assert lines[8:] == [
        "  worst sequence: 2, 0, 1",
        "  worst belief at step 0: cell 2: 0.75, cell 1: 0.25",
    ]
    html = audited(finding(0.6))._repr_html_()
    assert "<td>1</td><td>0.5000</td><td>0.1000</td>" in html
    assert "<td>3</td><td>0.5000</td><td>0.2000</td>" in html


def test_the_six_likeliest_cells_are_shown_and_a_limit_is_called_one() -> None:
    belief = np.array([0.05, 0.1, 0.3, 0.2, 0.05, 0.06, 0.04, 0.2])
    text = str(audited(finding(0.6, belief=belief, is_limit=True)))
    cells = "cell 2: 0.3, cell 3: 0.2, cell 7: 0.2, cell 1: 0.1, cell 5: 0.06, cell 0: 0.05"
    assert text.endswith(f"{cells} (as the limit of beliefs near it)")


def test_what_was_not_followed_in_full_is_said() -> None:
    assert "(sampled, realised losses are lower bounds; 8" in str(
        audited(finding(0.6), is_exact=False)
    )
    assert "(estimated after 2 releases, from some of the hidden histories; 8" in str(
        audited(finding(0.6), is_exact=False, n_exact=2)
    )
