"""No small change to the lines that carry the guarantee goes unnoticed by their tests.

    python -m verification.mutations                     # all mutants of all modules: hours
    python -m verification.mutations dyadic protector    # those of some modules
    python -m verification.mutations worlds sample=60    # some of a module, always the same

A mutant is a module with one small change: a comparison, an operator, a number, a condition, the
least for the largest. The tests of the module must fail on it. It needs cosmic-ray, which is
installed by nothing else: ``pip install cosmic-ray``.
"""

MODULES: dict[str, tuple[str, ...]] = {
    "dyadic": ("test_dyadic.py",),
    "randomness": ("test_randomness.py", "stream/test_state_file.py"),
    "worlds": ("test_worlds.py",),
    "mixture": ("test_mixture.py",),
    "evidence": (
        "test_evidence.py",
        "test_quantify.py",
        "stream/test_watched.py",
        "stream/test_beliefs.py",
        "stream/test_public_state.py",
    ),
    "worst_case": ("test_worst_case.py", "test_worst_case_wide.py", "stream/test_watched.py"),
    "worst_case_kernels": ("test_worst_case.py", "test_worst_case_wide.py"),
    "worst_case_wide": ("test_worst_case_wide.py", "test_worst_case.py"),
    "stream/activation": ("stream/test_activation.py",),
    "stream/beliefs": ("stream/test_beliefs.py", "stream/test_public_state.py"),
    "stream/whereabouts": ("stream/test_whereabouts.py", "stream/test_public_state.py"),
    "stream/watched": (
        "stream/test_watched.py",
        "stream/test_public_state.py",
        "stream/test_endless.py",
    ),
    "stream/public_state": (
        "stream/test_public_state.py",
        "stream/test_endless.py",
        "test_mixture.py",
    ),
    "protector": ("test_protector.py", "stream/test_state_file.py", "test_mixture.py"),
    "calibration/calibration": ("calibration/test_calibration.py",),
    "calibration/every_output": ("calibration/test_every_output.py",),
    "calibration/retry": ("calibration/test_retry.py",),
    "calibration/schedule": ("calibration/test_schedule.py",),
    "calibration/spending": ("calibration/test_spending.py",),
    "calibration/warm_start": ("calibration/test_optimal.py",),
    "calibration/optimal": ("calibration/test_optimal.py",),
    "calibration/search": ("calibration/test_search.py", "calibration/test_optimal.py"),
    "calibration/weighing": ("calibration/test_weighing.py",),
    "calibration/toll": ("calibration/test_toll.py",),
    "calibration/shared_cuts": ("calibration/test_shared_cuts.py",),
    "calibration/finish": ("calibration/test_finish.py", "calibration/test_search.py"),
    "calibration/odds_lines": ("calibration/test_odds_lines.py",),
    "calibration/bounds": ("calibration/test_bounds.py",),
    "calibration/program": ("calibration/test_program.py",),
    "auditing/auditor": ("auditing/test_audit.py", "auditing/test_histories.py"),
    "auditing/histories": ("auditing/test_histories.py",),
    "auditing/result": ("auditing/test_result.py",),
    "auditing/walk": (
        "auditing/test_audit.py",
        "auditing/test_histories.py",
        "test_mixture.py",
    ),
}
"""The modules that carry the guarantee, and the tests of each."""
