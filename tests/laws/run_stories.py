"""Workers whose runs are cut: branches that meet, sub-agents that ask, and a payment that must not happen twice."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hive_mind.agents.runs import text_of
from hive_mind.agents.runs.memory_tools import incident_tools
from hive_mind.agents.runs.run_tools import RunFiles
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed.none import NoEmbedder
from hive_mind.judge.items import Decision, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Arguments, Reply, ToolCall, Turn
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.worker_file import worker_of
from hive_mind.store import memory as stores
from hive_mind.tools import Tool, ToolContext
from hive_mind.tools.functions import tool
from tests.laws.run_world import Story, World, approve


def said(text: str = "", **calls: Any) -> Reply:
    """A reply with calls, by the name of the tool; a list for several of one."""
    found = [(name, one) for name, given in calls.items() for one in (given if isinstance(given, list) else [given])]
    return Reply(text, tuple(ToolCall(f"x{number}", name, one) for number, (name, one) in enumerate(found)), 10, 5)


def results(turn: Turn) -> int:
    """How many results the conversation has."""
    return sum(message.role == "tool" for message in turn.messages)


def _search(world: World) -> Tool:
    @tool
    async def search(context: ToolContext, q: str) -> str:
        """Look something up."""
        await world.side_effect(f"search:{context.call}")
        return f"found {q} " * 40

    return search


def _pay(world: World, *, approval: bool) -> Tool:
    @tool(approval=approval, idempotent=False)
    async def pay(context: ToolContext, amount: str) -> str:
        """Send money."""
        await world.side_effect(f"pay:{context.call}")
        return f"paid {amount}"

    return pay


def _fan_out_tools(world: World, _: RunFiles) -> Sequence[Tool]:
    return [_search(world), _pay(world, approval=False)]


def _fan_out_model(turn: Turn) -> Reply:
    if "(plan)" in turn.instructions:
        return said("I plan.", set_output={"key": "plan", "value": "both"})
    for branch in "ab":
        if f"({branch})" in turn.instructions:
            if "found" not in str(turn.messages):
                return said("", search=[{"q": f"{branch}1"}, {"q": f"{branch}2"}])
            return said("", set_output={"key": f"r{branch}", "value": f"{branch} is known"})
    if any("feedback" in message.text for message in turn.messages):
        return said("", set_output={"key": "report", "value": "a better report"})
    return said("", set_output={"key": "report", "value": "draft"})


FAN_OUT = Story(
    WorkerSpec.model_validate(
        {
            "id": "fan-out",
            "entry": "plan",
            "nodes": [
                {"id": "plan", "outputs": ["plan"]},
                {"id": "a", "tools": ["search"], "outputs": ["ra"]},
                {"id": "b", "tools": ["search"], "outputs": ["rb"]},
                {
                    "id": "sum",
                    "join": "all",
                    "outputs": ["report"],
                    "success_criteria": [{"id": "better", "metric": "output_contains", "target": "better"}],
                },
                {
                    "id": "send",
                    "kind": "tool",
                    "tool": "pay",
                    "args": {"amount": "$report"},
                    "inputs": ["report"],
                    "outputs": ["receipt"],
                },
            ],
            "edges": [
                {"source": "plan", "target": "a"},
                {"source": "plan", "target": "b"},
                {"source": "a", "target": "sum"},
                {"source": "b", "target": "sum"},
                {"source": "sum", "target": "send", "on": "condition", "when": "'better' in output.report"},
            ],
        }
    ),
    {},
    _fan_out_tools,
    _fan_out_model,
    approve,
    frozenset({"pay"}),
)


def _approval_tools(world: World, _: RunFiles) -> Sequence[Tool]:
    return [_pay(world, approval=True)]


def _approval_model(turn: Turn) -> Reply:
    if results(turn) < 1:
        return said("", pay={"amount": "10"})
    if results(turn) < 2:
        return said("", ask_person={"question": "Which account?"})
    if "[Person]: retry" not in str(turn.messages):
        return said("", set_output={"key": "done", "value": "once"})
    return said("", set_output={"key": "done", "value": "twice"})


def _strict(view: ItemView) -> Decision:
    """Everything is approved but the first result: that is to be done again."""
    base = approve(view)
    if view.item.kind == "question":
        return replace_decision(base, edit="the red one")
    if view.item.kind == "judgment" and "done" in dict(view.item.context) and "once" in dict(view.item.context)["done"]:
        return replace_decision(base, action=JudgmentAction.RETRY, because="retry please")
    return base


def replace_decision(decision: Decision, **changes: Any) -> Decision:
    """With other fields."""
    fields = {"item": decision.item, "action": decision.action, "by": decision.by, "because": decision.because}
    return Decision(**(fields | changes))


APPROVAL = Story(
    WorkerSpec.model_validate(
        {
            "id": "approval",
            "entry": "act",
            "nodes": [
                {"id": "act", "tools": ["pay"], "outputs": ["done"], "requires_approval": True},
                {"id": "ask", "kind": "person", "prompt": "Was it right?", "outputs": ["opinion"]},
            ],
            "edges": [{"source": "act", "target": "ask"}],
            "pause_nodes": ["act"],
        }
    ),
    {},
    _approval_tools,
    _approval_model,
    _strict,
    frozenset({"pay"}),
    is_notified=True,
)


def _sub_agent_model(turn: Turn) -> Reply:
    if "Your task: look at" in turn.instructions:
        which = turn.instructions.split("Your task: look at ")[1][:1]
        if results(turn) == 0:
            return said("", report_to_parent={"message": f"at it: {which}"}, search={"q": which})
        if which == "2" and "[Person]" not in str(turn.messages):
            return said("", wait_for_response={"message": "may I go on?"})
        if which == "1" and results(turn) < 3:
            return said("that is all")
        return said("", set_output={"key": "found", "value": f"{which} is fine"})
    if "is fine" not in str(turn.messages):
        return said("", delegate_to_sub_agent=[{"name": "look", "task": "look at 1"}, {"name": "look", "task": "look at 2"}])
    return said("", set_output={"key": "summary", "value": "both are fine"})


def _sub_agent_tools(world: World, _: RunFiles) -> Sequence[Tool]:
    return [_search(world)]


SUB_AGENTS = Story(
    WorkerSpec.model_validate(
        {
            "id": "sub-agents",
            "entry": "lead",
            "nodes": [{"id": "lead", "subagents": ["look"], "outputs": ["summary"]}],
            "subagents": [{"id": "look", "tools": ["search"], "outputs": ["found"]}],
        }
    ),
    {},
    _sub_agent_tools,
    _sub_agent_model,
    lambda view: replace_decision(approve(view), edit="yes"),
)


def _incident_tools(world: World, _: RunFiles) -> Sequence[Tool]:
    """Over one memory, which outlives processes; each call has a boundary before and behind it."""
    if "memory" not in world.things:
        world.things["memory"] = CognitiveMemory(stores.open, NoEmbedder())
    tools = incident_tools(world.things["memory"], ExtractiveReader(), "r1", lambda path: path.read_text("utf-8"))

    def bounded(one: Tool) -> Tool:
        async def call(context: ToolContext, arguments: Arguments) -> Any:
            await world.side_effect(f"{one.name}:{context.call}")
            found = await one.call(context, arguments)
            world.boundary()
            return found

        return replace(one, call=call)

    return [bounded(one) for one in tools]


INCIDENTS = Story(
    worker_of(text_of("incident-review")),
    {"notes": str(Path(__file__).parents[2] / "docs" / "examples" / "notes")},
    _incident_tools,
    None,
    lambda view: replace_decision(approve(view), edit="notes"),
)


def _scopes_model(turn: Turn) -> Reply:
    """One more than what stands in the prompt."""
    seen = [line for line in turn.instructions.splitlines() if line.startswith("count: ")]
    return said("", set_output={"key": "count", "value": int(seen[-1].removeprefix("count: ")) + 1 if seen else 1})


SCOPES = Story(
    WorkerSpec.model_validate(
        {
            "id": "scopes",
            "entry": "first",
            "nodes": [{"id": one, "inputs": ["count"], "outputs": ["count"]} for one in ("first", "second", "third")]
            + [
                {
                    "id": "send",
                    "kind": "tool",
                    "tool": "pay",
                    "args": {"amount": "$count"},
                    "inputs": ["count"],
                    "outputs": ["paid"],
                }
            ],
            "edges": [
                {"source": one, "target": other} for one, other in (("first", "second"), ("second", "third"), ("third", "send"))
            ],
            "scopes": {"count": "stream", "paid": "fleet"},
        }
    ),
    {},
    lambda world, _: [_pay(world, approval=False)],
    _scopes_model,
    approve,
    frozenset({"pay"}),
)


def _talk_model(turn: Turn) -> Reply:
    heard = [message.text for message in turn.messages if message.role == "user" and message.text != "Begin."]
    if len(heard) < len(_WORDS):
        return said(list(_WORDS)[len(heard)])
    if results(turn) == 0:
        return said("", pay={"amount": heard[0]})
    return said("", set_output={"key": "heard", "value": heard})


_WORDS = {"Where to?": "to Corrin", "And when?": "at nine", "Shall I?": "yes"}

TALK = Story(
    WorkerSpec.model_validate(
        {
            "id": "talk",
            "entry": "talk",
            "nodes": [
                {"id": "talk", "clientFacing": True, "tools": ["pay"], "outputs": ["heard"]},
                {"id": "ask", "kind": "person", "prompt": "Was it right?", "outputs": ["opinion"]},
            ],
            "edges": [{"source": "talk", "target": "ask"}],
        }
    ),
    {},
    lambda world, _: [_pay(world, approval=False)],
    _talk_model,
    approve,
    frozenset({"pay"}),
    words=_WORDS,
)

STORIES = {
    "incident-review": INCIDENTS,
    "fan-out": FAN_OUT,
    "approval": APPROVAL,
    "sub-agents": SUB_AGENTS,
    "scopes": SCOPES,
    "talk": TALK,
}
