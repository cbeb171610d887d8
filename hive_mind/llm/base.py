"""The interface of a language model: take one prompt or a conversation, give one reply, and say its cost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hive_mind.model.content import Reply, Turn


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call or of many added up."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens, self.calls + other.calls)


OnText = Callable[[str], None]
"""Hears a piece of what a model says."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """`instructions` say what to do and come from us; `text` is what to do it to and may come from anybody."""

    instructions: str
    text: str
    max_output_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply and what it cost."""

    text: str
    usage: Usage


class LanguageModel(Protocol):
    """One configured model."""

    @property
    def name(self) -> str:
        """As the user gave it, e.g. "openai:gpt-5-mini"."""

    async def complete(self, prompt: Prompt) -> Completion:
        """One request, one reply.

        Raises `BackendThrottled`, `BackendTimeout`, `BackendUnavailable` (all retryable) or `BackendRejected`.
        """

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        """One turn of a conversation: what it says, and the tools it wants called. Raises like `complete`.

        `on_text` gets what it says piece by piece, as it comes; the reply has all of it once more.
        """

    async def close(self) -> None:
        """Release connections."""
