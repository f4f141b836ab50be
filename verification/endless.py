"""No odds move by more than ε in an endless stream: events wait, beliefs merge, events settle.

Random streams on small maps, with recurring and overlapping events that are asked for as they go
on, are audited by an observer who starts with every belief of the set and follows every release
(`observers`). The package is only asked what it would release. Where an event settles, the observer
is told the whole state.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np
from tests.oracles import all_paths, path_probabilities, truths

from priste import EventError, ProtectionError, Protector
from priste.calibration import CertifiedPlan
from priste.checks import Array
from priste.stream import PublicState
from priste.stream.watched import Watched
from verification.endless_settings import Setting, random_setting, tight_settings
from verification.observers import Observer, largest_changes, scanned_changes
from verification.report import Finding, times

MISTAKE = "what is charged for waiting and for merging is not taken off ε"
ROUNDING = 1e-9
SETTINGS, WALKS, LEAVES = 420, 12, 500
CHARGED = 1e-8  # a charge that is more than rounding

Key = tuple[str, int, bool]  # the event's name, the model's number, and whether it is exchanged


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Audit streams made to be tight, and random ones."""
    if mistaken:
        with patch.object(Watched, "promise", property(lambda self: self.protection)):
            yield promise_kept("streams made to be tight", [audited(s) for s in tight_settings()])
        return
    yield promise_kept("streams made to be tight", [audited(s) for s in tight_settings()])
    random = np.random.default_rng(11)
    audits = [audited(drawn(random, k)) for k in range(times(SETTINGS, effort))]
    yield promise_kept("random streams", audits)
    yield by_enumeration(audits)
    yield by_scanning(audits)


def drawn(random: np.random.Generator, number: int) -> Setting:
    """Return a setting; of each five, four in which much happens in the first sequence tried."""
    while True:
        setting = random_setting(random)
        if number % 5 == 4:
            return setting
        probe, protector = Audit(setting), setting.protector()
        telling_sequence(probe, protector, Node(protector.beginning(), {}), random)
        if probe.all_three:
            return setting


def promise_kept(what: str, audits: list["Audit"]) -> Finding:
    """Hold the largest change of odds against ε, and say what happened in the streams."""
    excess = max(audit.excess for audit in audits)
    happened = {
        "an event waited": sum(audit.waited for audit in audits),
        "beliefs merged": sum(audit.merged for audit in audits),
        "an event settled": sum(audit.settled for audit in audits),
        "all three for one event": sum(audit.all_three for audit in audits),
    }
    counts = ", ".join(f"{count} where {name}" for name, count in happened.items())
    sequences = sum(audit.sequences for audit in audits)
    said = (
        f"{len(audits)} streams ({counts}), {sequences:,} sequences, largest loss − ε {excess:.2g}"
    )
    return Finding(what, said, bool(excess <= ROUNDING))


def by_enumeration(audits: list["Audit"]) -> Finding:
    """Hold the observer against every path, where there are not too many."""
    worst = max(audit.off_enumeration for audit in audits)
    said = f"largest relative difference {worst:.1e}"
    return Finding("the observer's probabilities, over every path", said, bool(worst <= 1e-12))


def by_scanning(audits: list["Audit"]) -> Finding:
    """Hold the worst belief against thousands of mixtures."""
    above = max(audit.scanned_above for audit in audits)
    below = max(audit.scanned_below for audit in audits)
    said = f"the best of 20,000 mixtures is {below:.1e} below at most, and {above:.1e} above"
    return Finding("the worst belief", said, above <= ROUNDING and below <= 0.1)


