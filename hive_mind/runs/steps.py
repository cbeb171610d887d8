"""The steps of a run: what its journal keeps, one entry each. Its state is made of them and of nothing else.

Values as they can be kept: models and tools give halves of surrogate pairs, which no UTF-8 has, and lists in lists.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from hive_mind.errors import InvalidInput, WireError
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.content import ToolCall
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry

PREFIX = "run/"
"""of the streams of runs, followed by a run's id"""
ENDED = "ended"
"""what the last entry of a run that has ended says"""

Outcome = Literal["accepted", "rejected", "exhausted", "failed", "cancelled"]
Values = Mapping[str, Any]

DEPTH_MAX = 100
"""A reader of JSON gives up at some hundreds."""
_CUT = "…"


class _Step(Struct, frozen=True, omit_defaults=True, tag=str.lower, tag_field="step"):
    """`place` is where in the graph it happened."""


class Started(_Step, frozen=True):
    """`worker` is the definition, so that any process can go on with it. `parent`: the run that delegated.

    `stream`: the runs that share values with it; "" for none. `has_rules`: its agent has rules beside the worker's.
    """

    worker: Values
    inputs: Values = field(default_factory=dict)
    parent: str = ""
    stream: str = ""
    has_rules: bool = False


class Resumed(_Step, frozen=True):
    """Another process goes on, or the same after a stop: what it had begun may have happened. `worker`: a newer definition."""

    worker: Values | None = None
    has_rules: bool = False


class Heard(_Step, frozen=True):
    """A person said something."""

    place: str
    text: str
    id: str = ""


class Entered(_Step, frozen=True):
    """A node begins. `told` is the message it begins with. `joins`: the frame whose branches meet here."""

    place: str
    node: str
    frame: str = ""
    branch: int = 0
    told: str = ""
    joins: str = ""


class Forked(_Step, frozen=True):
    """Several edges are followed: a frame with one branch each."""

    frame: str
    place: str
    branches: int


class Arrived(_Step, frozen=True):
    """A branch of a frame came to where branches meet; it waits there for the others."""

    frame: str
    branch: int
    node: str


class Closed(_Step, frozen=True):
    """All branches of a frame ended, and none came to where they would have met."""

    frame: str


class Replied(_Step, frozen=True):
    """A model's turn. `tokens` are what it took, in and out; `usd` what these cost, where a price is known."""

    place: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    is_model: bool = True
    usd: float = 0.0


class Spent(_Step, frozen=True):
    """The usage of a model that chose among edges."""

    place: str
    tokens: int
    usd: float = 0.0


class Known(_Step, frozen=True):
    """The inputs of a node that others have shared, as they were when the node began."""

    place: str
    values: Values = field(default_factory=dict)


class Shared(_Step, frozen=True):
    """Outputs that outlive the run are where others find them. `place` is left already; "" for the agent's memory."""

    place: str


class Intended(_Step, frozen=True):
    """A call that must not happen twice is about to happen."""

    place: str
    call: str


class Returned(_Step, frozen=True):
    """The result of a call. `text` is for the conversation; `value` for an output of a tool node."""

    place: str
    call: str
    text: str
    value: Any = None
    is_error: bool = False
    file: str = ""
    completes: bool = False
    """Nothing more is to be done at this place: it is judged now."""
    tokens: int = 0
    """The tokens of a sub-agent's turns."""
    usd: float = 0.0


class OutputSet(_Step, frozen=True):
    """A node set one of its outputs."""

    place: str
    key: str
    value: Any


class Reported(_Step, frozen=True):
    """A sub-agent told its parent how it goes."""

    place: str
    text: str
    data: Values = field(default_factory=dict)


class Judged(_Step, frozen=True):
    """A judge's verdict on a place; on the whole run where `place` is ""."""

    place: str
    action: JudgmentAction
    reasoning: str = ""
    feedback: str = ""
    cause: str = ""
    judgment: str = ""
    is_again: bool = True
    """RETRY: it is tried again; there are attempts left."""
    rule: str = ""
    """The rule that decided."""


class Warned(_Step, frozen=True):
    """It goes in circles and got a warning."""

    place: str
    text: str


class Parked(_Step, frozen=True):
    """A person was asked. `call`: about this one; "" about the place.

    `is_within`: the call itself waits, such as a sub-agent: it hears the answer when it is called again.
    """

    place: str
    item: str
    why: str
    call: str = ""
    is_within: bool = False


class Answered(_Step, frozen=True):
    """A person's decision on an item. `edit` is an answer, or a value to use instead."""

    item: str
    action: JudgmentAction
    by: str
    because: str = ""
    edit: Any = None

    @property
    def effect(self) -> str:
        """The one that waits for it is called after the item."""
        return self.item


class Left(_Step, frozen=True):
    """A place is done with. `how`: its outputs count only after "success"."""

    place: str
    how: Literal["success", "failure", "cancelled"]


class Replanned(_Step, frozen=True):
    """The planner is to make a new plan. All other places are given up."""

    feedback: Values


class Compacted(_Step, frozen=True):
    """The beginning of a conversation was moved to a file. `tier` 2: older calls went too."""

    place: str
    file: str
    messages: int
    tier: int = 1


class Paused(_Step, frozen=True):
    """Somebody holds it up; whatever was under way may have happened.

    `until_answered`: until a person has a word, be it an answer to what the run asked before.
    """

    by: str
    why: str = ""
    until_answered: bool = False


class Continued(_Step, frozen=True):
    """It may go on."""

    by: str


class Ended(_Step, frozen=True):
    """Nothing more happens."""

    outcome: Outcome
    reason: str = ""


StepAtPlace = Heard | Replied | Known | Intended | Returned | OutputSet | Warned | Compacted
"""Steps about a place where something is under way."""

_StepOnTheWay = Entered | Forked | Arrived | Closed | Judged | Parked | Answered | Left | Replanned | Shared
Step = StepAtPlace | _StepOnTheWay | Started | Resumed | Spent | Reported | Paused | Continued | Ended

_decode: Callable[[bytes | str], Step] = json_decoder(Step)


def entry_of(step: Step, at_ms: int) -> Entry:
    """As it is kept. Raises `InvalidInput` for text or values that can't be."""
    try:
        return Entry(type(step).__name__.lower(), msgspec.json.encode(step), at_ms)
    except UnicodeEncodeError:
        raise InvalidInput("the text contains an unpaired surrogate: give it as UTF-8") from None
    except (TypeError, NotImplementedError) as error:
        raise InvalidInput(f"a run keeps plain values (texts, numbers, lists, mappings): {error}") from None


def step_of(entry: Entry) -> Step:
    """The step of a run's entry. Raises `WireError`."""
    try:
        return _decode(entry.body)
    except msgspec.MsgspecError as error:
        raise WireError(f"entry {entry.seq} of {entry.stream} is not a step of a run ({error}); upgrade hive-mind") from error


def plain(value: Any, depth: int = DEPTH_MAX) -> Any:
    """A value with such halves replaced by "?", also in lists and mappings, and with "…" for what is nested deeper.

    Everything else in it stays as it is.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if not isinstance(value, dict | list | tuple):
        return value
    if not depth:
        return _CUT
    if isinstance(value, dict):
        return {plain(key): plain(part, depth - 1) for key, part in value.items()}
    return [plain(part, depth - 1) for part in value]
