"""The state that the steps of a run come to: where it is, its conversation, the effects that wait, and the values known so far.

The limits it is bound by: turns, tokens, money and time. The last turn of a budget can only report the facts known.

Going in circles: the same calls with the same arguments and the same results, turn after turn.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from hive_mind.model.content import Message, ToolCall
from hive_mind.regex import regex
from hive_mind.runs.spec import FEEDBACK, NodeSpec, WorkerSpec
from hive_mind.runs.steps import Outcome, Reported

Phase = Literal["read", "think", "act", "judge", "choose", "wait", "parked", "paused"]
"""read: what others share is looked up · think: a turn is due · act: calls are out · judge · choose: among edges · wait: for a
word · parked: a person decides about the place · paused: a person says whether to begin"""
CallPhase = Literal["new", "allowed", "intended", "uncertain", "done"]

TURNS = 3
"""This many equal turns are a loop: two may be polls of something that had no time to change."""
WARNING = (
    "You made the same calls with the same arguments and got the same results {turns} times in a row. "
    "Do something else: try other arguments or another tool, set what you know, or ask a person."
)

_SHOWN_POINTER = regex(r"\n\[(?:Saved to '|Result from )[^\n]*\]\Z")


class Call(msgspec.Struct, frozen=True):
    """A call of the turn that is under way. `number` is that of the file its result goes to."""

    call: ToolCall
    number: int
    phase: CallPhase = "new"
    text: str = ""
    is_error: bool = False
    asked: int = 0
    """How often a person was asked about it."""


class Waiting(msgspec.Struct, frozen=True):
    """An item that a person has not decided yet."""

    place: str
    call: str
    is_within: bool = False
    """Asked from within the call, which hears the answer when it is called again."""


class ActiveNode(msgspec.Struct, frozen=True):
    """A node at work."""

    id: str
    node: str
    frame: str = ""
    branch: int = 0
    phase: Phase = "think"
    attempt: int = 1
    """Never the same twice: calls and questions are named after it."""
    forgiven: int = 0
    """Attempts before a person let it try again: they do not count any more."""
    turns: int = 0
    """Of this attempt."""
    messages: tuple[Message, ...] = ()
    calls: Mapping[str, Call] = msgspec.field(default_factory=dict)
    outputs: Mapping[str, Any] = msgspec.field(default_factory=dict)
    known: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The inputs that others have shared."""
    errors: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    """Digests of the last turns: calls, arguments, results."""
    is_warned: bool = False
    is_approved: bool = False
    asked: int = 0
    why: str = ""
    judged: str = ""
    """The last judgement of it."""
    rule: str = ""
    """The rule that made it."""
    active_ms: int = 0
    compactions: int = 0

    @property
    def tries(self) -> int:
        return self.attempt - self.forgiven


class BranchFrame(msgspec.Struct, frozen=True):
    """Branches that run at once. `parent`, `branch`: where it was opened."""

    id: str
    parent: str
    branch: int
    live: frozenset[int]
    messages: tuple[Message, ...]
    arrived: Mapping[int, str] = msgspec.field(default_factory=dict)


