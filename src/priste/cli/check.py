"""Check a certificate, and say what it means."""

from pathlib import Path
from typing import Annotated

import typer

from priste.auditing import audit as follow
from priste.cli.console import NOT_KEPT, as_json, say, working
from priste.cli.options import Json, ModelFile, Seed
from priste.cli.prices import prices_of_adversaries
from priste.errors import CertificateError
from priste.tracks import load_certificate, load_model, read
from priste.wording import as_factor, promise


def audit(
    certificate: Annotated[Path, typer.Argument(help="A certificate written by `priste protect`.")],
    model: ModelFile,
    track: Annotated[
        Path | None, typer.Option(help="Also check that this is the track that was released.")
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            help="Also follow this many random streams of the algorithm (a lower bound).", min=0
        ),
    ] = 0,
    steps: Annotated[
        int | None, typer.Option(help="Releases to follow in each stream (default: all).", min=1)
    ] = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Check a certificate: compute every loss again from it and its model.

    Exits with 4 if a promise is not kept.
    """
    learned, shown = load_model(model), load_certificate(certificate)
    if track is not None and not shown.describes(read(track)):
        raise CertificateError(f"{track.name} is not the track that {certificate.name} is about")
    with working("computing"):
        check = shown.check(learned)
    kept, followed = check.kept, None
    if samples:
        protector = shown.protector(learned)
        length = shown.n_steps if steps is None else min(steps, shown.n_steps)
        with working("following") as progress:
            followed = follow(protector, length, samples=samples, seed=seed, progress=progress)
        kept = kept and followed.kept
    if json:
        algorithm = None if followed is None else {"kept": followed.kept, "streams": samples}
        as_json(
            {
                "protections": {
                    verdict.name: {
                        "epsilon": verdict.protection.epsilon,
                        "sides": verdict.protection.sides,
                        "largest loss": verdict.largest,
                        "at step": verdict.worst_step,
                        "kept": verdict.kept,
                    }
                    for verdict in check.verdicts
                },
                "against": str(shown.adversary),
                "caveats": list(shown.caveats),
                "algorithm": algorithm,
                "kept": kept,
            }
        )
    else:
        for sentence in shown.sentences():
            say(f"- {sentence}")
        say("\nComputed again from the certificate and its model:")
        for verdict in check.verdicts:
            say(f"  {verdict}")
        if followed is not None:
            say()
            say(followed)
    if not kept:
        raise typer.Exit(NOT_KEPT)


def explain(
    certificate: Annotated[
        Path | None, typer.Argument(help="A certificate written by `priste protect`.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Explain an ε instead of a certificate.")
    ] = None,
    adversaries: Annotated[
        bool,
        typer.Option("--adversaries", help="Compare the cost of each adversary on a small map."),
    ] = False,
    json: Json = False,
) -> None:
    """Say what a certificate or an ε means, or what each adversary costs."""
    if (certificate is not None) + (epsilon is not None) + adversaries != 1:
        raise CertificateError("give a certificate, or --epsilon, or --adversaries")
    if adversaries:
        with working("computing"):
            prices, constant = prices_of_adversaries()
        sentences = [
            "The least mean error of a first release on a map of 6 × 6 cells, in cells, for "
            f"ε = 0.5 and people who move locally (always the same cell: {constant:.2f}):",
            *(f"{price.error:.2f}  {price.adversary}" for price in prices),
        ]
    elif certificate is not None:
        sentences = list(load_certificate(certificate).sentences())
    else:
        if epsilon is None or not 0 < epsilon < 700:
            raise CertificateError(f"ε must lie between 0 and 700, got {epsilon}")
        factor = f"ε = {epsilon:g}: no odds change by more than a factor {as_factor(epsilon)}."
        sentences = [factor] + [
            f"{promise(epsilon, odds).capitalize()}." for odds in (1 / 99, 1 / 9, 1.0, 9.0)
        ]
    if json:
        as_json({"sentences": sentences})
    else:
        for sentence in sentences:
            say(f"- {sentence}")
