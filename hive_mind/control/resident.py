"""The agents of a home that are in no fleet, kept open by one process: a fleet of its own whose manifest is written here."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from hive_mind.control import RESIDENT, TIMEOUT_S
from hive_mind.control.controller import HiveController
from hive_mind.control.converging import ConvergenceResult
from hive_mind.control.manifests import API_VERSION
from hive_mind.control.manifests.reading import read_text
from hive_mind.control.state import FleetChanged, FleetLocked
from hive_mind.runtime.settings import Settings, secret

_PAUSE_S = 0.05
# An agent that nobody asks lets go of its index: a home may have many.
_SLEEP_AFTER_S = 600


async def keep_open(
    controller: HiveController, agent: str, settings: Settings, *, patience_s: float = TIMEOUT_S
) -> ConvergenceResult:
    """Start the process of the resident fleet, with this agent beside those it has. Raises `HiveError`.

    Settings that embed or name a language model hold for all of its agents. Another client may be doing the same: it is waited
    for as long as starting may take.
    """
    return await among_others(lambda: _apply(controller, agent, settings), patience_s)


async def among_others(change: Callable[[], Awaitable[ConvergenceResult]], patience_s: float = TIMEOUT_S) -> ConvergenceResult:
    """Change the resident fleet, also where others are just changing it. Raises `FleetLocked` for one who never ends."""
    give_up = time.monotonic() + patience_s
    while time.monotonic() < give_up:
        with suppress(FleetChanged, FleetLocked):
            return await change()
        await asyncio.sleep(_PAUSE_S)
    return await change()


async def _apply(controller: HiveController, agent: str, settings: Settings) -> ConvergenceResult:
    agents = controller.folder.state().agents if controller.folder.exists else ()
    text = json.dumps(_manifest([*dict.fromkeys([*agents, agent])], settings), indent=2)
    return await controller.apply(read_text(text, settings.home.absolute(), "the resident agents"))


def _manifest(agents: list[str], settings: Settings) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "topology": "single",
        "agents": [{"name": name, "resources": {"sleepAfterS": _SLEEP_AFTER_S}} for name in agents],
        "answering": settings.answering,
        "embedding": embedding_of(settings),
        # All in one process: each further one would load its own models.
        "platform": {"kind": "local", "agentsPerProcess": 1000},
    }
    if settings.llm:
        limits = {"timeoutS": settings.llm_timeout_s, "tries": settings.llm_tries, "tokenBudget": settings.token_budget}
        spec["llm"] = {"model": settings.llm} | limits | _endpoint(settings.llm_url, "LLM_KEY")
    return {"apiVersion": API_VERSION, "kind": "Hive", "metadata": {"name": RESIDENT}, "spec": spec}


def embedding_of(settings: Settings) -> dict[str, str]:
    """`spec.embedding` of a manifest whose agents embed as this program does."""
    section = {"kind": settings.embed, "index": settings.ann}
    if settings.embed != "none":
        section |= {"model": settings.embed_model}
    return section | (_endpoint(settings.embed_url, "EMBED_KEY") if settings.embed == "openai" else {})


def _endpoint(url: str, key: str) -> dict[str, str]:
    return ({"url": url} if url else {}) | ({"key": f"${{env:HIVE_MIND_{key}}}"} if secret(key) else {})
