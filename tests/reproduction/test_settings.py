from reproduction.experiments import FAST, FULL, experiments
from reproduction.settings import METHODS, Setting, events, protector, synthetic


def test_settings_that_differ_have_names_that_differ() -> None:
    for mode in (FAST, FULL):
        settings = {s for e in experiments(mode, people=3) for s in e.settings()}
        assert len({s.key for s in settings}) == len(settings) > 100
        assert not any("/" in s.key for s in settings)


def test_every_figure_of_the_paper_is_there() -> None:
    named = {e.name: e for e in experiments(FULL)}
    early = named["presence early"].panels
    assert [c.settings[0].epsilon for c in early[0].curves] == [0.1, 0.5, 1.0]
    assert all(c.settings[0].alpha == 0.2 for c in early[0].curves)
    assert all(c.settings[0].epsilon == 0.5 for c in early[1].curves)
    for name in ("presence late", "two events", "location set"):
        assert named[name].axis == "time"
    for place in ("synthetic", "geolife"):
        for name in ("budgets", "deltas", "pattern"):
            assert named[f"{name} {place}"].axis == "epsilon"
            assert named[f"{name} {place}"].methods == METHODS
    assert {s.sigma for s in named["mobility"].settings()} == {1.0, 3.0, 10.0}
    assert set(named["presence early"].methods) == set(METHODS)


def test_the_paper_s_events_are_meant() -> None:
    dataset = synthetic(10.0, 1.0)
    (early,) = events(Setting(), dataset)
    assert early.steps == (3, 4, 5, 6, 7)  # times 4 to 8, counted from 0
    assert early.holds([50] * 7 + [9])
    assert not early.holds([0] * 3 + [10] * 5)
    guard = protector(Setting(event="both", epsilon=0.3), dataset)
    assert [p.epsilon for p in guard.protections] == [0.3, 0.3]
