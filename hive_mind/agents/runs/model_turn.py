"""A model's turn in a run: its prompt, the tools it may call now, and its reply, or a choice among edges.

Each turn and each sub-agent reserves the tokens and money it may take before it begins, and holds it until the step that counts
it is kept. One that finds too little left waits for the others; one that is alone gets what is left, and at least one turn. After
a crash nothing is held: turns under way are asked for again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from msgspec import json
from msgspec.structs import replace as changed

from hive_mind.agents.runs.run_files import RunFiles
from hive_mind.agents.runs.run_parts import RunParts
from hive_mind.agents.runs.run_tools import RunTools
from hive_mind.cognition.budget import usd_of
from hive_mind.errors import ModelOutputError
from hive_mind.llm.base import LanguageModel, OnText, Usage
from hive_mind.model.dialogue import Message, Reply, ToolSpec, Turn
from hive_mind.retry import retried
from hive_mind.runs.compaction import tokens_of
from hive_mind.runs.effects import CallModel, Choose, Chose, ModelSaid
from hive_mind.runs.graphs.spec import Limits
from hive_mind.runs.prompt import PromptContext, instructions, messages
from hive_mind.runs.state import Left, RunState, left_of, part_of

_USEFUL_TOKENS = 256
"""A reply that has fewer is likely to be cut; others may leave more."""


@dataclass(slots=True)
class Budget:
    """Of one run, as its executor has it. `state`: as far as the run has come."""

    state: Callable[[], RunState]
    _held: dict[str, Left] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def turn(self, id: str, prompt: int, most: int, usd_of: Callable[[int], float]) -> int:
        """How many tokens a reply to a prompt of this size may have. `usd_of`: what such a reply costs, with its prompt."""
        while True:
            left = self._left()
            reply = max(1, min(most, left.tokens - prompt))
            is_enough = left.tokens >= prompt + min(most, _USEFUL_TOKENS) and (left.usd is None or usd_of(reply) <= left.usd)
            if is_enough or not self._held:
                self._held[id] = Left(prompt + reply, usd_of(reply))
                return reply
            await self._changed.wait()

    def part(self, id: str, among: int) -> Limits:
        """The limits of one sub-agent, where this many turns and sub-agents have not reserved yet, itself included."""
        limits = part_of(self.state().spec.limits, self._left(), among)
        self.hold(id, limits)
        return limits

    def hold(self, id: str, limits: Limits) -> None:
        """For a sub-agent that has begun."""
        self._held[id] = Left(limits.tokens, limits.usd)

    def holds(self, id: str) -> bool:
        """Whether something is reserved for it."""
        return id in self._held

    def release(self, id: str) -> None:
        """Release its reservation: its use is counted, or it takes nothing any more."""
        if self._held.pop(id, None):
            self._changed.set()
            self._changed = asyncio.Event()

    def _left(self) -> Left:
        left = left_of(self.state())
        tokens = left.tokens - sum(held_left.tokens for held_left in self._held.values())
        return Left(
            tokens, None if left.usd is None else left.usd - sum(held_left.usd or 0.0 for held_left in self._held.values())
        )


Listen = Callable[[str], OnText | None]
"""asked at each turn who listens at its node: gets each piece of what the model says there, as it comes"""
_CHOOSE = "Choose where to go on by calling choose."
_REPLY_TOKENS = 4_096
CALLS_MAX = 100
"""of one turn: all of them run at once"""


def nobody(_: str) -> None:
    """Listens."""


@dataclass(frozen=True, slots=True)
class ModelTurns:
    """Of one run."""

    parts: RunParts
    model: LanguageModel
    tools: RunTools
    files: RunFiles
    budget: Budget
    listen: Listen

    async def reply(self, state: RunState, effect: CallModel) -> ModelSaid:
        """The model's reply and its cost. Raises `BackendError` when the model can't be had, however often it was tried."""
        place = state.places[effect.place]
        node = state.spec.by_id[place.node]
        around = PromptContext(self.files.adapt(), self.files.data_files(), self.files.conversations())
        prompt = instructions(state, place, around, is_last=effect.is_last)
        specs = self.tools.offered(node, is_last=effect.is_last)
        reply = await self._paid(effect.id, Turn(prompt, messages(place), tuple(specs), _REPLY_TOKENS), node.id)
        if (count := len(reply.calls)) > CALLS_MAX:
            raise ModelOutputError(f"{self.model.name} gave {count:,} tool calls in one turn; the limit is {CALLS_MAX}")
        return ModelSaid(effect.id, reply, self._usd_of(reply))

    async def choose(self, state: RunState, effect: Choose) -> Chose:
        """The node to go on with, and what it took. Raises `ModelOutputError` for a reply that names none, and `BackendError`."""
        place = state.places[effect.place]
        prompt = instructions(state, place, PromptContext(self.files.adapt()))
        spec = _choice(effect.among)
        turn = Turn(prompt, (*messages(place), Message("user", _CHOOSE)), (spec,), _REPLY_TOKENS, must_call=True)
        reply = await self._paid(effect.id, turn)
        for call in reply.calls:
            target = call.arguments.get("target")
            if target in [node for node, _ in effect.among]:
                return Chose(effect.id, str(target), reply.input_tokens + reply.output_tokens, self._usd_of(reply))
        raise ModelOutputError(f"{self.model.name} did not choose one of {', '.join(node for node, _ in effect.among)}")

    async def _paid(self, id: str, turn: Turn, node: str = "") -> Reply:
        """Within what it may take while others are under way."""
        prompt = _prompt_tokens(turn)
        most = await self.budget.turn(
            id, prompt, turn.max_output_tokens, lambda reply: self._usd_of(Reply("", (), prompt, reply))
        )
        return await self._converse(changed(turn, max_output_tokens=most), node)

    def _usd_of(self, reply: Reply) -> float:
        return usd_of(self.model.name, Usage(reply.input_tokens, reply.output_tokens, 1)) or 0.0

    async def _converse(self, turn: Turn, node: str = "") -> Reply:
        # Heard at the first try only: nothing is heard twice, and a server that can't stream is asked for all of it at once.
        listeners = [self.listen(node)] if node else []

        def once() -> Awaitable[Reply]:
            return self.model.converse(turn, listeners.pop() if listeners else None)

        return _counted(turn, await retried(once, self.parts.retry, rng=self.parts.rng))


def _counted(turn: Turn, reply: Reply) -> Reply:
    """With the tokens it took: estimated where its provider does not count, or counts backwards: a limit would bound nothing."""
    if min(reply.input_tokens, reply.output_tokens) >= 0 < reply.input_tokens + reply.output_tokens:
        return reply
    return changed(
        reply, input_tokens=_prompt_tokens(turn) + 1, output_tokens=tokens_of([Message("assistant", reply.text, reply.calls)]) + 1
    )


def _prompt_tokens(turn: Turn) -> int:
    """Rather too many than too few."""
    tools = json.encode(turn.tools).decode()
    return tokens_of([Message("user", turn.instructions), Message("user", tools), *turn.messages])


def _choice(among: Sequence[tuple[str, str]]) -> ToolSpec:
    choices = "; ".join(f"{node}: {description or node}" for node, description in among)
    target = {"type": "string", "enum": [node for node, _ in among], "description": choices}
    return ToolSpec("choose", _CHOOSE, {"type": "object", "properties": {"target": target}, "required": ["target"]})