class RunState(msgspec.Struct, frozen=True):
    """`seq` is the number of steps. Times are in milliseconds; `active_ms` leaves out what was spent waiting for people."""

    seq: int = 0
    worker: WorkerSpec | None = None
    inputs: Mapping[str, Any] = msgspec.field(default_factory=dict)
    parent: str = ""
    stream: str = ""
    places: Mapping[str, ActiveNode] = msgspec.field(default_factory=dict)
    frames: Mapping[str, BranchFrame] = msgspec.field(default_factory=dict)
    left: ActiveNode | None = None
    """The place that was left last: the next node goes on with its conversation."""
    waiting: Mapping[str, Waiting] = msgspec.field(default_factory=dict)
    buffer: Mapping[str, Any] = msgspec.field(default_factory=dict)
    unshared: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    """Accepted outputs on their way to others, by the place that set them; under "", those for the agent's memory."""
    path: tuple[str, ...] = ()
    visits: Mapping[str, int] = msgspec.field(default_factory=dict)
    done: tuple[str, ...] = ()
    failed: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    """Nodes that failed, with attempts and errors."""
    violated: tuple[str, ...] = ()
    entered: int = 0
    files: int = 0
    """Results were numbered up to here."""
    conversations: int = 0
    turns: int = 0
    tokens: int = 0
    usd: float = 0.0
    replans: int = 0
    reports: tuple[Reported, ...] = ()
    completed: str = ""
    """A sub-agent's word for its parent, as it said that it is complete."""
    heard: frozenset[str] = frozenset()
    asked: int = 0
    """How often a person was asked about the whole."""
    is_judged: bool = False
    is_accepted: bool = False
    """The whole, by a judge or a person."""
    judged: str = ""
    """The last judgement of the whole."""
    overruled: frozenset[str] = frozenset()
    """Rules that stopped an output which a person approved: the whole is not stopped by them again."""
    has_rules: bool = False
    """Its agent has rules beside the worker's."""
    paused: str = ""
    """Why somebody holds it up."""
    is_paused_until_answered: bool = False
    outcome: Outcome | None = None
    reason: str = ""
    begun_ms: int = 0
    at_ms: int = 0
    active_ms: int = 0

    @property
    def spec(self) -> WorkerSpec:
        """The worker's. Only of a run that was started."""
        assert self.worker is not None  # noqa: S101 - `Started` is the first step
        return self.worker

    def known_at(self, place: ActiveNode) -> Mapping[str, Any]:
        """The values that a node may be shown: those of the run, and those of its inputs that others share."""
        return {**self.buffer, **place.known}

    @property
    def outputs(self) -> Mapping[str, Any]:
        """The values that its nodes set."""
        return {key: value for key, value in self.buffer.items() if key not in self.inputs and key != FEEDBACK}

    @property
    def due(self) -> Mapping[str, Mapping[str, Any]]:
        """The outputs that others may have now. Where a goal judges the whole, none before that; and the agent remembers none
        of a run that may still be rejected.
        """
        if self.worker is None or self.outcome is not None:
            return {}
        if self.is_accepted or not (self.judges_whole or self.places):
            return self.unshared
        return {} if self.judges_whole else {place: values for place, values in self.unshared.items() if place}

    @property
    def judges_whole(self) -> bool:
        """Whether what it comes to is judged. A sub-agent's outputs are judged once: they are all that it comes to."""
        return self.spec.goal is not None or (not self.parent and (self.has_rules or bool(self.spec.rules)))

    @property
    def listening(self) -> Mapping[str, str]:
        """The nodes that wait for a person's next word, and the last thing each said."""
        return {place.node: place.messages[-1].text for place in self.places.values() if place.phase == "wait"}

    @property
    def is_whole(self) -> bool:
        """Nothing is left to do but to judge the whole."""
        return self.seq > 0 and not self.places and not self.due and self.outcome is None

    @property
    def is_waiting(self) -> bool:
        """Nothing happens before a person says something."""
        if self.paused:
            return self.outcome is None
        if self.outcome is not None or self.is_whole:
            return self.outcome is None and bool(self.waiting)
        return not self.due and all(self.waits(place) for place in self.places.values())

    def waits(self, place: ActiveNode) -> bool:
        """Whether nothing happens at this place before a person says something."""
        calls_asked = {item.call for item in self.waiting.values() if item.place == place.id}
        if place.phase == "act":
            return all(call.phase == "done" or id in calls_asked for id, call in place.calls.items())
        return place.phase == "wait" or bool(calls_asked)


def without_pointer(text: str) -> str:
    """The text of `prompt.shown` without the file's name: the same result in two files is one."""
    return _SHOWN_POINTER.sub("", text)


def digest_of(calls: Iterable[Call]) -> str:
    """Of the calls of a turn and what they gave, whatever their ids. Where files were named, their numbers do not count."""
    contents = [[call.call.name, call.call.arguments, without_pointer(call.text)] for call in calls]
    return blake2b(json.dumps(contents, sort_keys=True, default=str).encode(errors="replace"), digest_size=8).hexdigest()


def is_circling(place: ActiveNode) -> bool:
    """Whether the last turns were all alike."""
    return len(place.recent) == TURNS and len(set(place.recent)) == 1


_ALMOST = 0.9
"""From this share of the tokens or the money on, a turn may be the last that can be paid."""


def is_spent(state: RunState) -> str:
    """Why no further turn may be asked for, or ""."""
    limits = state.spec.limits
    if state.turns >= limits.turns:
        return f"all {limits.turns} turns of the run are used"
    if state.tokens >= limits.tokens:
        return f"{state.tokens:,} of {limits.tokens:,} tokens are used"
    if limits.usd is not None and state.usd >= limits.usd:
        return f"{state.usd:.4f} of {limits.usd:g} US dollars are used"
    return ""


def is_last(state: RunState, place: ActiveNode, node: NodeSpec) -> bool:
    """Whether the turn to come is the last one, of the run or of this attempt."""
    limits = state.spec.limits
    return (
        state.turns + 1 >= limits.turns
        or state.tokens >= _ALMOST * limits.tokens
        or (limits.usd is not None and state.usd >= _ALMOST * limits.usd)
        or (place.turns + 1 >= node.turns and place.tries >= node.attempts)
    )
