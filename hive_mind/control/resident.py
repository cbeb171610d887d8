"""The agents of a home that are in no fleet, kept open by one process: a fleet of its own whose manifest is written here."""

import json
from contextlib import suppress
from typing import Any

from hive_mind.control import RESIDENT
from hive_mind.control.controller import HiveController
from hive_mind.control.converging import Outcome
from hive_mind.control.locking import FleetChanged, FleetLocked
from hive_mind.control.manifests.manifest import API_VERSION
from hive_mind.control.manifests.reading import read_text
from hive_mind.runtime.settings import Settings, secret

_TRIES = 10
# An agent that nobody asks lets go of its index: a home may have many.
_SLEEP_AFTER_S = 600


async def keep_open(controller: HiveController, agent: str, settings: Settings) -> Outcome:
    """Start the process of the resident fleet, with this agent beside those it has. Raises `HiveError`.

    Settings that embed or name a language model hold for all of its agents.
    """
    for _ in range(_TRIES - 1):
        # Another client does the same at this moment.
        with suppress(FleetChanged, FleetLocked):
            return await _apply(controller, agent, settings)
    return await _apply(controller, agent, settings)


async def _apply(controller: HiveController, agent: str, settings: Settings) -> Outcome:
    known = controller.folder.state().agents if controller.folder.exists else ()
    text = json.dumps(_manifest([*dict.fromkeys([*known, agent])], settings), indent=2)
    return await controller.apply(read_text(text, settings.home.absolute(), "the resident agents"))


def _manifest(agents: list[str], settings: Settings) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "topology": "single",
        "agents": [{"name": name, "resources": {"sleepAfterS": _SLEEP_AFTER_S}} for name in agents],
        "embedding": {"kind": settings.embed},
        # All in one process: each further one would load its own models.
        "platform": {"kind": "local", "agentsPerProcess": 1000},
    }
    if settings.embed != "none":
        spec["embedding"] |= {"model": settings.embed_model}
    if settings.embed == "openai":
        spec["embedding"] |= _endpoint(settings.embed_url, "EMBED_KEY")
    if settings.llm:
        spec["llm"] = {"model": settings.llm} | _endpoint(settings.llm_url, "LLM_KEY")
    return {"apiVersion": API_VERSION, "kind": "Hive", "metadata": {"name": RESIDENT}, "spec": spec}


def _endpoint(url: str, key: str) -> dict[str, str]:
    return ({"url": url} if url else {}) | ({"key": f"${{env:HIVE_MIND_{key}}}"} if secret(key) else {})
