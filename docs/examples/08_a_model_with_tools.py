"""A loop: a language model with tools. Here its replies stand in a script; `model=` takes any that pydantic-ai knows."""

import asyncio
import tempfile
from pathlib import Path

from hive_mind import Reply, Settings, ToolCall, WorkerSpec, open_goal_seeking
from hive_mind.llm.scripted import ScriptedModel

WORKER = WorkerSpec.model_validate(
    {
        "id": "look-up",
        "identity": "You look things up and never guess.",
        "inputs": ["question"],
        "entry": "answer",
        "nodes": [
            {"id": "answer", "prompt": "Answer the question.", "tools": ["recall"], "inputs": ["question"], "outputs": ["answer"]}
        ],
    }
)
SCRIPT = [
    Reply(calls=(ToolCall("1", "recall", {"query": "gateway port"}),)),
    Reply(calls=(ToolCall("2", "set_output", {"key": "answer", "value": "Port 8443, says the runbook."}),)),
]


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        model = ScriptedModel(conversation=SCRIPT)
        async with open_goal_seeking(Settings(home=Path(home), embed="none"), "ada", model=model) as agent:
            await agent.process("The gateway listens on port 8443.")
            state = await agent.run(WORKER, {"question": "Which port?"})
            print(state.outcome, "after", state.turns, "turns:", state.buffer["answer"])
            print("the model saw:", model.turns[1].messages[-1].text.splitlines()[3].strip())


asyncio.run(main())
