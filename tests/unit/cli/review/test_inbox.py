"""`hive-mind inbox`: looking, deciding, saying whose decision counts, and refusing what makes no sense."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.judge.items import Item
from hive_mind.judge.judgment import JudgmentAction, Signal
from hive_mind.model.ids import fact_id, item_id
from hive_mind.runtime.settings import Settings, ledger_path
from hive_mind.runtime.wiring import open_ledger
from tests.acceptance.hive_mind_command import HiveMind

HOUR_MS = 3_600_000
SEAL, PUMP = fact_id("The seal is of rubber."), fact_id("The pump has a seal.")


@pytest.fixture
def inbox(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / "home")


def item(name: str, **fields: Any) -> Item:
    values = {"id": item_id("fact", name, ""), "kind": "fact", "agent": "ines", "subject": name, "title": f"Is {name} true?"}
    return Item(**{**values, "opened_ms": time.time_ns() // 1_000_000 - HOUR_MS, **fields})


def asked(inbox: HiveMind, *items: Item) -> Sequence[Item]:
    async def ask() -> None:
        ledger = await open_ledger(Settings(home=inbox.home), "default")
        for one in items:
            await LedgerDesk(ledger).ask(one)
        await ledger.close()

    asyncio.run(ask())
    return items


def state(inbox: HiveMind, one: Item) -> dict[str, Any]:
    return inbox("inbox", "show", one.id, "-o", "json").json


def test_nothing_waits_where_nothing_was_asked_and_no_file_is_made(inbox: HiveMind) -> None:
    assert inbox("inbox", "list").out == "Nothing waits for you.\n"
    assert inbox("inbox", "list", "--all", "--agent", "bo").out == "Nothing was ever asked here.\n"
    assert inbox("inbox", "list", "-o", "json").json == []
    assert not ledger_path(Settings(home=inbox.home), "default").exists()


def test_what_has_one_cause_is_one_line_and_what_waits_longest_comes_first(inbox: HiveMind) -> None:
    late, early, other = asked(
        inbox,
        item("late", group="no-eval"),
        item("early", group="no-eval", opened_ms=int(time.time() * 1000) - 5 * HOUR_MS),
        item("other", opened_ms=int(time.time() * 1000) - 2 * HOUR_MS),
    )

    lines = inbox("inbox", "list").out.splitlines()

    assert lines[0].split() == ["id", "kind", "agent", "asked", "what"]
    assert lines[1].split() == [early.id[:8], "fact", "ines", "5h", *"Is early true? (1 more like it)".split()]
    assert lines[2].split() == [other.id[:8], "fact", "ines", "2h", *"Is other true?".split()]
    assert len(lines) == 3
    assert [one["item"]["subject"] for one in inbox("inbox", "list", "-o", "json").json] == ["early", "other", "late"]
    assert late.id[:8] not in lines[2]


def test_a_long_list_says_that_there_is_more(inbox: HiveMind) -> None:
    asked(inbox, *(item(str(n)) for n in range(5)))
    ended = inbox("inbox", "list", "-n", 2)
    assert len(ended.out.splitlines()) == 3
    assert ended.err == "2 of 5 lines: more with --limit\n"
    for words, said in (((), "2 of 5 items"), (("--all",), "there may be more than 2 items")):
        read = inbox("inbox", "list", "-n", 2, *words, "-o", "json")
        assert (len(read.json), read.err) == (2, f"{said}: more with --limit\n")
        assert not inbox("inbox", "list", "-n", 5, *words, "-o", "json").err


def test_an_item_shows_its_context_and_what_each_signal_says(inbox: HiveMind) -> None:
    (one,) = asked(
        inbox,
        item(
            "seal",
            context=(("fact", "The seal is of rubber."),),
            signals=(
                Signal(name="gpt", origin="model", action=JudgmentAction.ACCEPT, confidence=0.62, reasoning="plausible"),
                Signal(name="rule", origin="rule", state="broken", reasoning="division by zero"),
            ),
            cites=(SEAL,),
            group="unsure",
        ),
    )

    shown = inbox("inbox", "show", one.id[:6])

    assert shown.out.startswith("Is seal true?\n")
    for words in (
        *("The seal is of rubber.", "accept", "0.62", "plausible", "broken", "division by zero", SEAL),
        *("1h ago", "unsure"),
    ):
        assert words in shown.out
    assert f"hive-mind inbox approve {one.id[:8]}" in shown.err


def test_the_first_decision_counts_and_who_comes_later_is_told_and_kept(inbox: HiveMind) -> None:
    (one,) = asked(inbox, item("a"))

    first = inbox("inbox", "reject", one.id[:8], "--because", "seal was replaced", "--as", "ines")
    second = inbox("inbox", "approve", one.id[:8], "--as", "bo")
    third = inbox("inbox", "approve", one.id[:8], "--as", "vera", "-o", "json")

    assert (first.code, first.out) == (0, f"{one.id[:8]} is rejected: Is a true?\n")
    assert (second.code, second.out) == (1, "")
    assert f"{one.id[:8]} was rejected by ines (seal was replaced) already" in second.err
    assert "kept as a comment; to decide again: hive-mind inbox reopen" in second.err
    assert third.code == 1
    assert third.json[0]["counts"] is False
    now = state(inbox, one)
    assert now["decision"] == {"item": one.id, "action": "escalate", "by": "ines", "because": "seal was replaced"}
    assert [comment["by"] for comment in now["later"]] == ["bo", "vera"]
    assert "approved by bo – later, a comment" in inbox("inbox", "show", one.id).out


def test_what_is_decided_waits_no_more_and_is_listed_with_all(inbox: HiveMind) -> None:
    one, two = asked(inbox, item("a"), item("b"))
    assert inbox("inbox", "approve", one.id, "--as", "ines").code == 0

    assert [view["item"]["id"] for view in inbox("inbox", "list", "-o", "json").json] == [two.id]
    lines = inbox("inbox", "list", "--all").out.splitlines()
    assert "approved by ines" in lines[1]
    assert "open" in lines[2]


def test_all_of_one_cause_are_decided_together_and_no_others(inbox: HiveMind) -> None:
    items = asked(inbox, item("a", group="g"), item("b", group="g"), item("c", group="g", agent="bo"), item("d"))
    ended = inbox("inbox", "approve", items[1].id, "--all", "--as", "ines", "-o", "json")
    assert [(one["item"]["subject"], one["counts"]) for one in ended.json] == [("b", True), ("a", True)]
    assert [one["item"]["subject"] for one in inbox("inbox", "list", "-o", "json").json] == ["c", "d"]


def test_a_question_is_answered_also_from_standard_input_and_a_value_replaced_by_text_or_by_json(inbox: HiveMind) -> None:
    one, two, fact, tool = asked(inbox, item("a", kind="question"), item("b", kind="question"), item("c"), item("d", kind="tool"))
    assert inbox("inbox", "answer", one.id, "Since 2019.", "--as", "ines").code == 0
    assert inbox("inbox", "answer", two.id, "-", "--as", "ines", stdin="Since 2020.\n").code == 0
    assert [state(inbox, asked_)["decision"]["edit"] for asked_ in (one, two)] == ["Since 2019.", "Since 2020."]
    assert "Since 2019." in inbox("inbox", "show", one.id).out

    edited = inbox("inbox", "edit", fact.id, "It leaves at ten.", "--as", "ines")
    assert edited.out.startswith(f"{fact.id[:8]} is changed and approved")
    assert inbox("inbox", "edit", tool.id, '{"to": ["bo"], "cc": null}', "--json", "--as", "ines").code == 0
    assert state(inbox, fact)["decision"]["edit"] == "It leaves at ten."
    assert state(inbox, tool)["decision"]["edit"] == {"to": ["bo"], "cc": None}


def test_an_item_is_opened_again_and_keeps_what_was_said(inbox: HiveMind) -> None:
    (one,) = asked(inbox, item("a"))
    inbox("inbox", "approve", one.id, "--as", "ines")

    opened = inbox("inbox", "reopen", one.id, "--because", "new report", "--as", "bo")
    again = inbox("inbox", "reopen", one.id, "--as", "bo")

    assert (opened.code, opened.out) == (0, f"{one.id[:8]} waits again: Is a true?\n")
    assert (again.code, again.out) == (0, f"{one.id[:8]} is open already: Is a true?\n")
    assert state(inbox, one)["is_open"]
    shown = inbox("inbox", "show", one.id).out
    assert "approved by ines – before it was opened again" in shown
    assert "opened again by bo (new report)" in shown
    assert inbox("inbox", "reject", one.id, "--as", "ines").code == 0


def test_false_facts_are_named_among_those_an_item_relies_on(inbox: HiveMind) -> None:
    (one,) = asked(inbox, item("a", cites=(SEAL, PUMP)))

    refused = inbox("inbox", "reject", one.id, "--wrong", "0123456789", "--as", "ines")
    assert inbox("inbox", "reject", one.id, "--wrong", PUMP[:8], "--as", "ines").code == 0

    assert refused.code == 2
    assert f"relies on {SEAL[:8]}, {PUMP[:8]}; give one of them" in refused.err
    assert state(inbox, one)["decision"]["wrong"] == [PUMP]


def test_what_nobody_decided_in_time_is_decided_when_somebody_looks_and_says_so(inbox: HiveMind) -> None:
    (one,) = asked(inbox, item("a", expires_ms=1, on_expiry="reject"))
    assert inbox("inbox", "list").out == "Nothing waits for you.\n"
    assert "rejected (nobody decided in time)" in inbox("inbox", "show", one.id).out
    assert inbox("inbox", "approve", one.id, "--as", "ines").code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "0123456789"], "there is no item '0123456789'"),
        (["show", "{fact:.3}"], "the first 6 characters of an id"),
        (
            ["approve", "{question}"],
            'is a question, so this makes no sense for it; try: hive-mind inbox answer {question:.8} "TEXT"',
        ),
        (["answer", "{fact}", "yes"], "is a fact, so this makes no sense for it; try: hive-mind inbox approve {fact:.8}"),
        (["edit", "{question}", "x"], "try: hive-mind inbox answer"),
        (["edit", "{fact}", "{{", "--json"], "this is no JSON"),
        (["answer", "{question}", " "], "there is no text"),
        (["reject", "{fact}", "--wrong", "x"], "relies on no facts"),
        (["list", "--agent", "../x"], "can't be an agent's name"),
    ],
)
def test_nonsense_is_refused_says_what_to_do_and_changes_nothing(inbox: HiveMind, words: list[str], message: str) -> None:
    fact, question = asked(inbox, item("a"), item("b", kind="question"))
    ids = {"fact": fact.id, "question": question.id}

    refused = inbox("inbox", *(word.format(**ids) for word in words))

    assert refused.code == 2
    assert message.format(**ids) in refused.err.replace("\n", " ")
    assert len(inbox("inbox", "list", "-o", "json").json) == 2


def test_an_inbox_that_a_running_agent_keeps_to_itself_says_so(inbox: HiveMind) -> None:
    asked(inbox, item("a"))

    async def refused() -> str:
        ledger = await open_ledger(Settings(home=inbox.home), "default")
        ended = await asyncio.to_thread(inbox, "inbox", "list")
        await ledger.close()
        assert ended.code == 1
        return ended.err

    assert "keeps the inbox of agent 'default' to itself while it runs" in asyncio.run(refused())
