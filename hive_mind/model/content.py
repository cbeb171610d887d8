"""Input: raw content, the episode it is kept as, the candidates a reader takes out of it, and the source it is from; and a
conversation with a language model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

Arguments = Mapping[str, Any]

# English text has about four bytes to a token; code and other scripts have fewer. Three errs on the safe side.
BYTES_PER_TOKEN = 3


class ToolSpec(Struct, frozen=True):
    """A tool as a model sees it. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Arguments


class ToolCall(Struct, frozen=True):
    """A model wants a tool called. `id` names the call within its conversation."""

    id: str
    name: str
    arguments: Arguments = field(default_factory=dict)


class Message(Struct, frozen=True, omit_defaults=True):
    """One message. An assistant's may have calls; one of role "tool" answers the call named in `call`."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    name: str = ""
    """Of the tool that answers."""
    is_error: bool = False


class Turn(Struct, frozen=True):
    """All that a model is given for one reply. It has to call one of `tools` where `must_call` says so."""

    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int = 4_096
    must_call: bool = False


class Reply(Struct, frozen=True, omit_defaults=True):
    """A model's words, the calls it wants, and the tokens that took."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0


SOURCE = "user"
"""The source of content given without one."""


@dataclass(frozen=True, slots=True)
class Content:
    """A piece of text given to an agent to learn.

    `source` is the provenance root that vouches for it (a file, a person, a feed). Only another source confirms a fact.
    `said_at` is when the text was said or written, ISO 8601 as precise as known ("2023-05", "2023-05-08T13:56"), or "".
    `is_whole`: this is all that the source says now (a file), in place of its former statements, and not one more of them.
    """

    text: str
    source: str
    said_at: str = ""
    speaker: str = ""
    title: str = ""
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """Content as it is kept: verbatim, and found again from every fact that derives from it.

    `learned_at_us` is microseconds since 1970-01-01 UTC.
    """

    id: str
    text: str
    source: str
    said_at: str
    learned_at_us: int
    speaker: str = ""
    title: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement taken out of content: extracted, unchecked, not yet kept.

    `concept` is its topic (004 calls it `context`), `confidence` is in [0, 1]. `before` is the text just before it in the same
    conversation or section: it helps to find the fact and is never shown as part of it. `keeps_lines`: its line breaks are part
    of it, as in code. `copied_from`: the digest of the source of which its own is a copy (`ids.source_digest`), or "".
    """

    content: str
    concept: str
    confidence: float
    said_at: str = ""
    speaker: str = ""
    before: str = ""
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    keeps_lines: bool = False
    copied_from: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Words of the content that became no statement, and why."""

    text: str
    reason: str


class SourceNote(msgspec.Struct, frozen=True):
    """`at_us` is microseconds since 1970-01-01 UTC, `digest` of the bytes that were read or "", `left_out` a count by reason."""

    at_us: int = 0
    digest: str = ""
    left_out: dict[str, int] = {}


class KnownSource(msgspec.Struct, frozen=True):
    """`facts` are current; `former` ones it said before, or a person replaced. `learned_at_us` is that of its last text.

    `vouches`: some facts count on it.
    """

    source: str
    vouches: bool
    facts: int
    former: int
    learned_at_us: int
    digest: str = ""
    left_out: dict[str, int] = {}
