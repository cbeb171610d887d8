"""A resident agent, asked without loading what knows fleets: in a quarter of the time."""

from pathlib import Path

import msgspec

from hive_mind.control import RESIDENT
from hive_mind.file_lock import is_locked
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.asking import ProcessAgent
from hive_mind.runtime.worker_http import SILENCE_S, body_within, request_bytes
from hive_mind.runtime.workers.status import Contact, WorkerStatus

_LOOK_S = 2.0


def resident(home: Path, agent: str, silence_s: float = SILENCE_S) -> ProcessAgent | None:
    """None where it doesn't run or has no such agent, and where other fleets of this home may be meant."""
    try:
        if [folder.name for folder in (home / "fleets").iterdir() if folder.is_dir()] != [RESIDENT]:
            return None
        (file,) = (home / "fleets" / RESIDENT / "run").glob("*.json")
        contact = json_decoder(Contact)(file.read_bytes())
        request = request_bytes("GET", "/v1/status", contact.token, b"")
        status = json_decoder(WorkerStatus)(body_within(contact.port, request, _LOOK_S))
    except (OSError, ValueError, msgspec.DecodeError):
        return None
    is_there = any(agent_status.name == agent and agent_status.phase != "failed" for agent_status in status.agents)
    return ProcessAgent(RESIDENT, agent, contact, silence_s) if is_there and status.phase == "ready" else None


def is_to_be_started(home: Path) -> bool:
    """Whether a home has no other fleet than the resident one, and nothing of that runs, as its files tell."""
    fleets = home / "fleets"
    names = [folder.name for folder in fleets.iterdir() if folder.is_dir()] if fleets.is_dir() else []
    return {*names} <= {RESIDENT} and not any(map(is_locked, (fleets / RESIDENT / "run").glob("*.lock")))
