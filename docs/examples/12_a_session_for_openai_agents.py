"""A session of OpenAI's agents SDK with a memory behind it: what people say is learned, and each conversation begins with it.

Here the model's replies stand in a script; any model of the SDK gets the same items.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.items import TResponseInputItem
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from hive_mind import Content, LearningAgent, Settings, open_agent

REMEMBERED = 20


class MemorySession:
    """The items of one conversation, after what memory held when they were asked for. Taking an item back unlearns nothing."""

    session_settings = None

    def __init__(self, session_id: str, memory: LearningAgent) -> None:
        self.session_id, self._memory = session_id, memory
        self._items: list[TResponseInputItem] = []

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        facts = await self._memory.memory.get_all_facts(REMEMBERED)
        known = "\n".join(f"{fact.content} ({fact.sources[0]})" for fact in reversed(facts))
        items = self._items if limit is None else self._items[max(0, len(self._items) - limit) :]
        return [*([{"role": "system", "content": f"You remember:\n{known}"}] if known else []), *items]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        self._items += items
        for item in items:
            if item.get("role") == "user" and isinstance(said := item.get("content"), str):
                await self._memory.learn_from_content(Content(said, self.session_id))

    async def pop_item(self) -> TResponseInputItem | None:
        return self._items.pop() if self._items else None

    async def clear_session(self) -> None:
        self._items.clear()


class Scripted(Model):
    """Repeats what the session remembers."""

    async def get_response(self, **asked: Any) -> ModelResponse:
        before = "nothing" if len(asked["input"]) == 1 else asked["input"][0]["content"].replace("\n", " ")
        said = ResponseOutputText(annotations=[], text=before, type="output_text")
        output = ResponseOutputMessage(id="m", content=[said], role="assistant", status="completed", type="message")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("this script is said at once")


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with open_agent(Settings(home=Path(home), embed="none"), "ada") as memory:
            for number, said in enumerate(("The gateway listens on port 8443.", "Which port does the gateway use?"), start=1):
                session = MemorySession(f"conversation {number}", memory)
                agent = Agent("assistant", model=Scripted())
                result = await Runner.run(agent, said, session=session, run_config=RunConfig(tracing_disabled=True))
                print(f"{session.session_id}: {result.final_output}")


asyncio.run(main())
