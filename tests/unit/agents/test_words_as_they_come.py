"""What a model says in a run, told while it says it: nothing twice, and nothing of it in the journal but the reply."""

import asyncio
from dataclasses import replace

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.errors import BackendUnavailable
from hive_mind.ledger import memory
from hive_mind.llm.base import OnText
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.dialogue import Reply, Turn
from hive_mind.retry import RetrySettings
from hive_mind.runs import steps as s
from tests.unit.agents.runs import parts_over
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
        executor = RunExecutor("r", parts, tell=steps.append, on_text=lambda node, text: heard.append((node, text)))
        await executor.start(TALK, {})
        await executor.drive()

    asyncio.run(story())
    return heard, steps


def test_words_are_told_with_their_node_and_kept_once() -> None:
    heard, steps = driven(ScriptedModel(conversation=[Reply("The pump is red.", (), 3, 2)]))
    assert heard == [("talk", "The "), ("talk", "pump "), ("talk", "is "), ("talk", "red.")]
    assert [step.text for step in steps if isinstance(step, s.Replied)] == ["The pump is red."]


def test_a_turn_that_is_tried_again_is_heard_once() -> None:
    heard, steps = driven(BreaksOff(conversation=[Reply("The pump is red.", (), 3, 2)]))
    assert heard == [("talk", "The pu")]
    assert [step.text for step in steps if isinstance(step, s.Replied)] == ["The pump is red."]


class CanNotStream(ScriptedModel):
    """Says nothing to whoever wants to hear it at once."""

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        if on_text:
            raise BackendUnavailable("scripted", "the reply broke off")
        return await super().converse(turn)


def test_a_model_that_can_not_stream_is_asked_for_all_of_it_at_once() -> None:
    heard, steps = driven(CanNotStream(conversation=[Reply("The pump is red.", (), 3, 2)]))
    assert heard == []
    assert [step.text for step in steps if isinstance(step, s.Replied)] == ["The pump is red."]
