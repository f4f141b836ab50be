"""Quantify what noise alone would reveal, and protect a track."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from priste.checks import Array, listing
from priste.cli.accounts import stream_json
from priste.cli.console import as_json, note, say, working
from priste.cli.options import (
    MECHANISMS,
    Against,
    AvoidSecret,
    Budget,
    Columns,
    EventsFile,
    Force,
    HasSeen,
    HideEvents,
    Json,
    Keeping,
    Margin,
    ModelFile,
    Noise,
    OnGpu,
    Reading,
    Rho,
    Seed,
    Since,
    TimeFormat,
    TimeZone,
    Until,
    calibration_for,
    compute_on_gpu,
    read_tracks,
    refuse_existing,
    refuse_same,
)
from priste.errors import TrackError
from priste.report.delivery import Delivery
from priste.stream.parts import DEFAULT_RHO
from priste.tracks import expose_track, load_model, protect_track
from priste.tracks.adversary import Adversary
from priste.tracks.files import WRITTEN
from priste.tracks.formats.geolife import holds_plt
from priste.wording import as_odds, promise


def quantify(
    track: Annotated[Path, typer.Argument(help="The track of one person.")],
    model: ModelFile,
    events: EventsFile,
    budget: Budget = 1.0,
    mechanism: Noise = "planar-laplace",
    adversary: Against = "near",
    rho: Rho = DEFAULT_RHO,
    time_zone: TimeZone = None,
    column: Columns = None,
    time_format: TimeFormat = None,
    since: Since = None,
    until: Until = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Quantify what noise alone, without protection, would reveal about the events."""
    learned = load_model(model)
    reading = Reading(time_zone, column, time_format)
    table, _ = read_tracks([track], reading, learned.time_zone, since, until)
    with working("following"):
        found = expose_track(
            table,
            learned,
            events,
            MECHANISMS[mechanism](learned.place.grid, budget),
            adversary=adversary,
            rho=rho,
            seed=seed,
        )
    if json:
        as_json(
            {
                exposure.name: {
                    "epsilon": exposure.protection.epsilon,
                    "losses": exposure.losses.tolist(),
                    "times": [moment.isoformat() for moment in exposure.times],
                    "odds before": exposure.before,
                    "odds after": exposure.after.tolist(),
                    "crossed at step": exposure.crossed,
                }
                for exposure in found
            }
        )
        return
    say(f"Against {Adversary(adversary, rho)}; one random stream. Private: do not share.")
    say("Of each event, the steps at which the loss changes most.")
    for exposure in found:
        local = exposure.times.tz_convert(learned.time_zone)
        when = {step: f"step {step}, {local[step]:%Y-%m-%d %H:%M}" for step in range(len(local))}
        worst = exposure.worst_step
        say(f"\n“{exposure.name}” (ε = {exposure.protection.epsilon:g})")
        say(f"  largest loss {exposure.losses[worst]:.4f} at {when[worst]}")
        loss, sides = max(float(exposure.losses[worst]), 0.0), exposure.protection.sides
        say(f"  there, {promise(loss, exposure.before, sides)}")
        say(f"  an observer who believes the model ends at {as_odds(float(exposure.after[-1]))}")
        crossed = exposure.crossed
        say(f"  first beyond ε at {when[crossed]}" if crossed is not None else "  never beyond ε")
        say("    step  time              loss     odds of an observer who believes the model")
        named = {worst} if crossed is None else {worst, crossed}
        for step in sorted(named.union(_turning_points(exposure.losses))):
            odds = as_odds(float(exposure.after[step]))
            say(
                f"    {step:4d}  {local[step]:%Y-%m-%d %H:%M}  {exposure.losses[step]:7.4f}  {odds}"
            )


def _turning_points(losses: Array, most: int = 12) -> list[int]:
    """Return the steps at which the loss changes most, in order: those worth showing."""
    change = np.abs(np.diff(losses, prepend=0.0))
    return sorted(np.argsort(-change, kind="stable")[:most].tolist())


def _private_folder(source: Path, out: Path | None) -> Path:
    """Return the private folder: beside the track, and named after what is made of it."""
    stem = source.stem if out is None else out.stem.removesuffix(".protected")
    return source.with_name(f"{stem}.private")


def _written_like(track: Path) -> Path:
    """Return the track, with a format that can be written if its own cannot."""
    if track.is_dir():
        return track.with_name(track.resolve().name + (".plt" if holds_plt(track) else ".gpx"))
    return track if track.suffix.lower() in WRITTEN else track.with_suffix(".gpx")


