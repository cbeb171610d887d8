"""Effects: what a run wants done; and events: what came of it. An effect keeps its id over a crash: it is the same effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.model.dialogue import Reply, ToolCall
from hive_mind.runs.graphs.spec import Scope, WorkerSpec

AskKind = Literal["judgment", "tool", "question"]


@dataclass(frozen=True, slots=True)
class ToolTraits:
    """Properties of a tool that a run has to know. One that is not idempotent is never called twice without a person's word."""

    is_idempotent: bool = True
    needs_approval: bool = False


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """A worker with what it may use."""

    spec: WorkerSpec
    traits: Mapping[str, ToolTraits] = field(default_factory=dict)
    has_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effect:
    id: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallModel(_Effect):
    """A model's turn. In the last one it can only report."""

    is_last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTool(_Effect):
    """One call; `number` is that of the file its result goes to."""

    call: ToolCall
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskJudge(_Effect):
    """Judge a place, or the whole where `place` is ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose(_Effect):
    """Which of these edges to follow: (node, when to choose it)."""

    among: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPerson(_Effect):
    """Lay an item down. `subject` names what it is about, the same after a crash."""

    kind: AskKind
    title: str
    why: str
    call: str = ""
    shown: Mapping[str, Any] = field(default_factory=dict)
    judged: str = ""
    """The judgement that a person is asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitDecision(_Effect):
    """Somebody was asked. The effect's id is the item's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact(_Effect):
    """Move this much of the beginning of a conversation to a file."""

    file: str
    messages: int
    tier: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadShared(_Effect):
    """Look up what others share of a node's inputs."""

    keys: Mapping[str, Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(_Effect):
    """Put outputs where others find them. `left`: the place that set them and was left; "" for the agent's memory."""

    left: str
    keys: Mapping[str, Scope]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeIn(_Effect):
    """After this time the place has failed; where `place` is "", the run is exhausted."""

    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proceed(_Effect):
    """Nothing has to be done outside: the next steps follow of themselves."""

    kind: Literal["call", "intend", "leave", "used up", "circle", "exhausted", "finish"]
    why: str = ""
    call: str = ""


Effect = CallModel | CallTool | AskJudge | Choose | AskPerson | AwaitDecision | Compact | ReadShared | Share | WakeIn | Proceed


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: `text` for the conversation, `value` for an output, and the files it wants kept."""

    text: str
    value: Any = None
    is_error: bool = False
    file: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    report: tuple[str, Mapping[str, Any]] | None = None
    completes: bool = False
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """A model's reply to `CallModel`."""

    effect: str
    reply: Reply
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolGave:
    """The result of `CallTool`."""

    effect: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class CallWaits:
    """`CallTool` can't go on before a person has decided these items, which were asked from within it."""

    effect: str
    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class JudgeSaid:
    """The judgement that `AskJudge` wanted."""

    effect: str
    judgment: Judgment


@dataclass(frozen=True, slots=True)
class Chose:
    """The node that `Choose` wanted."""

    effect: str
    target: str
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class ItemOpened:
    """The item that `AskPerson` wanted is there."""

    effect: str
    item: str


@dataclass(frozen=True, slots=True)
class PersonDecided:
    """A person decided what `AwaitDecision` waits for."""

    effect: str
    action: JudgmentAction
    by: str
    because: str = ""
    edit: Any = None


@dataclass(frozen=True, slots=True)
class SharedValuesRead:
    """The values that `ReadShared` found; a key that nobody has set is not there."""

    effect: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """`Compact`, `Share`, `WakeIn` or `Proceed` has happened."""

    effect: str


@dataclass(frozen=True, slots=True)
class Failed:
    """An effect could not be had, however often it was tried."""

    effect: str
    why: str


@dataclass(frozen=True, slots=True)
class Word:
    """A person's message to a node that waits for one. The same id counts once."""

    text: str
    id: str = ""


Event = (
    ModelSaid | ToolGave | CallWaits | JudgeSaid | Chose | ItemOpened | PersonDecided | SharedValuesRead | Done | Failed | Word
)
