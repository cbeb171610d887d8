"""The tools of a run: which a node may call, what a call gives, and the file that its result is kept in.

The credentials that tools of a run used: had by name, and taken out of whatever is kept afterwards.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import msgspec

from hive_mind.agents.runs.run_files import RunFiles
from hive_mind.credentials.base import Secret
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.content import Arguments, ToolCall, ToolSpec
from hive_mind.runs.effects import REPORTING_TOOLS, ToolResult
from hive_mind.runs.files import as_text, shown
from hive_mind.runs.graphs.spec import NodeSpec
from hive_mind.runs.prompt import DELEGATE
from hive_mind.runs.steps import plain
from hive_mind.tools.base import AskPerson, NeedsPerson, Toolbox, ToolContext

FLEET_BYTES_MAX = 3_500
"""of a value that every node of a hive holds"""
OUTPUT_BYTES_MAX = 500_000
"""A step of a run has at most a megabyte, and an output stands in the state of each run that is looked at."""
_TEXT = {"type": "string"}


def spec_of(tool: str, description: str, /, *required: str, **properties: Mapping[str, Any]) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}
    return ToolSpec(tool, description, parameters)


_SET = "Set one of your outputs. The value is kept at once; setting it again replaces it."
_ASK = "Ask a person and wait for the answer. Ask only what neither your tools nor your inputs tell."
_DELEGATE = "Give a task to a sub-agent, which works on it alone and reports back. Several at once work side by side."
_REPORT = "Tell the agent that gave you this task how it goes. You go on at once."
_COMPLETE = "End your task now: everything that can be found is found."
_WAIT = "Ask a person something that only a person can do or decide, and wait for the answer."
_SET_OUTPUT = spec_of("set_output", _SET, "key", "value", key=_TEXT, value={})
_ASK_PERSON = spec_of("ask_person", _ASK, "question", question=_TEXT)
_SUB_AGENT = {
    "report_to_parent": spec_of("report_to_parent", _REPORT, "message", message=_TEXT, data={"type": "object"}),
    "mark_complete": spec_of("mark_complete", _COMPLETE, message=_TEXT),
    "wait_for_response": spec_of("wait_for_response", _WAIT, "message", message=_TEXT),
}

NOTHING = Redaction(())


class UsedCredentials:
    """Of one run, in one process. `get` looks one up; None where it is not set. `known`: what its surroundings use."""

    def __init__(self, get: Callable[[str], Secret | None] = lambda _: None, known: Redaction = NOTHING) -> None:
        self._get, self._known = get, known
        self._used: dict[str, Secret] = {}
        self.hidden = known
        """Takes their values out of texts and plain data."""

    def take(self, name: str) -> Secret:
        """The credential of this name. Raises `InvalidInput` where there is none, and `BackendError`."""
        secret = self._get(name)
        if secret is None:
            raise InvalidInput(f"there is no credential {name!r}: hive-mind credentials set {name}")
        self._used[name] = secret
        self.hidden = Redaction(self._used.values(), self._known)
        return secret


@dataclass(frozen=True, slots=True)
class RunTools:
    """Of one run; `is_sub` for that of a sub-agent."""

    run: str
    agent: str
    toolbox: Toolbox
    files: RunFiles
    is_sub: bool = False
    credentials: UsedCredentials = field(default_factory=UsedCredentials)
    fleet_keys: frozenset[str] = frozenset()
    """Outputs that every node of the hive will hold."""

    def offered(self, node: NodeSpec, *, is_last: bool = False) -> list[ToolSpec]:
        specs = [*self._built_in(node).values(), *(tool.spec for tool in self.toolbox.chosen(node.tools))]
        return [spec for spec in specs if spec.name in REPORTING_TOOLS] if is_last else specs

    async def call(self, node: NodeSpec, call: ToolCall, number: int, ask_person: AskPerson | None = None) -> ToolResult:
        """The result of a call; any failure is a result, too, and says so. Raises `NeedsPerson`."""
        if node.kind == "loop" and call.name in self._built_in(node):
            return await asyncio.to_thread(self._built_in_call, node, call)
        allowed = self.toolbox.chosen([node.tool] if node.kind == "tool" else node.tools)
        tool = next((tool for tool in allowed if tool.name == call.name), None)
        if tool is None:
            tool_names = ", ".join(spec.name for spec in self.offered(node))
            return _error(f"there is no tool {call.name!r} here; tools: {tool_names}")
        asking = {"ask_person": ask_person} if ask_person else {}
        context = ToolContext(self.run, node.id, f"{self.run}.{call.id}", self.agent, self.credentials.take, **asking)
        timeout = asyncio.timeout(tool.timeout_s)
        try:
            async with timeout:
                value = await tool.call(context, call.arguments)
        except NeedsPerson:
            raise
        except HiveError as error:
            return _error(self.credentials.hidden.text(str(error)))
        except Exception as error:  # noqa: BLE001 - somebody else's code: whatever it raises is returned to the caller
            # A tool may give up waiting for something else before its own time is over.
            if timeout.expired():
                return _error(f"{call.name} did not end within {tool.timeout_s:g} s")
            return _error(self.credentials.hidden.text(f"{call.name} failed: {type(error).__name__}: {error}"))
        return await asyncio.to_thread(self._kept, node, call.name, number, value)

    def _kept(self, node: NodeSpec, name: str, number: int, value: Any) -> ToolResult:
        """A loop has the text; only a node that is this one call sets its output to what came."""
        try:
            value = self.credentials.hidden.value(value)
            value_kept = _keepable(value) if node.kind == "tool" else None
            text = plain(as_text(value))
            file = self.files.keep_result(name, number, text)
        except (TypeError, ValueError, RecursionError, InvalidInput) as error:
            return _error(f"what {name} gave can't be kept: {error}")
        return ToolResult(shown(name, text, file), value_kept, file=file)

    def _built_in(self, node: NodeSpec) -> dict[str, ToolSpec]:
        specs = {"set_output": _SET_OUTPUT} if node.may_write else {}
        if self.is_sub:
            return specs | _SUB_AGENT
        specs["ask_person"] = _ASK_PERSON
        if node.subagents:
            names = {"type": "string", "enum": list(node.subagents)}
            specs[DELEGATE] = spec_of(DELEGATE, _DELEGATE, "name", "task", name=names, task=_TEXT)
        return specs

    def _built_in_call(self, node: NodeSpec, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        if call.name == "set_output":
            return self._set_output(node, arguments)
        if call.name == "report_to_parent":
            data = arguments.get("data")
            return ToolResult("reported", report=(str(arguments.get("message", "")), data if isinstance(data, dict) else {}))
        if call.name == "mark_complete":
            return ToolResult(str(arguments.get("message") or "complete"), completes=True)
        return _error(f"{call.name} can't be called here")

    def _set_output(self, node: NodeSpec, arguments: Arguments) -> ToolResult:
        key = arguments.get("key")
        if not isinstance(key, str) or "value" not in arguments:
            return _error("set_output needs a key and a value")
        if key not in node.may_write:
            allowed = ", ".join(sorted(node.may_write)) or "none"
            return _error(f"{node.id} may not set {key!r}; it may set: {allowed}")
        try:
            value = _keepable(arguments["value"])
        except (InvalidInput, TypeError, ValueError, RecursionError) as error:
            return _error(f"{key} can't be kept: {error}")
        if key in self.fleet_keys and (size := len(msgspec.json.encode(value))) > FLEET_BYTES_MAX:
            return _error(f"{key} has {size:,} bytes, and what the whole fleet shares at most {FLEET_BYTES_MAX:,}; be shorter")
        return ToolResult(f"{key} is set", outputs={key: value})


def _keepable(value: Any) -> Any:
    """A value as a step holds it, the same now and after a restart."""
    body = msgspec.json.encode(plain(value), enc_hook=_as_path)
    if len(body) > OUTPUT_BYTES_MAX:
        raise InvalidInput(f"it has {len(body):,} bytes, and an output has at most {OUTPUT_BYTES_MAX:,}; write it to a file")
    return msgspec.json.decode(body)


def _as_path(value: Any) -> str:
    if isinstance(value, PathLike):
        return str(value)
    raise TypeError(f"{type(value).__name__} can't be written as JSON")


def _error(text: str) -> ToolResult:
    """As it is, but for one that is longer than any result that is shown."""
    return ToolResult(shown("", text, ""), is_error=True)
