"""Symptoms by a table: what is a ticket, from which look on, and that one trouble is one ticket."""

from typing import Any

import msgspec
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.judge.health import EscalationTicket, HealthSettings, HealthSummary, item_of, ticket_of, ticket_of_dead

SETTINGS = HealthSettings()
MINUTE_MS = 60_000


def summary(**changes: Any) -> HealthSummary:
    base = HealthSummary(agent="ada", run="r", steps=30, without_accept=0, stall_ms=0, is_idle=False, is_circling=False, starts=2)
    return msgspec.structs.replace(base, **changes)


def raised(now: HealthSummary, before: HealthSummary | None) -> EscalationTicket:
    ticket = ticket_of(now, before, SETTINGS)
    assert ticket
    return ticket


@pytest.mark.parametrize(
    ("steps", "severity"), [(4, ""), (5, "warn"), (9, "warn"), (10, "degraded"), (19, "degraded"), (20, "critical")]
)
def test_steps_without_an_accept_are_weighed_by_a_table(steps: int, severity: str) -> None:
    found = ticket_of(summary(without_accept=steps), summary(without_accept=1), SETTINGS)
    assert (found.severity if found else "") == severity


def test_at_the_first_look_only_stalls_and_circles_count_and_then_only_what_has_grown() -> None:
    many = summary(without_accept=50)
    assert ticket_of(many, None, SETTINGS) is None
    assert ticket_of(many, many, SETTINGS) is None
    assert raised(summary(stall_ms=4 * MINUTE_MS), None).cause == "stall"
    assert ticket_of(summary(stall_ms=4 * MINUTE_MS - 1), None, SETTINGS) is None
    assert raised(summary(is_circling=True), None).cause == "loop"


def test_what_waits_has_ended_or_was_paused_is_in_no_trouble() -> None:
    bad = summary(stall_ms=100 * MINUTE_MS, is_circling=True, without_accept=99, is_idle=True)
    assert ticket_of(bad, summary(), SETTINGS) is None


def test_one_trouble_is_one_ticket_whoever_sees_it_and_however_long_it_lasts() -> None:
    first, later = summary(stall_ms=5 * MINUTE_MS), summary(stall_ms=50 * MINUTE_MS)
    tickets = [raised(one, None) for one in (first, later)]
    assert len({ticket.id for ticket in tickets}) == 1
    assert raised(summary(stall_ms=5 * MINUTE_MS, steps=31), None).id != tickets[0].id
    assert ticket_of_dead("n1", 0).id != ticket_of_dead("n1", 2).id


def test_what_gets_worse_is_another_ticket_and_what_stays_as_bad_is_not() -> None:
    before = summary(without_accept=1)
    tickets = [raised(one, before) for one in (summary(without_accept=n) for n in (10, 19, 20, 99))]
    assert [ticket.severity for ticket in tickets] == ["degraded", "degraded", "critical", "critical"]
    assert len({ticket.id for ticket in tickets}) == 2


def test_after_a_fresh_start_the_same_is_another_ticket_from_the_first_look_on() -> None:
    before, again = summary(without_accept=25), summary(without_accept=12, starts=3)
    found = raised(again, before)
    assert found.severity == "degraded"
    assert found.id != raised(summary(without_accept=12), summary()).id
    stalled = [summary(stall_ms=5 * MINUTE_MS, starts=starts) for starts in (2, 3)]
    assert len({raised(one, one).id for one in stalled}) == 2


def test_criteria_of_a_run_count_before_those_of_the_manifest() -> None:
    assert raised(summary(without_accept=12, criteria={"critical": 12}), summary()).severity == "critical"
    assert ticket_of(summary(stall_ms=5 * MINUTE_MS, criteria={"stall_min": 6}), summary(), SETTINGS) is None


@pytest.mark.parametrize("missing", ["agent", "cause", "window", "told", "evidence"])
def test_a_partial_ticket_is_refused(missing: str) -> None:
    whole: dict[str, Any] = {
        "agent": "ada",
        "run": "r",
        "cause": "stall",
        "severity": "critical",
        "window": "1",
        "told": "it stalls",
        "evidence": ("at seek",),
    }
    assert EscalationTicket(**whole).subject == "ada/r"
    with pytest.raises(InvalidInput, match=missing):
        EscalationTicket(**(whole | {missing: () if missing == "evidence" else ""}))


def test_a_ticket_on_a_desk_shows_how_bad_it_is_and_why() -> None:
    item = item_of(raised(summary(stall_ms=5 * MINUTE_MS, evidence=("at seek",)), None), "watcher", 7)
    assert (item.kind, item.agent, item.subject) == ("ticket", "watcher", "ada/r")
    assert dict(item.context) == {"severity": "critical", "cause": "stall", "evidence": "at seek"}
