"""A tool, a toolbox, and the context a tool gets with each call."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Arguments, ToolSpec
from hive_mind.runs.effects import ToolTraits

TIMEOUT_S = 60.0
"""for a tool that says nothing else"""


class Revealed(Protocol):
    """A credential: `reveal` it to its recipient, and to nobody else."""

    def reveal(self) -> str:
        """Its value."""


def _no_credentials(name: str) -> Revealed:
    raise InvalidInput(f"there is no credential {name!r} here: hive-mind credentials set {name}")


AskPerson = Callable[[str], Awaitable[Any]]


class NeedsPerson(Exception):
    """A call can't go on before a person has decided this item; "" where the question finds no room now."""

    def __init__(self, item: str) -> None:
        super().__init__(item)
        self.item = item


async def _nobody(question: str) -> Any:
    raise InvalidInput(f"nobody can be asked here: {question[:80]}")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Of which run, node and call this is. `call` stays the same when an idempotent tool is called again after a crash.

    `credential(name)` gives what `hive-mind credentials set NAME` was given; whatever the tool says is kept without its value.

    `await ask_person(question)` gives a person's answer. The run waits for it, and then calls the tool again from its beginning:
    ask before anything happens.
    """

    run: str = ""
    node: str = ""
    call: str = ""
    agent: str = ""
    credential: Callable[[str], Revealed] = _no_credentials
    ask_person: AskPerson = _nobody


@dataclass(frozen=True, slots=True)
class Tool:
    """`call` gets arguments that fit the schema, and raises `HiveError` for what it can't do; it gives plain data."""

    spec: ToolSpec
    call: Callable[[ToolContext, Arguments], Awaitable[Any]]
    traits: ToolTraits = field(default_factory=ToolTraits)
    timeout_s: float = TIMEOUT_S

    @property
    def name(self) -> str:
        return self.spec.name


@dataclass(frozen=True, slots=True)
class McpServer:
    """`command` starts it, or `url` is where it is. `env`: the variables it sees besides the system's most common ones.

    `idempotent`: tools that may be called twice, by name or pattern ("get_*").
    """

    name: str
    command: Sequence[str] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    idempotent: Sequence[str] = ()


class Toolbox:
    """Tools by name. Raises `InvalidInput` where two have the same."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if self._tools.setdefault(tool.name, tool) is not tool:
                raise InvalidInput(f"there are two tools called {tool.name!r}; rename one of them")

    def get(self, name: str) -> Tool | None:
        """The tool of this name; None where there is none."""
        return self._tools.get(name)

    def chosen(self, patterns: Iterable[str]) -> list[Tool]:
        """Those that a list allows: names, and `server/*` for all of a server."""
        names = tuple(patterns)
        heads = tuple(name[:-1] for name in names if name.endswith("/*"))
        return [tool for name, tool in self._tools.items() if name in names or (heads and name.startswith(heads))]

    @property
    def traits(self) -> Mapping[str, ToolTraits]:
        """The properties of each that a run has to know."""
        return {name: tool.traits for name, tool in self._tools.items()}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)
