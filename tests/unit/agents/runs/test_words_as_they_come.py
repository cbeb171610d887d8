"""What a model says in a run, told while it says it: nothing twice, and nothing of it in the journal but the reply.

Here, and in a fleet, where somebody else drives the run and whoever looks on asks for it again and again.
"""

import asyncio
import sys
from dataclasses import replace

import pytest

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.run_keeper import RunKeeper, Saying
from hive_mind.cli.runs.run_shown import Heard, StepPrinter
from hive_mind.errors import BackendUnavailable
from hive_mind.ledger import Ledger, memory
from hive_mind.llm.base import OnText
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.content import Reply, Turn
from hive_mind.retry import RetrySettings
from hive_mind.runs import steps as s
from tests.unit.agents.run_builders import parts_over, until
from tests.unit.runs.flow import worker

TALK = worker({"id": "talk"})


class BreaksOff(ScriptedModel):
    """Breaks off in the middle of the first turn."""

    is_first = True

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        if self.is_first:
            self.is_first = False
            if on_text:
                on_text("The pu")
            raise BackendUnavailable("scripted", "the reply broke off")
        return await super().converse(turn, on_text)


def driven(model: ScriptedModel) -> tuple[list[tuple[str, str]], list[s.Step]]:
    heard, steps = list[tuple[str, str]](), list[s.Step]()

    async def story() -> None:
        parts = parts_over(await memory.open(), conversation=[])
        parts = replace(parts, model=model, retry=RetrySettings(attempts_max=2, delay_first_s=0.001))
        executor = RunExecutor("r", parts, on_step=steps.append, listen=lambda node: lambda text: heard.append((node, text)))
        await executor.start(TALK, {})
        await executor.drive()

    asyncio.run(story())
    return heard, steps


def test_words_are_told_with_their_node_and_kept_once() -> None:
    heard, steps = driven(ScriptedModel(conversation=[Reply("The pump is red.", (), 3, 2)]))
    assert heard == [("talk", "The "), ("talk", "pump "), ("talk", "is "), ("talk", "red.")]
    assert [step.text for step in steps if isinstance(step, s.Replied)] == ["The pump is red."]


class CanNotStream(ScriptedModel):
    """Says nothing to whoever wants to hear it at once."""

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        if on_text:
            raise BackendUnavailable("scripted", "the reply broke off")
        return await super().converse(turn)


@pytest.mark.parametrize(("kind", "words"), [(BreaksOff, [("talk", "The pu")]), (CanNotStream, [])])
def test_a_turn_that_is_tried_again_or_can_not_stream_is_heard_once(
    kind: type[ScriptedModel], words: list[tuple[str, str]]
) -> None:
    heard, steps = driven(kind(conversation=[Reply("The pump is red.", (), 3, 2)]))
    assert heard == words
    assert [step.text for step in steps if isinstance(step, s.Replied)] == ["The pump is red."]


class Slow(ScriptedModel):
    """Says two words, and the rest once it may."""

    may_go_on = asyncio.Event()
    was_heard: list[bool]

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        self.was_heard.append(on_text is not None)
        if on_text:
            on_text("The ")
            on_text("pump ")
            await self.may_go_on.wait()
        return await super().converse(turn)


async def test_of_a_run_that_a_fleet_drives_the_words_are_told_to_who_looks_on(ledger: Ledger) -> None:
    model = Slow(conversation=lambda _: Reply("The pump is red.", (), 3, 2))
    model.may_go_on, model.was_heard = asyncio.Event(), []
    keeper = RunKeeper(replace(parts_over(ledger), model=model), TALK)
    await keeper.open()
    await keeper.run({}, {}, "r")
    await until(lambda: model.was_heard == [True])
    said = (await keeper.shown("r"))["saying"]
    assert [(one["node"], one["text"]) for one in said] == [("talk", "The pump ")]
    model.may_go_on.set()
    await until(lambda: not keeper.under_way)
    await keeper.start(None, {}, "alone")
    await until(lambda: len(model.was_heard) == 2 and not keeper.under_way)
    assert model.was_heard == [True, False]
    await keeper.close()


def test_what_is_said_is_kept_for_those_who_look_on_and_no_longer() -> None:
    now = [0.0]
    saying = Saying(lambda: now[0])
    assert saying.listen("r", "talk") is None
    assert saying.look("r") == []
    (hear, hear_next) = saying.listen("r", "talk"), saying.listen("r", "talk")
    assert hear
    assert hear_next
    hear("yes")
    hear_next("y")
    hear_next("es")
    assert saying.look("r") == [{"node": "talk", "turn": 2, "text": "yes"}]
    now[0] = 60.0
    saying.look("other")
    assert saying.look("r") == []
    assert saying.listen("gone", "talk") is None


def test_each_word_is_shown_once_however_often_asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    printer = StepPrinter(is_silent=False)
    heard = Heard(printer)
    for turn, text in ((1, "The "), (1, "The pump"), (1, "The pump"), (2, "The"), (2, "The end.")):
        heard.show_new([{"node": "talk", "turn": turn, "text": text}])
    printer.end_line()
    assert capsys.readouterr().err == "talk: The pump\ntalk: The end.\n"