@dataclass
class Audit:
    """What the observers of one setting have seen."""

    setting: Setting
    observers: dict[Key, Observer] = field(default_factory=dict)
    seen: dict[Key, list[Array]] = field(default_factory=lambda: defaultdict(list))
    sequences: int = 0
    waited: bool = False
    merged: bool = False
    settled: bool = False
    all_three: bool = False
    excess: float = -np.inf
    off_enumeration: float = 0.0
    scanned_above: float = -np.inf
    scanned_below: float = -np.inf

    def observer(self, key: Key) -> Observer:
        """Return the observer of an event who takes people to move by one model."""
        if key not in self.observers:
            setting, (name, model, is_exchanged) = self.setting, key
            event = next(p.event for _, p in setting.asked if p.name == name)
            moves = setting.moves(model, is_exchanged=is_exchanged)
            cells = setting.models[model].cell_of_state
            self.observers[key] = Observer(event, moves, cells, setting.vertices)
        return self.observers[key]

    def note(self, state: PublicState) -> None:
        """Note what has happened to the events by now."""
        asked = {p.name: step for step, p in self.setting.asked}
        for entry in state.account() if state.watched or state.settled else ():
            if entry.state == "waiting":
                continue
            waited = entry.tracked_from > asked[entry.name] + 1 and entry.activation > CHARGED
            merged = entry.merging > CHARGED
            self.waited |= waited
            self.merged |= merged
            self.settled |= entry.state == "settled"
            self.all_three |= waited and merged and entry.state == "settled"

    def conclude(self, random: np.random.Generator) -> "Audit":
        """Find the largest change over all that was seen; scan mixtures for the worst of it."""
        for key, joints in self.seen.items():
            observer, table = self.observers[key], np.array(joints)
            protection = next(p for _, p in self.setting.asked if p.name == key[0])
            rise, fall = largest_changes(observer.a, observer.not_a, table)
            loss = rise if protection.sides == "event" else np.fmax(rise, fall)
            worst = int(np.argmax(loss))
            self.excess = max(self.excess, float(loss[worst]) - protection.epsilon)
            if np.isfinite(loss[worst]):
                scanned = scanned_changes(
                    observer.a, observer.not_a, table[worst], random, mixtures=20_000
                )
                top = scanned[0] if protection.sides == "event" else max(scanned)
                self.scanned_above = max(self.scanned_above, top - float(loss[worst]))
                self.scanned_below = max(self.scanned_below, float(loss[worst]) - top)
        return self


@dataclass(frozen=True)
class Node:
    """A sequence of releases: what everybody knows, and what each observer makes of it."""

    state: PublicState
    weights: dict[Key, Array]
    kept: frozenset[tuple[str, int]] | None = None
    """The events that keep the old model, once it is exchanged."""
    columns: tuple[Array, ...] = ()

    def key(self, name: str, model: int) -> Key:
        """Return who observes an event: with the model that it is protected under."""
        return name, model, self.kept is not None and (name, model) not in self.kept


def audited(setting: Setting, walks: int = WALKS) -> Audit:
    """Walk through a setting: all sequences if there are few, else some that tell much."""
    audit, random = Audit(setting), np.random.default_rng(setting.seed)
    protector = setting.protector()
    root = Node(protector.beginning(), {})
    if setting.mechanism.emission().shape[1] ** setting.horizon <= LEAVES:
        every_sequence(audit, protector, root)
    else:
        for _ in range(walks):
            telling_sequence(audit, protector, root, random)
    enumerate_paths(audit, random)
    return audit.conclude(random)


def every_sequence(audit: Audit, protector: Protector, node: Node) -> None:
    """Follow every sequence of releases."""
    if node.state.step + 1 == audit.setting.horizon:
        audit.sequences += 1
        audit.note(node.state)
        return
    for child in children(audit, protector, node):
        every_sequence(audit, protector, child)


def telling_sequence(
    audit: Audit, protector: Protector, node: Node, random: np.random.Generator
) -> None:
    """Follow one sequence that tells much about one event, in one direction."""
    setting = audit.setting
    name = setting.asked[int(random.integers(len(setting.asked)))][1].name or ""
    belief, sign = int(random.integers(len(setting.vertices))), random.choice([-1, 1])
    model = int(random.integers(len(setting.models)))
    for step in range(setting.horizon):
        found = list(children(audit, protector, node))
        chosen = found[int(random.integers(len(found)))]
        if random.random() < 0.8:
            odds = []
            for child in found:
                key = child.key(name, model)
                if key not in child.weights:
                    break
                d, b = audit.observer(key).joint(step, child.weights[key])[belief]
                odds.append(sign * (np.log(b + 1e-300) - np.log(d + 1e-300)) if b + d else -np.inf)
            if len(odds) == len(found):
                chosen = found[int(np.argmax(odds))]
        node = chosen
    audit.sequences += 1
    audit.note(node.state)


