"""Long statistical and cross-program checks, kept apart from the tests: `python -m verification`.

A check is a module. Its docstring begins with the statement it holds against something else,
`MISTAKE` names an error that is planted on purpose, and

    findings(effort, *, mistaken) -> Iterator[Finding]

yields what was compared. `effort` of 1 is the whole check, less takes fewer cases. With `mistaken`
at least one finding must fail, or the check proves nothing.
"""

CHECKS = (
    "probabilities",
    "worst_belief",
    "planar_laplace",
    "sampler",
    "streams",
    "endless",
    "habits",
    "hidden_histories",
    "remap",
    "mobility_fit",
    "paper",
    "fuzz",
)
