"""The health of a run by its journals: sub-agents count, a word is a fresh start, and evidence needs no look at the run."""

from typing import Any

import pytest

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.content import ToolCall
from hive_mind.model.entry import Entry
from hive_mind.runs import steps as s
from hive_mind.runs.reports import step_text, summary_of
from hive_mind.runs.spec import kept
from hive_mind.runs.steps import entry_of
from tests.unit.runs.flow import loop, worker

MINUTE_MS = 60_000


class Journals:
    """Journals by run; each step comes a second after the last one."""

    def __init__(self, **fields: Any) -> None:
        self.kept: dict[str, list[Entry]] = {}
        self.ms, self.pos = 0, 0
        self.add("r", s.Started(kept(worker(loop("seek"), **fields))), s.Entered("p1", "seek"))

    def add(self, run: str, *steps: s.Step) -> "Journals":
        for step in steps:
            self.ms, self.pos = self.ms + 1_000, self.pos + 1
            entry = entry_of(step, self.ms)
            self.kept.setdefault(run, []).append(Entry(entry.kind, entry.body, self.ms, run, len(self.kept[run]), self.pos))
        return self

    def called(self, run: str, number: int, **arguments: Any) -> "Journals":
        """A turn with one call, which fails."""
        call = ToolCall(f"c{number}", "recall", arguments)
        return self.add(run, s.Replied("p1", calls=(call,)), s.Returned("p1", call.id, "no such place", is_error=True))

    def summary(self, after_ms: int = 0, settled: tuple[int, ...] = ()) -> Any:
        return summary_of("ada", "r", self.kept, self.ms + after_ms, settled)


def test_evidence_names_steps_tools_arguments_counts_and_times() -> None:
    found = Journals()
    for number in range(5):
        found.called("r", number, query=f"place {number % 2}")
    found.add("r", s.Judged("p1", JudgmentAction.RETRY, "not enough"))
    text = "\n".join(found.summary().evidence)
    assert "at seek, begun 1970-01-01T00:00:01Z, last step 1970-01-01T00:00:13Z" in text
    assert "13 steps, 5 turns of a model" in text
    assert "nothing was accepted in the last 11 steps, 1970-01-01T00:00:03Z to 1970-01-01T00:00:13Z" in text
    assert (
        "recall: 5× with 2 different arguments, 1970-01-01T00:00:04Z to 1970-01-01T00:00:12Z, "
        'the last recall {"query": "place 0"}' in text
    )
    assert "5 errors, the last: no such place" in text
    assert "seek was judged retry 1×, the last at 1970-01-01T00:00:13Z: not enough" in text


def test_what_a_stalled_run_waits_for_is_named_and_no_value_of_an_output() -> None:
    calls = (ToolCall("c1", "set_output", {"key": "card", "value": "4929 1111"}), ToolCall("c2", "peek", {"where": "dock"}))
    text = "\n".join(Journals().add("r", s.Replied("p1", calls=calls)).summary().evidence)
    assert 'seek has waited for set_output {"key": "card"}, peek {"where": "dock"} since 1970-01-01T00:00:03Z' in text
    assert "4929" not in text


def test_a_run_whose_sub_agent_works_does_not_stall() -> None:
    found = Journals().add("r", s.Replied("p1", calls=(ToolCall("c1", "delegate_to_sub_agent", {"name": "look"}),)))
    found.ms += 10 * MINUTE_MS
    found.add("r.c1", s.Started(kept(worker(loop("look")))), s.Entered("p1", "look")).called("r.c1", 1, query="x")
    summary = found.summary(MINUTE_MS)
    assert (summary.stall_ms, summary.without_accept) == (MINUTE_MS, 3)
    assert "recall: 1× with the same arguments" in "\n".join(summary.evidence)


@pytest.mark.parametrize(
    "word", [s.Continued("queen"), s.Judged("p1", JudgmentAction.ACCEPT), None], ids=["continued", "accepted", "ticket decided"]
)
def test_each_word_about_a_run_is_a_fresh_start(word: s.Step | None) -> None:
    found = Journals().called("r", 1, query="x").called("r", 2, query="x")
    before = found.summary()
    settled = () if word else (found.ms,)
    after = (found.add("r", word) if word else found).summary(settled=settled)
    assert (before.without_accept, after.without_accept) == (4, 0)
    assert after.starts == before.starts + 1
    assert found.called("r", 3, query="x").summary(settled=settled).without_accept == 2


def test_criteria_of_a_worker_come_before_those_of_its_goal() -> None:
    goal = {"id": "g", "health": {"degraded": 30, "critical": 50}}
    assert Journals(goal=goal, health={"critical": 40, "stallMin": 9}).summary().criteria == {
        "degraded": 30,
        "critical": 40,
        "stall_min": 9,
    }
    assert Journals().summary().criteria == {}


def test_a_run_that_was_warned_and_does_something_else_goes_in_circles_no_more() -> None:
    found = Journals().add("r", s.Warned("p1", "again and again"))
    assert found.summary().is_circling
    assert found.called("r", 1, query="x").summary().is_circling
    assert not found.called("r", 2, query="y").summary().is_circling


def test_a_run_that_ended_or_has_not_begun_is_idle() -> None:
    begun = Journals()
    assert not begun.summary().is_idle
    assert begun.add("r", s.Ended("accepted")).summary().is_idle


def test_the_tools_that_were_called_most_are_told_and_of_the_others_how_many_there_are() -> None:
    run = Journals()
    for number in range(10):
        for again in range(number + 1):
            call = ToolCall(f"c{number}.{again}", f"tool{number}", {})
            run.add("r", s.Replied("p1", calls=(call,)), s.Returned("p1", call.id, "ok"))
    lines = [line for line in run.summary().evidence if line.startswith("tool")]
    assert [line.partition(" with")[0] for line in lines] == [f"tool{number}: {number + 1}×" for number in range(9, 1, -1)]
    assert "2 more tools: tool1 2×, tool0 1×" in run.summary().evidence
    assert not any("more tool" in line for line in Journals().called("r", 1).summary().evidence)


def test_each_step_that_is_news_is_told_with_its_node() -> None:
    nodes: dict[str, str] = {}
    call = ToolCall("c1", "recall", {})
    told = [
        (s.Entered("p1", "seek"), "seek begins"),
        (s.Resumed(), "taken up again"),
        (s.Replied("p1", "well", (call, call)), "seek: recall, recall"),
        (s.Replied("p1", "well"), "seek: well"),
        (s.Replied("p1", "well", is_model=False), ""),
        (s.Returned("p1", "c1", "gone", is_error=True), "seek: error: gone"),
        (s.Returned("p1", "c1", "ok"), ""),
        (s.Judged("p2", JudgmentAction.RETRY, "bad"), "p2: retry: bad"),
        (s.Judged("p1", JudgmentAction.ACCEPT, "good"), ""),
        (s.Parked("", "0123456789", "why"), "the whole: a person is asked (01234567)"),
        (s.Answered("i", JudgmentAction.ACCEPT, "ines"), "ines decided: accept"),
        (s.Warned("p1", "again"), "seek: again"),
        (s.Paused("ines"), "held up by ines"),
        (s.Continued("ines"), "ines lets it go on"),
        (s.Ended("accepted", "so"), "ended: accepted: so"),
        (s.Compacted("p1", "f.md", 3), "seek: conversation moved to f.md"),
        (s.Closed("f"), ""),
    ]
    assert [step_text(step, nodes) for step, _ in told] == [text for _, text in told]
