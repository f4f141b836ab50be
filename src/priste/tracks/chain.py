"""The certificates of a stream, checked together: the chain first, then every promise.

The public state of the stream is followed again from the columns of all certificates, as anybody
can who has the model. So what is said of an event of the first day is said with all that was
released since.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isclose

from priste.errors import CertificateError
from priste.mechanisms import Uniform
from priste.protection import Protect
from priste.storage import event_json
from priste.stream.account import Entry, State
from priste.stream.public_state import PublicState
from priste.tracks.certificate import Certificate
from priste.tracks.certificate_check import Check, Verdicts
from priste.tracks.certificate_file import digest_of
from priste.tracks.html_table import html_table
from priste.tracks.link import Link, Standing
from priste.tracks.model import Model
from priste.tracks.names import short
from priste.worst_case import GUARD


@dataclass(frozen=True, repr=False)
class StreamVerdict:
    """What a stream tells about one event, as far as its certificates go.

    `largest` is how far the odds of any observer the promise is about can have moved at most, at
    any step while the event waited or was live, charges included; it came to that at `worst_step`.
    """

    name: str
    protection: Protect
    state: State
    largest: float
    worst_step: int | None

    @property
    def kept(self) -> bool:
        """Whether the loss stayed within ε. If the event is settled, it always will."""
        return self.largest <= self.protection.epsilon + GUARD

    def __str__(self) -> str:
        at = "" if self.worst_step is None else f" at step {self.worst_step}"
        return (
            f"“{self.name}”: promised {self.protection.epsilon:g}, {self.state}, largest loss "
            f"{self.largest:.4f}{at}: {'kept' if self.kept else 'NOT KEPT'}"
        )

    def __repr__(self) -> str:
        kept = "kept" if self.kept else "NOT KEPT"
        return f"<StreamVerdict on “{short(self.name)}”: {kept}, {self.state}>"


class StreamCheck(Verdicts[StreamVerdict]):
    """Whether the promises of a stream are kept, with a verdict on each event ever asked for."""

    def _repr_html_(self) -> str:
        rows = [
            (v.name, f"{v.protection.epsilon:g}", v.state, f"{v.largest:.4f}", str(v.kept))
            for v in self.verdicts
        ]
        return html_table(("event", "ε", "state", "largest loss", "kept"), rows)


def check(
    certificates: Certificate | Iterable[Certificate], models: Model | Iterable[Model]
) -> Check | StreamCheck:
    """Check a certificate, or all those of a stream, in any order: compute every loss again.

    A stream whose model was exchanged needs each of its models. What does not belong together is
    refused.
    """
    given = [certificates] if isinstance(certificates, Certificate) else list(certificates)
    learned = [models] if isinstance(models, Model) else list(models)
    if not given:
        raise CertificateError("there is no certificate to check")
    if len(given) == 1 and given[0].link is None:
        return given[0].check(_model_of(given[0], learned))
    return _Replay(in_order(given), learned).check()


def in_order(certificates: Sequence[Certificate]) -> list[Certificate]:
    """Return the certificates of a stream from the first on; refuse what is no whole chain."""
    linked = [(_link(certificate), certificate) for certificate in certificates]
    chain = sorted(linked, key=lambda pair: pair[0].number)
    for place, (link, _) in enumerate(chain, start=1):
        if link.number < place:
            raise CertificateError(f"two certificates have number {link.number} of their stream")
        if link.number > place:
            raise CertificateError(f"certificate {place} of the stream is missing")
    for (link, one), (after, other) in pairwise(chain):
        where = f"certificate {after.number} of the stream"
        if after.before != digest_of(one):
            raise CertificateError(
                f"certificate {link.number} is not the one that {where} names: it was changed "
                f"since, or is of another stream"
            )
        if after.first != one.steps.stop:
            raise CertificateError(
                f"{where} begins at step {after.first}, and the one before it ends before step "
                f"{one.steps.stop}"
            )
        odd = [name for name in _SAME if getattr(one, name) != getattr(other, name)]
        if odd or link.eta != after.eta:
            raise CertificateError(f"{where} has another {(odd or ['eta'])[0].replace('_', ' ')}")
    return [certificate for _, certificate in chain]


_SAME = ("adversary", "mechanism", "calibration", "place", "time_zone", "clock")


def _link(certificate: Certificate) -> Link:
    if certificate.link is None:
        raise CertificateError(
            "several certificates are checked together if they are of one stream, and one is of "
            "none; check it by itself"
        )
    if certificate.withholds_events:
        raise CertificateError(
            f"the events of certificate {certificate.link.number} are withheld: ask its owner"
        )
    return certificate.link


def _model_of(certificate: Certificate, models: Sequence[Model]) -> Model:
    if len(models) == 1:  # then what differs can be said
        certificate.refuse_other(models[0])
    for model in models:
        if model.fingerprint == certificate.model:
            certificate.refuse_other(model)
            return model
    raise CertificateError(
        f"no model has the fingerprint {certificate.model[:12]}… that a certificate was made under"
    )


@dataclass(eq=False)
class _Replay:
    """The public state of a stream, followed from its certificates."""

    chain: Sequence[Certificate]
    models: Sequence[Model]
    asked: dict[str, tuple[Protect, int]] = field(default_factory=dict)
    largest: dict[str, tuple[float, int | None]] = field(default_factory=dict)

    def check(self) -> StreamCheck:
        first = self.chain[0]
        clock, model = first.clock, _model_of(first, self.models)
        mobilities = model.mobilities_from(clock.start)
        prior = first.adversary.prior(model.mobility)
        # what the noise was does not matter to the promise: any mechanism will do
        noise = Uniform(first.place.grid.n_cells)
        state = PublicState.start(mobilities, noise, (), prior, _link(first).eta)
        for certificate in self.chain:
            if certificate.model != model.fingerprint:
                model = _model_of(certificate, self.models)
                state = state.exchanged(model.mobilities_from(clock.start))
            state = self._follow(self._asking(state, certificate), certificate)
            self._compare(state, certificate)
        entries = {entry.name: entry for entry in state.account()}
        return StreamCheck(
            tuple(
                StreamVerdict(name, protection, entries[name].state, *self._largest(entries[name]))
                for name, (protection, _) in self.asked.items()
            )
        )

    def _largest(self, entry: Entry) -> tuple[float, int | None]:
        return self.largest.get(entry.name, (entry.activation + entry.merging, None))

    def _asking(self, state: PublicState, certificate: Certificate) -> PublicState:
        """Return the state with the events that are new; refuse a list that hides any."""
        link = _link(certificate)
        there = {watched.name for watched in state.watched}
        for (name, protection), standing in zip(certificate.named(), link.standings, strict=True):
            if name in there:
                there.remove(name)
                before, asked = self.asked[name]
                if asked != standing.asked or not event_json.same_promise(before, protection):
                    raise CertificateError(
                        f"certificate {link.number} promises something else about “{name}” than "
                        f"the one in which it was asked for"
                    )
            elif standing.asked != link.first:
                raise CertificateError(
                    f"“{name}” of certificate {link.number} was asked for at step "
                    f"{standing.asked}, and no certificate of that time has it"
                )
            else:
                state = state.adding(protection)
                self.asked[name] = protection, standing.asked
        if there:
            raise CertificateError(
                f"certificate {link.number} leaves out “{min(there)}”, which is not settled"
            )
        return state

    def _follow(self, state: PublicState, certificate: Certificate) -> PublicState:
        for step, column in zip(certificate.steps, certificate.columns(), strict=True):
            state = state.arrive()
            if step not in certificate.releases:
                continue
            if not state.whereabouts.deem_possible(state.mobilities, column):
                raise CertificateError(f"the model deems the release of step {step} impossible")
            state = state.observe(column, None)
            for watched in state.live:
                moved = watched.moved()
                if moved > self.largest.get(watched.name, (0.0, None))[0]:
                    self.largest[watched.name] = moved, step
        return state

    def _compare(self, state: PublicState, certificate: Certificate) -> None:
        """Refuse a certificate whose events do not stand as it says."""
        link = _link(certificate)
        entries = {entry.name: entry for entry in state.account()}
        for name, said in zip(certificate.names, link.standings, strict=True):
            found = Standing.of(entries[name], said.asked)
            charges = (said.activation, found.activation), (said.merging, found.merging)
            if said.state != found.state or not all(
                isclose(*pair, rel_tol=1e-6, abs_tol=1e-9) for pair in charges
            ):
                raise CertificateError(
                    f"certificate {link.number} says that “{name}” is {said.state} and charged "
                    f"{sum(c[0] for c in charges):.4g}; from the releases it is {found.state} and "
                    f"charged {sum(c[1] for c in charges):.4g}"
                )
