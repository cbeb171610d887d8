"""A worker of one's own, without a language model: a tool that must not run twice, a person who approves it, and a judge."""

import asyncio
import tempfile
from pathlib import Path

from hive_mind import Decision, JudgmentAction, Settings, WorkerSpec, open_goal_seeking, tool

WORKER = WorkerSpec.model_validate(
    {
        "id": "order-grease",
        "inputs": ["gate"],
        "entry": "look",
        "nodes": [
            {
                "id": "look",
                "kind": "tool",
                "tool": "ask",
                "args": {"question": "$gate"},
                "inputs": ["gate"],
                "outputs": ["known"],
            },
            {"id": "order", "kind": "tool", "tool": "order", "args": {"what": "grease"}, "outputs": ["receipt"]},
        ],
        "edges": [{"source": "look", "target": "order", "on": "condition", "when": "output.known['is_known']"}],
        "goal": {
            "id": "ordered",
            "successCriteria": [{"id": "receipt", "metric": "output_contains", "target": "ordered grease"}],
        },
    }
)


@tool(approval=True, idempotent=False)
async def order(what: str) -> str:
    """Order something from the chandler."""
    return f"ordered {what}"


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with open_goal_seeking(Settings(home=Path(home), embed="none"), "keeper", [order]) as agent:
            await agent.process("The chain of sluice gate 2 is greased every spring.")
            state = await agent.run(WORKER, {"gate": "When is the chain of sluice gate 2 greased?"}, name="spring")
            print("ended:", state.outcome)
            for view in await agent.desk.open():
                print("a person is asked:", view.item.title)
                await agent.desk.decide(Decision(item=view.item.id, action=JudgmentAction.ACCEPT, by="ines"))
            state = await agent.resume("spring")
            print("ended:", state.outcome, "·", state.buffer["receipt"])


asyncio.run(main())
