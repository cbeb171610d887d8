"""The tools of a run: which a node may call, what a call gives, and the folder where its result is kept.

There results and conversations are files, and the agent's own memory lies beside them. A file is whole before the step that names
it. Names are plain names in the folder; links are not followed. `adapt.md` is a file that several write at once: an agent's runs,
in this process and in others, and people with an editor.

Credentials that tools used are had by name, and taken out of whatever is kept afterwards.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.credentials import Secret
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.content import Arguments, ToolCall, ToolSpec
from hive_mind.runs import prompt
from hive_mind.runs.effects import REPORTING_TOOLS, ToolResult
from hive_mind.runs.prompt import ADAPT, ADAPT_CHARACTERS_MAX, DELEGATE, as_text, outputs_in, shown
from hive_mind.runs.spec import NodeSpec
from hive_mind.runs.steps import plain
from hive_mind.safe_files import BEGUN, PART, lock, private_folder, replacing, sync_file, write_whole
from hive_mind.tools import AskPerson, NeedsPerson, Toolbox, ToolContext


class AgentMemory:
    """`seed`: what it begins with. Raises `OSError` where the disk fails."""

    def __init__(self, path: Path, seed: str) -> None:
        self.path, self._seed = path, seed
        self._shown: str | None = None
        """All of it, as a prompt had it last."""

    def shown(self, *, may_seed: bool) -> str:
        """The part for a prompt; "" where there is none and none may be made."""
        if may_seed and not self.path.exists():
            self.change(lambda now: now or self._seed)
        if not self.path.exists():
            return ""
        text = _decoded(self.path)
        self._shown = text if len(text) <= ADAPT_CHARACTERS_MAX else None
        return text[:ADAPT_CHARACTERS_MAX]

    def change(self, change: Callable[[str], str]) -> None:
        """Replace its text by what `change` makes of it; asked again where somebody wrote meanwhile. Durable when it returns.

        Raises `InvalidInput` where it is not UTF-8, and what `change` raises; it is then as it was.
        """
        with self._turn():
            while True:
                before = self._bytes()
                try:
                    text = before.decode()
                except UnicodeDecodeError:
                    raise InvalidInput(f"{ADAPT} is not UTF-8; save it as UTF-8") from None
                after = change(text)
                if after == text or self._replaced(before, after.encode("utf-8", "replace")):
                    break
            if self._shown == text:
                self._shown = after

    def replace(self, text: str) -> None:
        """Replace all of it, after reading all of it. Raises `InvalidInput` where somebody wrote since, and as `edit`."""

        def replaced(now: str) -> str:
            if now not in (self._shown, self._seed, ""):
                raise InvalidInput(
                    f"you have not seen all of {ADAPT} as it is now: look at it with load_data, or change a part by edit_data"
                )
            return text

        self.edit(replaced)

    def edit(self, change: Callable[[str], str]) -> None:
        """As `change`, by a run: it adds no outputs, which are its own until it is accepted. Raises `InvalidInput`."""

        def edited(now: str) -> str:
            after = change(now)
            if outputs_in(after) - outputs_in(now):
                raise InvalidInput(f"{ADAPT} has the outputs of runs that were accepted: write what you learned under ## Rules")
            return after

        self.change(edited)

    def _replaced(self, before: bytes, body: bytes) -> bool:
        """False, and the file as it was, where somebody else wrote before this could be there."""
        with suppress(_OthersWroteError), replacing(self.path) as unfinished:
            unfinished.write_bytes(body)
            sync_file(unfinished)
            if self._bytes() != before:
                raise _OthersWroteError
            return True
        return False

    def _bytes(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Alone among the runs of this agent. The system ends it when its holder dies."""
        descriptor = os.open(private_folder(self.path.parent) / f".{self.path.name}.turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(descriptor)
            yield
        finally:
            os.close(descriptor)


class _OthersWroteError(Exception):
    """Meanwhile."""


_FILE_BYTES_MAX = 50_000_000


class RunFiles:
    """Of one run. Without a folder nothing is kept, and what is too long for a conversation is cut."""

    def __init__(self, folder: Path | None, memory: Path | None = None, identity: str = "", *, may_remember: bool = True) -> None:
        self.folder, self._may_remember = folder, may_remember
        self._memory = AgentMemory(memory, prompt.adapt_seeded(identity)) if memory else None

    def keep_result(self, tool: str, number: int, text: str) -> str:
        """The name of the file that has it now; "" where there is no folder."""
        if self.folder is None or tool in prompt.NEVER_SAVED:
            return ""
        name = prompt.file_of(tool, number)
        self.write(name, text)
        return name

    def write(self, name: str, text: str) -> None:
        """All of it or nothing, durable. Raises `InvalidInput` for a name that leads out of the folder, and `OSError`."""
        if memory := self._memory_if(name):
            memory.replace(text)
            return
        path, body = self._path(name), text.encode("utf-8", "replace")
        if len(body) > _FILE_BYTES_MAX:
            raise InvalidInput(f"{name} would have {len(body):,} bytes: at most {_FILE_BYTES_MAX:,}")
        write_whole(path, body)

    def change(self, name: str, change: Callable[[str], str]) -> None:
        """Replace what a file has by what `change` makes of it, beside other writers. Raises like `read` and `write`."""
        if memory := self._memory_if(name):
            self.adapt()
            memory.edit(change)
        else:
            self.write(name, change(self.read(name)))

    def remove_halves(self) -> None:
        """Remove files that a killed process had not written to their end. Raises `OSError`."""
        for half in self.folder.glob(f"{BEGUN}*{PART}") if self.folder is not None else ():
            half.unlink(missing_ok=True)

    def read(self, name: str) -> str:
        """All of it. Raises `InvalidInput` for a file that is not there, with the names of those that are."""
        if memory := self._memory_if(name):
            self.adapt()
            return _decoded(memory.path)
        path = self._path(name)
        if path.is_symlink() or not path.is_file():
            file_names = ", ".join((*self.data_files(), *self.conversations())) or "none"
            raise InvalidInput(f"there is no file {name!r}; files: {file_names}")
        return _decoded(path)

    def data_files(self) -> list[str]:
        """Results and what was saved, in the order of their numbers."""
        names = [name for name in self._names() if not name.startswith("conversation_") and name != ADAPT]
        return sorted(names, key=lambda name: (prompt.number_of(name) or 1 << 30, name))

    def conversations(self) -> list[str]:
        """The former conversations, the oldest first."""
        names = [name for name in self._names() if name.startswith("conversation_")]
        return sorted(names, key=lambda name: (len(name), name))

    def adapt(self) -> str:
        """The agent's memory, seeded when it is asked for the first time; "" where there is none."""
        return self._memory.shown(may_seed=self._may_remember) if self._memory else ""

    def remember_outputs(self, outputs: Mapping[str, Any]) -> None:
        """Their lines in the agent's memory, unless somebody wrote there what this program can't write back."""
        if self._memory is not None and self._may_remember:
            self.adapt()
            with suppress(InvalidInput):
                self._memory.change(lambda now: reduce(lambda text, pair: prompt.with_output(text, *pair), outputs.items(), now))

    def _memory_if(self, name: str) -> AgentMemory | None:
        if name != ADAPT or self._memory is None:
            return None
        if not self._may_remember:
            raise InvalidInput(f"{ADAPT} belongs to the agent: a sub-agent reads it only")
        return self._memory

    def _path(self, name: str) -> Path:
        if self.folder is None:
            raise InvalidInput("this run keeps no files")
        if not prompt.is_plain_name(name):
            raise InvalidInput(f"{name!r} is not the plain name of a file in the run's folder")
        return self.folder / name

    def _names(self) -> list[str]:
        paths = self.folder.iterdir() if self.folder is not None and self.folder.is_dir() else ()
        return [path.name for path in paths if path.is_file() and not path.is_symlink() and not path.name.startswith(BEGUN)]


def _decoded(path: Path) -> str:
    """With its own line ends: text mode would change them."""
    return path.read_bytes().decode("utf-8", "replace")


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
