"""A request to a worker whose reply comes as server-sent events, with how far it is before that."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import msgspec

from hive_mind.errors import BackendTimeout, BackendUnavailable
from hive_mind.mcp.results import OnProgress
from hive_mind.runtime.replies import reply_of

# A worker says every 15 s that it is still there.
_SILENT_S = 60.0


async def reply_in_events(name: str, url: str, token: str, what: str, fields: Mapping[str, object], progress: OnProgress) -> Any:
    """The agent's answer. Raises what it refuses with, and `BackendUnavailable` where it ends before it has answered."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", "Content-Type": "application/json"}
    within = aiohttp.ClientTimeout(total=None, sock_read=_SILENT_S)
    try:
        async with (
            aiohttp.ClientSession(headers=headers, timeout=within) as session,
            session.post(f"{url}/{what}", data=msgspec.json.encode(fields)) as response,
        ):
            if response.content_type != "text/event-stream":
                return reply_of(name, await response.read())
            async for event, data in _events(response.content):
                if event == b"progress":
                    says = msgspec.json.decode(data)
                    await progress(says["done"], says["total"])
                else:
                    return reply_of(name, data)
    except TimeoutError as error:
        raise BackendTimeout(name, f"its process said nothing for {_SILENT_S:g} s") from error
    except (aiohttp.ClientError, OSError) as error:
        raise BackendUnavailable(name, f"its process can't be reached: {error}") from error
    raise BackendUnavailable(name, "its process ended before it answered")


async def _events(content: aiohttp.StreamReader) -> AsyncIterator[tuple[bytes, bytes]]:
    # A reply is one line, of any length.
    rest = b""
    async for some in content.iter_any():
        *blocks, rest = (rest + some).split(b"\n\n")
        for block in blocks:
            said = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
            if said:
                yield said[b"event"], said[b"data"]
