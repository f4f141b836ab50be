"""The command `priste`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer

from priste import demo as story
from priste.audit import audit as follow
from priste.checks import Array
from priste.console import NOT_KEPT, as_json, clear_errors, say, working
from priste.errors import CertificateError
from priste.odds import as_odds, promise
from priste.options import (
    CALIBRATIONS,
    MECHANISMS,
    Budget,
    Columns,
    EventsFile,
    Force,
    Json,
    ModelFile,
    Noise,
    OffMap,
    Rho,
    Seed,
    Since,
    Until,
    Who,
    Zone,
    first_days,
    four,
    made,
    moment,
    read_tracks,
    refuse_existing,
    refuse_same,
)
from priste.price import prices_of_adversaries
from priste.protection import Protect
from priste.protector import Protector
from priste.report.delivery import Delivery
from priste.tracks import (
    Account,
    Certificate,
    LocalMap,
    as_track,
    expose_track,
    fit_model,
    load_model,
    protect_track,
    read,
    save_model,
)
from priste.tracks.certificate import adversary_in_words, adversary_prior, in_words
from priste.tracks.days import day_start
from priste.tracks.files import checked_suffix, write_as
from priste.tracks.outputs import aside
from priste.worst_case import GUARD

app = typer.Typer(
    name="priste",
    help="Keep events secret in location streams: learn a model, protect tracks, check promises.",
    epilog="Exit codes: 0 done, 1 our defect, 2 not understood, 3 bad input, 4 promise not kept, "
    "5 not read or written.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they would print local variables, and those are secrets
)


def main() -> None:
    """Run the command."""
    with clear_errors():
        app()


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files it makes.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the synthetic city and the draws.")] = 2019,
) -> None:
    """Do the whole job on a synthetic city: fit, protect, audit, report."""
    with working("demo"):
        for line in story.tell(out, seed):
            say(line)


@app.command()
def fit(
    tracks: Annotated[list[Path], typer.Argument(help="Track files, or folders of Geolife.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    step: Annotated[str, typer.Option(help="Length of a step, such as 10min or 1h.")] = "10min",
    cells: Annotated[int, typer.Option(help="About how many cells the map has.")] = 400,
    bounds: Annotated[
        str | None, typer.Option(help="South,west,north,east of the map, in degrees.")
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The zone whose days and hours count.")] = "UTC",
    time_of_day: Annotated[bool, typer.Option(help="Learn each step of the day apart.")] = False,
    order: Annotated[int, typer.Option(help="How many last cells the next one depends on.")] = 1,
    smoothing: Annotated[float, typer.Option(help="Weight of what was not observed.")] = 1.0,
    outside: OffMap = "drop",
    share: Annotated[
        float, typer.Option(help="Learn from this share of the days, the first ones.")
    ] = 1.0,
    zone: Zone = None,
    column: Columns = None,
    since: Since = None,
    until: Until = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn a map and how people move on it from tracks."""
    refuse_existing([out], force=force)
    refuse_same([out], tracks)
    table, account = read_tracks(tracks, zone, column, since, until, time_zone)
    table = first_days(table, share, time_zone)
    place = None if bounds is None else LocalMap.within(*four(bounds), cells=cells)
    with working("learning"):
        model = fit_model(
            table,
            step=step,
            place=place,
            cells=cells,
            time_zone=time_zone,
            time_of_day=time_of_day,
            order=order,
            smoothing=smoothing,
            outside=outside,
        )
    save_model(model, out)
    grid = model.place.grid
    days = table["time"].dt.tz_convert(time_zone).dt.date
    result = {
        "model": str(out),
        "fingerprint": model.fingerprint,
        "map": f"{grid.rows} × {grid.columns} cells of {grid.cell_size:.3g} km",
        "days": f"{days.min()} to {days.max()}, {days.nunique()} with fixes",
        **model.provenance,
        "account": _account(account),
    }
    if json:
        as_json(result)
        return
    say(account)
    say(f"\n{result['map']}, steps of {in_words(model.step)}")
    say(f"learned from {len(table):,} fixes, {result['days']}: {result['moves']:,} moves")
    unseen = model.provenance["cells never left"]
    if unseen:
        say(f"{unseen} of {grid.n_cells} cells were never left; how people leave them is a guess")
    say(f"{out}: a model of these people's habits, readable by you alone. Keep it so.")


