"""A talk with a queen: she answers from journals, tickets and events, by a model or without, and asks before she acts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.queen_talk import HELP, HeardEvents, QueenOrder, QueenTalk, order_from
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.fleet_tools import FleetDirectory
from hive_mind.agents.runs.run_journal import RunJournal, run_ids
from hive_mind.agents.watcher import Watcher
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.judge.health import HealthSettings
from hive_mind.ledger import Ledger, memory
from hive_mind.llm.base import LanguageModel
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.content import Reply, ToolCall, Turn
from hive_mind.model.entry import Entry
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.steps import PREFIX
from tests.unit.agents.run_builders import parts_over
from tests.unit.agents.test_watcher import opener
from tests.unit.runs.flow import worker

MINUTE_MS = 60_000
ASK = worker({"id": "ask", "kind": "person", "prompt": "Go on?", "outputs": ["word"]})
SEEK = WorkerSpec.model_validate({"id": "seek", "entry": "seek", "nodes": [{"id": "seek", "outputs": ["found"]}]})


@dataclass
class Court:
    """A fleet of two agents: one with a stalled run and one that waits for a person, and one that has none."""

    keeper: Ledger
    own: Ledger
    heard: HeardEvents
    ms: int = 0

    def talk(self, model: LanguageModel | None = None) -> QueenTalk:
        return QueenTalk(self.fleet, model, self.heard, lambda: self.ms)

    @property
    def fleet(self) -> FleetDirectory:
        open_ledger = opener({"keeper": self.keeper})
        return FleetDirectory("queen", LedgerDesk(self.own), open_ledger, {"keeper": ("gates",), "idle": ()})

    async def state(self, run: str) -> Any:
        return await RunJournal(self.keeper, run).load()


async def opened_court() -> Court:
    found = Court(await memory.open(), await memory.open(), HeardEvents())
    parts = parts_over(found.keeper)
    await RunExecutor("stalled", parts).start(SEEK, {"about": "pumps"})
    asking = RunExecutor("asking", parts)
    await asking.start(ASK, {})
    await asking.drive()
    found.ms = 5 * MINUTE_MS
    watcher = Watcher("queen", found.own, opener({"keeper": found.keeper}), HealthSettings(), lambda: found.ms)
    assert [ticket.run for ticket in await watcher.look(["keeper"])] == ["stalled"]
    for entry in [entry for head in await found.keeper.heads(PREFIX) for entry in await found.keeper.read(head.stream)]:
        found.heard.hear("keeper", entry)
    return found


@pytest.mark.parametrize(
    ("question", "told", "untold"),
    [
        ("Which runs are in trouble?", ["keeper/stalled: unfinished at seek", "critical, ticket"], ["keeper/asking"]),
        ("Why?", ["keeper/stalled", "seek has waited for a turn of the model since 1970"], ["keeper/asking"]),
        ("Why does keeper/asking not go on?", ["keeper/asking: parked at ask", "Go on?"], ["stalled"]),
        ("What do you propose?", ["restart keeper/stalled: what it waits for does not come."], ["keeper/asking"]),
        ("What should we do about asking?", ["keeper/asking waits for a person: hive-mind inbox show"], ["stalled"]),
        ("What happened?", ["keeper/stalled: seek begins", "keeper/asking: ask: a person is asked"], []),
        ("What happened in asking?", ["keeper/asking: ask: a person is asked"], ["stalled"]),
        ("What runs?", ["keeper/stalled: unfinished at seek", "keeper/asking: parked at ask; waits for item"], []),
        ("stalled", ["keeper/stalled: unfinished", "2 steps, 0 turns of a model"], ["asking"]),
        ("Hello", [HELP], ["stalled"]),
    ],
)
async def test_she_answers_without_a_model(question: str, told: list[str], untold: list[str]) -> None:
    reply = await (await opened_court()).talk().reply(question, "olga")
    assert [part for part in told if part not in reply.text] == [], reply.text
    assert [part for part in untold if part in reply.text] == [], reply.text
    assert reply.order is None


async def test_an_order_is_asked_about_and_done_once_somebody_says_yes() -> None:
    court = await opened_court()
    talk = court.talk()
    asked = await talk.reply("Please restart keeper/stalled", "olga")
    assert asked.text.endswith("Shall I restart keeper/stalled? Answer yes or no.")
    assert (await court.state("stalled")).outcome is None
    assert (await talk.reply("yes", "olga", asked.order)).text == "Done: run stalled-again of keeper is unfinished."
    assert (await court.state("stalled")).reason == "given up by olga"
    assert (await court.state("stalled-again")).inputs == {"about": "pumps"}
    # Its ticket is settled with that, and a second yes begins nothing more.
    assert await LedgerDesk(court.own).open("ticket") == []
    await talk.reply("yes", "olga", asked.order)
    assert sorted(await run_ids(court.keeper)) == ["asking", "stalled", "stalled-again"]


@pytest.mark.parametrize("word", ["no", "which runs are in trouble?", "never mind"])
async def test_what_is_not_confirmed_is_not_done(word: str) -> None:
    court = await opened_court()
    talk = court.talk()
    reply = await talk.reply(word, "olga", (await talk.reply("cancel stalled", "olga")).order)
    assert reply.order is None
    assert (await talk.reply("yes", "olga", reply.order)).text.startswith("There is nothing to confirm.")
    assert (await court.state("stalled")).outcome is None


async def test_a_person_who_holds_a_run_up_holds_it_until_it_is_resumed() -> None:
    court = await opened_court()
    talk = court.talk()
    for word, is_held in (("hold asking", True), ("resume asking", False)):
        await talk.reply("Yes.", "olga", (await talk.reply(word, "olga")).order)
        state = await court.state("asking")
        assert (bool(state.paused), state.is_paused_until_answered) == (is_held, False)


async def test_a_run_that_has_ended_can_only_be_restarted() -> None:
    talk = (await opened_court()).talk()
    await talk.reply("yes", "olga", (await talk.reply("cancel keeper/asking", "olga")).order)
    for order in ("pause", "resume", "cancel"):
        with pytest.raises(InvalidInput, match="it has ended, and can only be restarted"):
            await talk.reply(f"{order} keeper/asking", "olga")
    assert (await talk.reply("restart keeper/asking", "olga")).order is not None


async def test_work_is_given_to_an_agent_once() -> None:
    court = await opened_court()
    talk = court.talk()
    asked = await talk.reply("assign look at the gates to keeper with about=D4 depth=3", "olga")
    assert asked.order is not None
    assert (asked.order.task, asked.order.agent, asked.order.inputs) == (
        "look at the gates",
        "keeper",
        {"about": "D4", "depth": "3"},
    )
    assert len({(await talk.reply("yes", "olga", asked.order)).text for _ in range(2)}) == 1
    assert len(await court.keeper.heads("task/")) == 1
    with pytest.raises(InvalidInput, match="say what is to be done"):
        await talk.reply("assign", "olga")


@pytest.mark.parametrize("order", ["pause nothing", "restart", "cancel keeper"])
async def test_an_order_about_no_run_or_several_names_those_there_are(order: str) -> None:
    court = await opened_court()
    with pytest.raises(InvalidInput, match="Name it as AGENT/RUN: keeper/"):
        await court.talk().reply(order, "olga")


def modelled(replied: Callable[[Turn], Any]) -> ScriptedModel:
    return ScriptedModel(conversation=replied)


async def test_a_model_words_the_answer_from_the_same_report_and_its_orders_are_asked_about_too() -> None:
    court = await opened_court()

    def replied(turn: Turn) -> Reply:
        assert "run stalled has not moved for 5.0 minutes" in turn.instructions
        assert "restart keeper/stalled" in turn.instructions
        if "hold" not in turn.messages[0].text:
            return Reply("One stalls.")
        return Reply("I would.", (ToolCall("1", "order", {"do": "pause", "run": "keeper/stalled"}),))

    talk = court.talk(modelled(replied))
    assert (await talk.reply("How is my fleet?", "olga")).text == "One stalls."
    asked = await talk.reply("I think somebody ought to hold the stalled one", "olga")
    assert asked.text.startswith("I would.\nkeeper/stalled: unfinished")
    assert asked.order == QueenOrder("pause", "keeper", "stalled", id=asked.order.id if asked.order else "")
    assert not (await court.state("stalled")).paused


async def test_without_its_model_she_answers_all_the_same() -> None:
    talk = (await opened_court()).talk(modelled(lambda _: BackendUnavailable("m", "is down")))
    reply = await talk.reply("Which runs are in trouble?", "olga")
    assert "keeper/stalled" in reply.text
    assert "without the language model: m: is down" in reply.text


async def test_a_journal_that_can_not_be_read_hides_no_other() -> None:
    court = await opened_court()
    await court.keeper.append(f"{PREFIX}broken", 0, [Entry("of a newer version", b"{}", 1)])

    async def opened(agent: str) -> Any:
        if agent == "idle":
            raise BackendUnavailable("idle", "it is away")
        return await opener({"keeper": court.keeper})(agent)

    fleet = FleetDirectory("queen", LedgerDesk(court.own), opened, {"keeper": (), "idle": ()})
    reply = await QueenTalk(fleet, None, court.heard).reply("Which runs are there?", "olga")
    assert "the runs of idle can't be read" in reply.text
    assert "run keeper/broken can't be read" in reply.text
    assert "keeper/asking" in reply.text


def test_an_order_that_she_did_not_give_is_refused() -> None:
    assert order_from({}) is None
    for wrong in ({"do": "explode"}, {"do": "pause", "force": True}, {"do": 3}):
        with pytest.raises(InvalidInput, match="is no order"):
            order_from(wrong)
