"""What an agent of another process answered, and the errors that an answer may stand for."""

from typing import Any

import msgspec

from hive_mind.errors import BackendError, BackendTimeout, BackendUnavailable, InvalidInput


class AgentFailed(BackendError):
    """An agent answered a request with an error. `kind` is the name of that error."""

    def __init__(self, name: str, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(name, message)


def reply_of(name: str, body: bytes) -> Any:
    """The answer. Raises an error that it stands for, as if it had been asked in this process, or `AgentFailed`."""
    try:
        reply = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackendUnavailable(name, "it answered with something that is no reply") from error
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
    raise AgentFailed(name, kind, message)
