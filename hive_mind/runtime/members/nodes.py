"""Making a node, and what a process needs around one: its journal, and a way to notify memories of what it has shared."""

import asyncio
import random
import secrets
from dataclasses import replace
from typing import cast

from hive_mind import backends
from hive_mind.embed.base import Embedder
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy.seal import UNSEALED, Seal
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.base import Topology
from hive_mind.journal.base import Journal
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.runtime.node.runner import NodeRunner
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import vector_arms


def fresh_chance() -> random.Random:
    """Chance that no other boot of any node has."""
    return random.Random(secrets.randbits(128))  # noqa: S311 - for jitter and names that must not repeat


def make_node(
    name: str,
    topology: Topology,
    hive: HiveSettings,
    settings: Settings,
    embedder: Embedder,
    *,
    is_founding: bool = True,
    seal: Seal = UNSEALED,
) -> HiveNode:
    """A node that finds by the vectors of this embedder."""
    new_arm = vector_arms(settings)
    return HiveNode(
        name,
        topology,
        chance=fresh_chance(),
        settings=replace(hive, model=embedder.model),
        new_arm=lambda: new_arm(embedder.dimension) if embedder.dimension else None,
        is_founding=is_founding,
        seal=seal,
    )


async def open_journal(settings: Settings, hive: str, name: str) -> Journal:
    """In a file beside the agents' databases, or nowhere where these keep nothing either."""
    kind = "memory" if settings.store == "memory" else "sqlite"
    return cast(Journal, await backends.load("journal", kind).open(settings.home / "hives" / hive / f"{name}.sqlite"))


class News:
    """Notifies memories when their facts have reached others."""

    def __init__(self, runner: NodeRunner) -> None:
        self._runner = runner
        self._app_messages: set[asyncio.Task[None]] = set()

    def attach(self, memory: DistributedCognitiveMemory) -> None:

        def notify(fact_ids: tuple[str, ...]) -> None:
            task = asyncio.ensure_future(memory.on_shared(fact_ids))
            self._app_messages.add(task)
            task.add_done_callback(self._app_messages.discard)

        self._runner.on_shared(notify)

    @property
    def is_busy(self) -> bool:
        """Whether a memory is being notified."""
        return bool(self._app_messages)

    async def finish(self) -> None:
        await asyncio.gather(*self._app_messages)


class Borrowed:
    """An embedder many memories use; its owner closes it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.embed_passages, self.embed_query = embedder.embed_passages, embedder.embed_query

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def close(self) -> None:
        """Nothing: it is borrowed."""
