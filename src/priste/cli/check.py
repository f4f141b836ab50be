"""Check a certificate, and say what it means."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from priste.auditing import audit as follow
from priste.cli.accounts import is_stream, stream_json, stream_lines
from priste.cli.console import NOT_KEPT, as_json, say, working
from priste.cli.options import (
    Columns,
    Json,
    Reading,
    Seed,
    TimeFormat,
    TimeZone,
    read_tracks,
)
from priste.cli.prices import prices_of_adversaries
from priste.errors import CertificateError, NoFixesError
from priste.tracks import Certificate, load_certificate, load_model, load_stream, read
from priste.tracks import check as compute
from priste.tracks.certificate_check import Verdict
from priste.tracks.other_habits import against as realised_against
from priste.tracks.other_habits import in_words
from priste.wording import as_factor, promise


def audit(
    certificates: Annotated[
        list[Path],
        typer.Argument(
            help="A certificate written by `priste protect`, or all of a stream, in any order."
        ),
    ],
    model: Annotated[
        list[Path],
        typer.Option(
            "--model", "-m", help="Its model; of a stream that exchanged it, each (repeat)."
        ),
    ],
    track: Annotated[
        Path | None, typer.Option(help="Also check that this is the track that was released.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            help="Also say what an observer concludes who learned the person from these tracks; "
            "repeatable. Nothing is promised about such observers."
        ),
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
    time_zone: TimeZone = None,
    column: Columns = None,
    time_format: TimeFormat = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Check a certificate, or those of a stream: compute every loss again from them and the model.

    Exits with 4 if a promise is not kept.
    """
    learned = [load_model(path) for path in model]
    loaded = [load_certificate(path) for path in certificates]
    with working("computing"):
        check = compute(loaded, learned)
    loaded.sort(key=lambda each: each.steps.start)
    shown = loaded[-1]
    if track is not None and not _describe(loaded, _released(track)):
        files = ", ".join(path.name for path in certificates)
        raise CertificateError(f"{track.name} is not the track that {files} is about")
    kept, followed = check.kept, None
    if samples:
        protector = shown.protector(learned[0])
        length = shown.n_steps if steps is None else min(steps, shown.n_steps)
        with working("following") as progress:
            followed = follow(protector, length, samples=samples, seed=seed, progress=progress)
        kept = kept and followed.kept
    others: tuple[Verdict, ...] = ()
    if against:
        reading = Reading(time_zone, column, time_format)
        table, _ = read_tracks(against, reading, shown.time_zone)
        with working("learning"):
            others = realised_against(loaded, learned[-1], table).verdicts
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
                        **({"state": verdict.state} if hasattr(verdict, "state") else {}),
                    }
                    for verdict in check.verdicts
                },
                "against": str(shown.adversary),
                "caveats": list(shown.caveats),
                "algorithm": algorithm,
                "other habits": {
                    verdict.name: {
                        "realised": verdict.largest,
                        "odds before": verdict.before,
                        "odds after": float(verdict.after[-1]),
                    }
                    for verdict in others
                },
                "kept": kept,
            }
        )
    else:
        for sentence in shown.sentences():
            say(f"- {sentence}")
        several = f"{len(loaded)} certificates" if len(loaded) > 1 else "certificate"
        say(f"\nComputed again from the {several} and the model:")
        for verdict in check.verdicts:
            say(f"  {verdict}")
        if followed is not None:
            say()
            say(followed)
        if others:
            say("\nAn observer who learned this person from the tracks given (not promised):")
            for verdict in others:
                say(f"  {in_words(verdict)}")
    if not kept:
        raise typer.Exit(NOT_KEPT)


def _released(path: Path) -> pd.DataFrame:
    """Return a track, which is empty if its format cannot say that somebody is away."""
    try:
        return read(path)
    except NoFixesError:
        fixes = pd.DataFrame({"latitude": [], "longitude": []}, dtype=float)
        return fixes.assign(time=pd.DatetimeIndex([], tz="UTC"))


def _describe(certificates: list[Certificate], track: pd.DataFrame) -> bool:
    """Tell whether a track is what was released, one part of it under each certificate."""
    parts = []
    for each in certificates:
        begin, end = each.clock.time_of([each.steps.start, each.steps.stop])
        parts.append(track[(track["time"] >= begin) & (track["time"] < end)])
    return sum(map(len, parts)) == len(track) and all(
        each.describes(part) for each, part in zip(certificates, parts, strict=True)
    )


def explain(
    certificate: Annotated[
        Path | None,
        typer.Argument(help="A certificate or a stream written by `priste protect`."),
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
    """Say what a certificate or an ε means, how a stream stands, or what each adversary costs."""
    if certificate is not None and epsilon is None and not adversaries and is_stream(certificate):
        stream = load_stream(certificate)
        if json:
            as_json(stream_json(stream))
        else:
            for line in stream_lines(stream):
                say(line)
        return
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
        sentences.append(
            'With sides = "event" in the events file odds must not rise by more, and may fall: '
            "places can be released more exactly, and an observer may become sure that the event "
            "did not happen."
        )
    if json:
        as_json({"sentences": sentences})
    else:
        for sentence in sentences:
            say(f"- {sentence}")