def children(audit: Audit, protector: Protector, node: Node) -> Iterator[Node]:
    """Yield the sequences that are one release longer."""
    setting = audit.setting
    node = asking(setting, node)
    before = {(entry.name, entry.model) for entry in node.state.settled}
    now = node.state.arrive()
    step, weights = now.step, {}
    versions = (False, True) if setting.exchange else (False,)
    for key in [(*event, version) for event in events_of(now) for version in versions]:
        observer = audit.observer(key)
        old = node.weights.get(key)
        weights[key] = (
            observer.moved(step - 1, old)
            if old is not None
            else caught_up(observer, node.columns, step)
        )
    node = replace(node, weights=weights)
    for entry in now.settled:
        if (entry.name, entry.model) not in before:
            key = node.key(entry.name, entry.model)
            audit.seen[key] += list(audit.observer(key).told(step, weights[key]))
    if step in setting.skipped:
        silence = np.ones(setting.models[0].n_cells)
        yield replace(node, state=now, columns=(*node.columns, silence))
        return
    plan = protector.calibration.plan(now.situation())
    if not isinstance(plan, CertifiedPlan):
        raise TypeError("only plans that are certified are audited")
    for column in plan.emission.T:
        after = {k: audit.observers[k].released(w, column) for k, w in weights.items()}
        if not any(w.any() for w in after.values()):
            continue  # impossible for everybody
        child = Node(
            now.observe(column, plan.warm_start), after, node.kept, (*node.columns, column)
        )
        for name, model in events_of(now):
            key = child.key(name, model)
            audit.seen[key].append(audit.observers[key].joint(step, after[key]))
        yield child


def asking(setting: Setting, node: Node) -> Node:
    """Return the node after what is asked for and exchanged before its next release."""
    state, kept = node.state, node.kept
    if setting.exchange and setting.exchange[0] == state.step and kept is None:
        live = [(w.name, w.model) for w in state.live]
        tracked = frozenset(live + [(entry.name, entry.model) for entry in state.settled])
        with suppress(EventError, ProtectionError):  # if the past told too much, the old one stays
            state, kept = state.exchanged(setting.exchange[1]), tracked
    for step, protection in setting.asked:
        if step == state.step and step >= 0:
            with suppress(EventError, ProtectionError):
                state = state.adding(protection)
    return replace(node, state=state, kept=kept)


def events_of(state: PublicState) -> list[tuple[str, int]]:
    """Return the name and the model of all that the stream protects or has protected."""
    settled = [(entry.name, entry.model) for entry in state.settled]
    return settled + [(watched.name, watched.model) for watched in state.watched]


def caught_up(observer: Observer, columns: tuple[Array, ...], step: int) -> Array:
    """Return the weights of an observer at a step, from all that was released before."""
    weights = observer.start
    for t in range(step):
        weights = observer.moved(t, observer.released(weights, columns[t]))
    return weights


def enumerate_paths(audit: Audit, random: np.random.Generator) -> None:
    """Hold the observers against every path, with random releases."""
    setting = audit.setting
    for (name, model, is_exchanged), observer in audit.observers.items():
        event = next(p.event for _, p in setting.asked if p.name == name)
        length = event.steps[-1] + 1
        n_states = len(observer.cells)
        if n_states**length > 20_000:
            continue
        moves = setting.moves(model, is_exchanged=is_exchanged)
        columns = random.random((length, observer.n_cells))
        paths = all_paths(n_states, length)
        cells = observer.cells[paths]
        told = np.prod([columns[t][cells[:, t]] for t in range(length)], axis=0)
        weights, holds = caught_up(observer, tuple(columns), length - 1), truths(event, cells)
        found = observer.joint(length - 1, observer.released(weights, columns[-1]))
        prior = np.stack([observer.not_a, observer.a], axis=1)
        for v, vertex in enumerate(setting.vertices):
            initial = np.zeros(n_states)
            initial[: len(vertex)] = vertex
            chance = path_probabilities(paths, moves, initial)
            for numbers, weight in ((prior[v], chance), (found[v], chance * told)):
                exact = np.array([weight[~holds].sum(), weight[holds].sum()])
                off = np.abs(numbers - exact) / np.where(exact > 0, exact, 1.0)
                audit.off_enumeration = max(audit.off_enumeration, float(off.max()))
