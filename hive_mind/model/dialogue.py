"""A conversation with a language model: messages, the tools it may call, and its replies."""

from collections.abc import Mapping
from typing import Any, Literal

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
