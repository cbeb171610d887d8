"""A memory as a toolset of pydantic-ai. Here the model's replies stand in a script; any of its models calls the tools alike."""

import asyncio
import tempfile
from pathlib import Path

from pydantic_ai import Agent, FunctionToolset, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hive_mind import Content, LearningAgent, Settings, open_agent


def memory_toolset(memory: LearningAgent) -> FunctionToolset[None]:
    async def remember(text: str, source: str = "conversation") -> int:
        """Keep what a text says. Gives the number of facts."""
        return len((await memory.learn_from_content(Content(text, source))).facts)

    async def recall(query: str, limit: int = 5) -> list[str]:
        """Facts about something, best first, each with its source."""
        return [f"{hit.fact.content} ({hit.fact.sources[0]})" for hit in await memory.memory.search_facts(query, limit)]

    return FunctionToolset([remember, recall])


SCRIPT = [
    ToolCallPart("remember", {"text": "The gateway listens on port 8443.", "source": "runbook"}),
    ToolCallPart("recall", {"query": "gateway port"}),
]


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    turn, said = len(messages) // 2, messages[-1].parts[-1].content
    tools = sorted(tool.name for tool in info.function_tools)
    return ModelResponse([SCRIPT[turn] if turn < len(SCRIPT) else TextPart(f"{tools}: {said}")])


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with open_agent(Settings(home=Path(home), embed="none"), "ada") as memory:
            assistant = Agent(FunctionModel(scripted), toolsets=[memory_toolset(memory)])
            print((await assistant.run("Which port?")).output)


asyncio.run(main())
