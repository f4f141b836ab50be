"""Protect many people at once, and hand out the certificates of one."""

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import as_json, note, say, working
from priste.cli.options import (
    MECHANISMS,
    Against,
    AvoidSecret,
    Budget,
    Columns,
    HasSeen,
    HideEvents,
    Json,
    Keeping,
    Margin,
    ModelFile,
    Noise,
    Rho,
    TimeFormat,
    TimeZone,
    calibration_for,
    named,
)
from priste.errors import TrackError
from priste.report.summary import write_summary
from priste.storage.atomic_files import AtomicFiles
from priste.storage.limits import MIB, content_of
from priste.stream.parts import DEFAULT_RHO
from priste.tracks import certificates_of, load_model
from priste.tracks import protect_many as protect_all
from priste.tracks.many.run import PERSONAL_DAYS


def protect_many(
    source: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet with a column for the people, a folder of such files, or a folder with a "
            "file or folder for each person; repeatable."
        ),
    ],
    model: ModelFile,
    events: Annotated[
        Path,
        typer.Option(
            "--events",
            "-e",
            help="The events to protect: a TOML file for all, or a folder with NAME.toml for some "
            "people and everyone.toml for the others.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder of the job: new, or to go on with.")
    ],
    history: Annotated[
        Path | None,
        typer.Option(help="Earlier fixes of the same people, to learn models of their own from."),
    ] = None,
    personal_days: Annotated[
        int, typer.Option(help="Days of history that a model of one's own needs.", min=1)
    ] = PERSONAL_DAYS,
    adversary: Against = "near",
    rho: Rho = DEFAULT_RHO,
    budget: Budget = 1.0,
    mechanism: Noise = "planar-laplace",
    calibration: Keeping = "optimal",
    margin: Margin = None,
    avoid_secret: AvoidSecret = False,
    hide_events: HideEvents = False,
    seen: HasSeen = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes to work with (default: one for each core).", min=1)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="The address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers see "
            "the folder of the job under the same path."
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(help="Into how many parts to divide the people; fixed when a job begins."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            help="A file of at least 32 secret random bytes that all draws follow from (default: "
            "new ones). Whoever has it can undo the protection."
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="The column that says whose a fix is, if it is not clear.")
    ] = None,
    time_zone: TimeZone = None,
    column: Columns = None,
    time_format: TimeFormat = None,
    json: Json = False,
) -> None:
    """Protect the fixes of many people, each in a stream of their own that goes on from run to run.

    Run it again with later fixes to go on, or after an interruption to finish: what is done stays
    done.
    """
    learned = load_model(model)
    noise = MECHANISMS[mechanism](learned.place.grid, budget)
    with working("protecting") as progress:
        delivered = protect_all(
            source,
            learned,
            events,
            out,
            history=history,
            personal_days=personal_days,
            adversary=adversary,
            rho=rho,
            mechanism=noise,
            calibration=calibration_for(
                calibration, margin, avoid_secret, noise, len(learned.mobilities)
            ),
            hide_events=hide_events,
            model_has_seen_these_days=seen,
            key=None if key is None else content_of(key, MIB, TrackError),
            parts=parts,
            workers=workers,
            cluster=dask,
            user=user,
            columns=dict(named(pair) for pair in column or []),
            time_zone=time_zone,
            time_format=time_format,
            progress=progress,
        )
        page = out / "private" / f"summary-{delivered.run:04d}.html"
        write_summary(delivered, page)
    for remark in delivered.notes:
        note(remark)
    told = delivered.told
    if json:
        as_json(
            {
                "public": {
                    "released": str(delivered.released),
                    "certificates": str(delivered.certificates),
                },
                "private": {"folder": str(out / "private"), "summary": str(page)},
                "run": delivered.run,
                "people": told.people,
                "released": told.released,
                "with a model of their own": told.personal,
                "refused": told.n_refused,
                "person-days": told.days,
                "releases": told.releases,
                "fixes released before": told.again,
                "mean error km": told.errors.mean if told.errors.count else None,
                "largest share of epsilon": told.shares.largest,
                "account": told.account.to_json(),
            }
        )
        return
    for what, value in delivered.rows():
        say(f"{value:>12}  {what}")
    if told.n_refused:
        say(f"\n{told.n_refused:,} people were refused; the summary says why.")
    say(f"\nPublic:  {delivered.released}/\n         {delivered.certificates}/")
    say(f"Private: {out / 'private'}/ (keep it: the streams go on from there)")
    say(f"         {page}")


def certificates(
    job: Annotated[Path, typer.Argument(help="The folder of a job of `priste protect-many`.")],
    user: Annotated[str, typer.Argument(help="Whose certificates.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write them to.")],
    full: Annotated[
        bool,
        typer.Option("--full", help="Those that name hidden events: private, but to be audited."),
    ] = False,
) -> None:
    """Write the certificates of one person out of a job with many, to hand out or to audit."""
    texts = certificates_of(job, user, full=full)
    targets = [out / f"{number}.certificate.json" for number in range(1, len(texts) + 1)]
    with AtomicFiles() as files:
        files.make_folder(out, private=full)
        for target, text in zip(targets, texts, strict=True):
            files.add(target, private=full).write_text(text, encoding="utf-8")
    for target in targets:
        say(target)
