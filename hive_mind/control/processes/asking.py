"""Asking local workers over HTTP: status, a request to an agent, and to leave. `runtime/workers/health.py` is the other end."""

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import msgspec

from hive_mind.errors import BackendTimeout, BackendUnavailable
from hive_mind.runtime.members.members_seen import MembersSeen
from hive_mind.runtime.replies import asked_patiently, reply_of
from hive_mind.runtime.workers.status import Contact, WorkerStatus

if TYPE_CHECKING:
    import aiohttp

_UNAUTHORISED = 401
# A worker that gives up at the end of its time is heard saying so.
_ON_ITS_WAY_S = 5.0


class Asking:
    """Connections to any number of workers, kept open between questions. `close` afterwards."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def status(self, contact: Contact, timeout_s: float) -> WorkerStatus:
        """How it is. Raises `BackendUnavailable` or `BackendTimeout`."""
        body = await self._said("GET", contact, "/v1/status", None, timeout_s)
        try:
            return msgspec.json.decode(body, type=WorkerStatus)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BackendUnavailable(contact.process, f"malformed status reply: {error}") from error

    async def call(self, contact: Contact, agent: str, request: Mapping[str, object], timeout_s: float) -> Any:
        """Put a request to an agent. Raises what it refuses with, as `AgentFailed` where that is no mistake of the asker."""

        async def asked() -> Any:
            return reply_of(agent, await self._said("POST", contact, f"/v1/agents/{agent}", request, timeout_s))

        return await asked_patiently(asked)

    async def leave(self, contact: Contact, timeout_s: float) -> None:
        """Let its nodes leave their hive. Raises `BackendTimeout` where they can't in time."""
        said = await self._said("POST", contact, "/v1/leave", {"timeout_s": timeout_s}, timeout_s + _ON_ITS_WAY_S)
        reply_of(contact.process, said)

    async def members(self, contact: Contact, timeout_s: float) -> tuple[MembersSeen, ...]:
        """The members of its hive, as each of its nodes sees them."""
        said = reply_of(contact.process, await self._said("GET", contact, "/v1/members", None, timeout_s))
        try:
            return msgspec.convert(said, tuple[MembersSeen, ...])
        except msgspec.ValidationError as error:
            raise BackendUnavailable(contact.process, f"malformed reply about members: {error}") from error

    async def evict(self, contact: Contact, member: str, timeout_s: float) -> None:
        """Let it put a member out of its hive."""
        reply_of(contact.process, await self._said("POST", contact, "/v1/evict", {"member": member}, timeout_s))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _said(self, method: str, contact: Contact, path: str, request: object, timeout_s: float) -> bytes:
        # Only where there is a worker to ask: it takes as long to load as all the rest here.
        import aiohttp

        if self._session is None:
            # As many at once as there are workers: the slowest is what a look at all of them costs.
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        # As a file, so that a large one does not hold up the loop.
        body = None if request is None else BytesIO(msgspec.json.encode(request))
        headers = {"Authorization": f"Bearer {contact.token}"}
        url = f"http://127.0.0.1:{contact.port}{path}"
        within = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with self._session.request(method, url, data=body, headers=headers, timeout=within) as response:
                if response.status == _UNAUTHORISED:
                    raise BackendUnavailable(contact.process, f"another process listens on port {contact.port}")
                return await response.read()
        except TimeoutError as error:
            raise BackendTimeout(contact.process, f"no answer in {timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise BackendUnavailable(contact.process, f"it can't be reached: {error}") from error
