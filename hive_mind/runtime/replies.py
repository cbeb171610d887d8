"""The answers of an agent of another process, and the errors that an answer may stand for."""

import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from hive_mind.errors import (
    BackendBusy,
    BackendError,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    HiveError,
    InvalidInput,
)
from hive_mind.retry import RetrySettings, retried

T = TypeVar("T")

# Half a minute in all: the client still waits for the answer.
_WHILE_BUSY = RetrySettings(attempts_max=8, delay_max_s=8.0)


class AgentFailed(BackendError):
    """An agent answered a request with an error. `kind` is the name of that error."""

    def __init__(self, name: str, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(name, message)


def refusal(error: HiveError) -> dict[str, Any]:
    """An error as an answer, which `reply_of` reads."""
    reply = {"error": str(error), "kind": type(error).__name__}
    return reply | ({"retry_after_s": error.retry_after_s} if isinstance(error, BackendThrottled) else {})


def reply_of(name: str, body: bytes) -> Any:
    """The answer. Raises an error that it stands for, as if it had been asked in this process, or `AgentFailed`."""
    try:
        reply = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackendUnavailable(name, "it answered with something that is not a reply") from error
    if "error" not in reply:
        return reply.get("ok")
    kind, message = str(reply.get("kind", "")), str(reply["error"])
    match kind:
        case "InvalidInput":
            raise InvalidInput(message)
        case "BackendTimeout":
            raise BackendTimeout(name, message)
        case "BackendUnavailable":
            raise BackendUnavailable(name, message)
        case "BackendBusy":
            wish = reply.get("retry_after_s")
            raise BackendBusy(name, message, wish if isinstance(wish, int | float) else None)
    raise AgentFailed(name, kind, message)


async def asked_patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer, asked for again where the other process has too much to do. Raises what `ask` raises."""
    return await retried(ask, _WHILE_BUSY, rng=random.Random(), only=BackendBusy)  # noqa: S311 - spreads attempts in time