@app.command()
def simulate(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The track file to write.")],
    days: Annotated[int, typer.Option(help="How many days, a track each.", min=1)] = 1,
    start: Annotated[str, typer.Option(help="The first day.")] = "2024-01-01",
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Draw made-up tracks from a model."""
    refuse_existing([out], force=force)
    learned = load_model(model)
    first = moment(start, learned.time_zone)
    steps = pd.Timedelta(days=1) // learned.step
    random = np.random.default_rng(seed)
    tracks = []
    with working("simulating") as progress:
        for day in range(days):
            clock = learned.clock(day_start(first, learned.time_zone, later=day))
            mobility = learned.mobility_from(clock.start)
            path = mobility.sample(steps, seed=int(random.integers(2**31)))
            tracks.append(
                as_track(range(steps), path, learned.place, clock, track=f"day {day + 1}")
            )
            progress((day + 1) / days)
        table, suffix = pd.concat(tracks, ignore_index=True), checked_suffix(out)
        with aside(out, private=True) as partial:
            write_as(table, partial, suffix)
    if json:
        as_json({"track": str(out), "days": days, "fixes": days * steps})
    else:
        say(
            f"{out}: {days} day(s) of {steps} fixes, made up from the habits of those in the model."
        )
        say("Together such days show these habits, so the file is readable by you alone.")


@app.command()
def quantify(
    track: Annotated[Path, typer.Argument(help="The track of one person.")],
    model: ModelFile,
    events: EventsFile,
    budget: Budget = 1.0,
    mechanism: Noise = "planar-laplace",
    adversary: Who = "near",
    rho: Rho = 0.1,
    outside: OffMap = "clamp",
    zone: Zone = None,
    column: Columns = None,
    since: Since = None,
    until: Until = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Tell how much noise alone, without protection, would tell about events on a track."""
    learned = load_model(model)
    table, _ = read_tracks([track], zone, column, since, until, learned.time_zone)
    with working("following"):
        found = expose_track(
            table,
            learned,
            events,
            made(MECHANISMS, mechanism, learned.place.grid, budget),
            adversary=adversary,
            rho=rho,
            outside=outside,
            seed=seed,
        )
    if json:
        as_json(
            {
                exposure.named.name: {
                    "epsilon": exposure.named.protection.epsilon,
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
    say(f"Against {adversary_in_words(adversary, rho)}; one drawn stream. Private: do not share.")
    for exposure in found:
        local = exposure.times.tz_convert(learned.time_zone)
        when = {step: f"step {step}, {local[step]:%Y-%m-%d %H:%M}" for step in range(len(local))}
        worst = exposure.worst_step
        say(f"\n“{exposure.named.name}” (wanted: ε = {exposure.named.protection.epsilon:g})")
        say(f"  largest loss {exposure.losses[worst]:.4f} at {when[worst]}")
        loss, sides = max(float(exposure.losses[worst]), 0.0), exposure.named.protection.sides
        say(f"  there, {promise(loss, exposure.before, sides)}")
        say(f"  who believes the model ends with {as_odds(float(exposure.after[-1]))}")
        crossed = exposure.crossed
        say(f"  beyond ε first at {when[crossed]}" if crossed is not None else "  never beyond ε")
        say("    step  time              loss     odds of who believes the model")
        for step in _turning_points(exposure.losses):
            odds = as_odds(float(exposure.after[step]))
            say(
                f"    {step:4d}  {local[step]:%Y-%m-%d %H:%M}  {exposure.losses[step]:7.4f}  {odds}"
            )


@app.command()
def protect(
    track: Annotated[Path, typer.Argument(help="The track of one person.")],
    model: ModelFile,
    events: EventsFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The protected track, in the format its ending says."),
    ] = None,
    private: Annotated[
        Path | None, typer.Option(help="Folder for diary and report, for you alone.")
    ] = None,
    adversary: Who = "near",
    rho: Rho = 0.1,
    budget: Budget = 1.0,
    mechanism: Noise = "planar-laplace",
    calibration: Annotated[
        Literal["optimal", "every-output"],
        typer.Option(
            help="How the guarantee is reached: the best remap of the noise, or weaker noise."
        ),
    ] = "optimal",
    outside: OffMap = "clamp",
    hide_events: Annotated[
        bool, typer.Option(help="Leave the events out of the certificate.")
    ] = False,
    report: Annotated[bool, typer.Option(help="Make the private report.")] = True,
    public_report: Annotated[bool, typer.Option(help="Make a report for everybody too.")] = False,
    zone: Zone = None,
    column: Columns = None,
    since: Since = None,
    until: Until = None,
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Release a track so that nobody's odds on the events change by more than was allowed."""
    source = Path(track.name).with_suffix(".plt") if track.is_dir() else track
    delivery = Delivery(
        source.with_name(f"{source.stem}.protected{source.suffix}") if out is None else out,
        source.with_name(f"{source.stem}.private") if private is None else private,
    )
    refuse_same(delivery.files, [track, model, events])
    refuse_existing(
        delivery.files,
        force=force,
        why=", but releasing the same time twice tells more than once: only if nobody has seen it",
    )
    learned = load_model(model)
    table, account = read_tracks([track], zone, column, since, until, learned.time_zone)
    with working("protecting") as progress:
        result = protect_track(
            table,
            learned,
            events,
            adversary=adversary,
            rho=rho,
            mechanism=made(MECHANISMS, mechanism, learned.place.grid, budget),
            calibration=made(CALIBRATIONS, calibration),
            outside=outside,
            seed=seed,
            progress=progress,
        )
    certificate = result.certificate
    losses = certificate.losses(learned)
    with working("writing"):
        delivery.write(
            result,
            account,
            hide_events=hide_events,
            report=report,
            public_report=public_report,
        )
    public = {"track": str(delivery.track), "certificate": str(delivery.certificate)}
    if public_report:
        public["report"] = str(delivery.page)
    summary = {
        "public": public,
        "private": {"folder": str(delivery.private), "mean error km": float(result.errors.mean())},
        "events": {
            p.name: {"epsilon": p.epsilon, "largest loss": float(losses[p.name].max())}
            for p in certificate.promises
        },
        "releases": len(result.releases),
        "steps": result.stream.n_steps,
        "adversary": adversary,
        "account": _account(account),
    }
    if json:
        as_json(summary)
        return
    say(account)
    say()
    for sentence in certificate.sentences():
        say(f"- {sentence}")
    say("\nPublic:  " + "\n         ".join(public.values()))
    if not hide_events:
        say("         (they name the protected events, not whether they happened; --hide-events)")
    say(f"Private: {delivery.private}/ (for you alone; mean error {result.errors.mean():.2f} km)")


@app.command()
def audit(
    certificate: Annotated[Path, typer.Argument(help="A certificate of `priste protect`.")],
    model: ModelFile,
    track: Annotated[
        Path | None, typer.Option(help="The released track, to compare with the certificate.")
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            help="Also follow this many streams of the algorithm itself (a lower bound).", min=0
        ),
    ] = 0,
    steps: Annotated[
        int | None, typer.Option(help="How many releases of each to follow (default: all).", min=1)
    ] = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Compute again, from the certificate and the model, what a protected track tells.

    Exits with 4 if a promise is not kept.
    """
    learned, shown = load_model(model), Certificate.load(certificate)
    if track is not None and not shown.tells_of(read(track)):
        raise CertificateError(f"{track.name} is not the track that {certificate.name} is about")
    with working("computing"):
        losses = shown.losses(learned)
    result: dict[str, Any] = {
        p.name: {
            "epsilon": p.epsilon,
            "sides": p.sides,
            "largest loss": float(losses[p.name].max()),
            "at step": int(losses[p.name].argmax()),
            "kept": bool(losses[p.name].max() <= p.epsilon + GUARD),
        }
        for p in shown.promises
    }
    kept = all(found["kept"] for found in result.values())
    followed = None
    if samples:
        mobility = learned.mobility_from(shown.clock.start)
        protector = Protector(
            mobility,
            made(MECHANISMS, shown.mechanism, learned.place.grid, shown.budget),
            [Protect(p.event, p.epsilon, p.sides) for p in shown.promises if p.event is not None],
            adversary_prior(shown.adversary, mobility, shown.rho),
            made(CALIBRATIONS, shown.calibration),
        )
        length = shown.n_steps if steps is None else min(steps, shown.n_steps)
        with working("following") as progress:
            followed = follow(protector, length, samples=samples, seed=seed, progress=progress)
        kept = kept and followed.kept
    if json:
        algorithm = None if followed is None else {"kept": followed.kept, "streams": samples}
        as_json(
            {
                "promises": result,
                "against": adversary_in_words(shown.adversary, shown.rho),
                "caveats": list(shown.caveats),
                "algorithm": algorithm,
                "kept": kept,
            }
        )
    else:
        for sentence in shown.sentences():
            say(f"- {sentence}")
        say("\nComputed again from the certificate and its model:")
        for p in shown.promises:
            found = result[p.name]
            verdict = "kept" if found["kept"] else "NOT KEPT"
            say(
                f"  “{p.name}”: promised {p.epsilon:g}, largest loss {found['largest loss']:.4f} "
                f"at step {found['at step']}: {verdict}"
            )
        if followed is not None:
            say()
            say(followed)
    if not kept:
        raise typer.Exit(NOT_KEPT)


@app.command()
def explain(
    certificate: Annotated[
        Path | None, typer.Argument(help="A certificate of `priste protect`.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Explain a number instead of a certificate.")
    ] = None,
    adversaries: Annotated[
        bool, typer.Option("--adversaries", help="Show what each adversary costs, on a small map.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what a certificate, or an ε, means, or what it costs to be safe from whom."""
    if (certificate is not None) + (epsilon is not None) + adversaries != 1:
        raise CertificateError("give a certificate, or --epsilon, or --adversaries")
    if adversaries:
        with working("computing"):
            prices, constant = prices_of_adversaries()
        sentences = [
            "The least mean error of a first release, in cells of a map of 6 × 6, for ε = 0.5 and "
            "people with local habits; one answer for everybody has "
            f"{constant:.2f}:",
            *(f"{price.error:.2f}  {price.adversary}" for price in prices),
        ]
    elif certificate is not None:
        sentences = list(Certificate.load(certificate).sentences())
    else:
        if epsilon is None or not 0 < epsilon < 700:
            raise CertificateError(f"ε must lie above 0 (and below 700), got {epsilon}")
        factor = f"ε = {epsilon:g}: no odds change by more than a factor {np.exp(epsilon):.3g}."
        sentences = [factor] + [
            f"{promise(epsilon, odds).capitalize()}." for odds in (1 / 99, 1 / 9, 1.0, 9.0)
        ]
    if json:
        as_json({"sentences": sentences})
    else:
        for sentence in sentences:
            say(f"- {sentence}")


def _account(account: Account) -> dict[str, Any]:
    return {
        "read": account.read,
        "kept": account.kept,
        "dropped": account.dropped,
        "put into order": account.moved,
    }


def _turning_points(losses: Array, most: int = 12) -> list[int]:
    """Return the steps at which the loss changes most, in order: those worth showing."""
    change = np.abs(np.diff(losses, prepend=0.0))
    return sorted(np.argsort(-change, kind="stable")[:most].tolist())


if __name__ == "__main__":
    main()