def protect(
    track: Annotated[Path, typer.Argument(help="The track of one person.")],
    model: ModelFile,
    events: EventsFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The protected track; its suffix gives the format."),
    ] = None,
    private: Annotated[
        Path | None, typer.Option(help="Folder for the diary and the private report.")
    ] = None,
    adversary: Against = "near",
    rho: Rho = DEFAULT_RHO,
    budget: Budget = 1.0,
    mechanism: Noise = "planar-laplace",
    calibration: Keeping = "optimal",
    margin: Margin = None,
    avoid_secret: AvoidSecret = False,
    stream: Annotated[
        Path | None,
        typer.Option(
            help="Go on with the stream in this file, or begin it: days that are protected apart "
            "tell more together than each promises. Every day of a window that recurs is then an "
            "event of its own."
        ),
    ] = None,
    exchange_model: Annotated[
        bool,
        typer.Option(
            "--exchange-model",
            help="Let the stream go on with another model, which must not have seen its days.",
        ),
    ] = False,
    seen: HasSeen = False,
    hide_events: HideEvents = False,
    report: Annotated[bool, typer.Option(help="Write the private report.")] = True,
    public_report: Annotated[bool, typer.Option(help="Also write a public report.")] = False,
    time_zone: TimeZone = None,
    column: Columns = None,
    time_format: TimeFormat = None,
    since: Since = None,
    until: Until = None,
    seed: Seed = None,
    gpu: OnGpu = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Release a track such that no observer's odds on an event change by more than its ε allows."""
    if gpu:
        compute_on_gpu()
    if stream is not None and not stream.parent.is_dir():
        raise TrackError(f"{stream.parent} is not a folder: make it, or choose another --stream")
    source = _written_like(track)
    delivery = Delivery(
        source.with_name(f"{source.stem}.protected{source.suffix}") if out is None else out,
        _private_folder(source, out) if private is None else private,
    )
    if stream is not None and public_report:
        raise TrackError("a track of a stream has no public report yet; leave out --public-report")
    refuse_same([*delivery.files, *([stream] if stream else [])], [track, model, events])
    refuse_existing(
        delivery.files,
        force=force,
        why=", but a second release of the same time reveals more: only if the first is unseen",
    )
    learned = load_model(model)
    reading = Reading(time_zone, column, time_format)
    table, account = read_tracks([track], reading, learned.time_zone, since, until)
    noise = MECHANISMS[mechanism](learned.place.grid, budget)
    with working("protecting") as progress:
        result = protect_track(
            table,
            learned,
            events,
            adversary=adversary,
            rho=rho,
            mechanism=noise,
            calibration=calibration_for(
                calibration, margin, avoid_secret, noise, len(learned.mobilities)
            ),
            seed=seed,
            progress=progress,
            stream=stream,
            exchange_model=exchange_model,
            model_has_seen_these_days=seen,
        )
    certificate, accuracy = result.certificate, result.accuracy
    absent = () if stream else result.stream.absent(events)
    same_time, same_model = delivery.others(certificate)
    warnings = _warnings(same_time, [] if stream else same_model)
    warnings += result.stream.remarks(events)
    with working("writing"):
        delivery.write(
            result,
            account,
            hide_events=hide_events,
            report=report,
            public_report=public_report,
            stream=stream,
        )
    public = {"track": str(delivery.track), "certificate": str(delivery.certificate)}
    if public_report:
        public["report"] = str(delivery.page)
    summary: dict[str, Any] = {
        "public": public,
        "private": {
            "folder": str(delivery.private),
            "mean error km": _finite(accuracy.released),
            "fixes on the map": accuracy.on_map,
            "of these shown as away": accuracy.shown_away,
            "fixes off the map": accuracy.off_map,
            "of those shown as away": accuracy.known_away,
            "mean distance km of those shown on it": _finite(accuracy.beyond),
        },
        "events": {
            name: {"epsilon": p.epsilon, "largest loss": largest}
            for (name, p), largest in zip(certificate.named(), certificate.largest, strict=True)
        },
        "not on these days": list(absent),
        "releases": len(result.releases),
        "steps": result.stream.n_steps,
        "adversary": adversary,
        "account": account.to_json(),
        "warnings": warnings,
    }
    if stream is not None and result.continued is not None:
        summary["stream"] = {"file": str(stream), **stream_json(result.continued)}
    for warning in warnings:
        note(f"priste: {warning}")
    if json:
        as_json(summary)
        return
    say(account)
    say()
    for sentence in certificate.sentences():
        say(f"- {sentence}")
    if absent:
        hidden = "; the public certificate promises it all the same, as on other days" * hide_events
        say(f"- not on these days, so nothing is promised about it: {listing(absent, 12)}{hidden}")
    away = result.released.get("away", pd.Series([], dtype=bool)).sum()
    if away and delivery.track.suffix.lower() in (".gpx", ".plt"):
        kind = delivery.track.suffix[1:].upper()
        say(f"- {away} releases say “away”, which {kind} cannot: there it is a gap (CSV can)")
    say("\nPublic:  " + "\n         ".join(public.values()))
    if not hide_events:
        say("         (it names the events, not whether they happened; see --hide-events)")
    say(f"Private: {delivery.private}/ ({accuracy.in_words()})")
    if accuracy.released > accuracy.usual:
        say(
            f"         (the usual place at each hour would be {accuracy.usual:.2f} km off: "
            f"this track says hardly more than your habits)"
        )
    if result.continued is not None:
        say(f"Stream:  {stream}, which goes on at {result.continued.end:%Y-%m-%d %H:%M}; keep it")
        say("         (a day of a stream has no report page; `priste explain` shows its account)")


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _warnings(same_time: list[Path], same_model: list[Path]) -> list[str]:
    """Return what to say about certificates of the same time and of other days."""
    remarks = []
    if same_time:
        names = listing([each.name for each in same_time], 3)
        remarks.append(
            f"{names}: of the same time as this release. Whoever sees both may learn more than "
            f"either promises; share one of them only"
        )
    if same_model:
        names = listing([each.name for each in same_model], 3)
        remarks.append(
            f"{names}: made under the same model as this release. Protected apart, such days may "
            f"together tell more than ε about an event of either; use --stream to protect them as "
            f"one"
        )
    return remarks
