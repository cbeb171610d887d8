"""A resident agent, asked without loading what knows fleets: in a quarter of the time."""

import asyncio
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.control import RESIDENT
from hive_mind.errors import BackendUnavailable
from hive_mind.file_lock import is_locked
from hive_mind.runtime import CALL_S
from hive_mind.runtime.replies import asked_patiently, reply_of
from hive_mind.runtime.workers.status import Contact, WorkerStatus

_LOOK_S = 2.0


@dataclass(frozen=True, slots=True)
class DirectAgent:
    """One agent whose process answers. See `cli.fleet.agents.FleetAgent`."""

    contact: Contact
    name: str
    fleet: str = RESIDENT

    async def call(self, what: str, /, **fields: object) -> Any:
        """Put a request to it, see `runtime.calls`. Raises `HiveError`."""
        body = msgspec.json.encode({"do": what, **fields})
        return await asked_patiently(lambda: self._asked(body))

    async def _asked(self, body: bytes) -> Any:
        try:
            said = await asyncio.to_thread(_said, self.contact, "POST", f"/v1/agents/{self.name}", body, CALL_S)
        except (OSError, HTTPException) as error:
            raise BackendUnavailable(self.name, f"its process can't be reached: {error}") from error
        return reply_of(self.name, said)


def resident(home: Path, agent: str) -> DirectAgent | None:
    """None where it doesn't run or has no such agent, and where other fleets of this home may be meant."""
    try:
        if [folder.name for folder in (home / "fleets").iterdir() if folder.is_dir()] != [RESIDENT]:
            return None
        (file,) = (home / "fleets" / RESIDENT / "run").glob("*.json")
        contact = msgspec.json.decode(file.read_bytes(), type=Contact)
        status = msgspec.json.decode(_said(contact, "GET", "/v1/status", None, _LOOK_S), type=WorkerStatus)
    except (OSError, HTTPException, ValueError, msgspec.DecodeError):
        return None
    is_there = any(one.name == agent and one.phase != "failed" for one in status.agents)
    return DirectAgent(contact, agent) if is_there and status.phase == "ready" else None


def is_to_be_started(home: Path) -> bool:
    """Whether a home has no other fleet than the resident one, and nothing of that runs, as its files tell."""
    fleets = home / "fleets"
    names = [folder.name for folder in fleets.iterdir() if folder.is_dir()] if fleets.is_dir() else []
    return {*names} <= {RESIDENT} and not any(map(is_locked, (fleets / RESIDENT / "run").glob("*.lock")))


def _said(contact: Contact, method: str, path: str, body: bytes | None, timeout_s: float) -> bytes:
    connection = HTTPConnection("127.0.0.1", contact.port, timeout=timeout_s)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {contact.token}"})
        return connection.getresponse().read()
    finally:
        connection.close()
