"""Where a memory lives whose hive is four processes: this one and three others, over a real wire."""

import asyncio
import atexit
import json
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hive_mind.embed import Embedder
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.effects import Held, Promotion, Retracted
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.node.runner import NodeRunner
from tests.builders import Home
from tests.contract.late_hives import EndsWithItsHive, LateHive
from tests.contract.peer import NAMES, opened, plan_of
from tests.contract.wires import secrets_of, wire
from tests.servers.children import lasting
from tests.servers.forked import Forked
from tests.waiting import until


class Peers:
    """The three other processes. They go from hive to hive, because to start one takes a second."""

    def __init__(self) -> None:
        self._processes = {
            name: Forked(
                [sys.executable, "-m", "tests.contract.peer"],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in NAMES[1:]
        }
        for process in self._processes.values():
            lasting(process.pid)
        atexit.register(self.stop)

    def tell(self, orders: dict[str, dict[str, Any]]) -> None:
        """Each its order; returns when all have carried it out."""
        for name, order in orders.items():
            process = self._processes[name]
            assert process.stdin is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        for name in orders:
            process = self._processes[name]
            assert process.stdout is not None
            assert process.stdout.readline() == "done\n", f"{name} has ended"

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.communicate()


@cache
def peers_over(wire_name: str) -> Peers:
    """Theirs for a test run."""
    with secrets_of(wire(wire_name)):
        return Peers()


class ProcessHome(Home):
    """One memory in this process. Opened again, it has what it had, and so have the others."""

    def __init__(self, topology: str, wire_name: str, path: Path) -> None:
        super().__init__("memory", path)
        self._topology, self._wire, self._peers = topology, wire(wire_name), peers_over(wire_name)
        self._folder = Path(tempfile.mkdtemp(dir=path.parent))
        self._hive = f"t{secrets.token_hex(4)}"
        self._has_begun = False

    def memory(self, embedder: Embedder | None = None, **options: Any) -> "InProcesses":
        made = embedder or NoEmbedder()
        return InProcesses(super().memory(made, **options), Door(self, has_vectors=bool(made.model)))

    async def begin(self, *, has_vectors: bool) -> RunningMember:
        """Open this process's member, after those of the others."""
        if not self._has_begun:
            self._has_begun = True
            self._wire.provide(self._hive, *NAMES)
            await asyncio.to_thread(self._peers.tell, {name: self._order(name, has_vectors) for name in NAMES[1:]})
        with secrets_of(self._wire):
            return await opened(self._plan(NAMES[0]), self._folder / NAMES[0], has_vectors=has_vectors)

    def _order(self, name: str, has_vectors: bool) -> dict[str, Any]:
        plan = {"name": name, "hive": self._hive, "topology": self._topology}
        route = {"bus": self._wire.bus, "searches": self._wire.searches}
        return {"plan": plan | route, "folder": str(self._folder / name), "has_vectors": has_vectors}

    def _plan(self, name: str) -> Any:
        return plan_of(name, self._hive, self._topology, self._wire.bus, self._wire.searches)


class Door(LateHive):
    """The `Hive` of the memory in this process. It begins when it is first used, in the loop that uses it.

    It says of a fact that others can find it, not that they will: so what was stored stays as it is.
    """

    def __init__(self, home: ProcessHome, *, has_vectors: bool) -> None:
        self._home, self._has_vectors = home, has_vectors
        self._beginning: asyncio.Task[RunningMember] | None = None

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        held = await super().promote(promotions)
        await self._heard()
        return [replace(one, is_shared=not one.refused) for one in held]

    async def retract(self, fact_ids: Sequence[str], by: str, why: str = "retracted") -> Sequence[Retracted]:
        retracted = await super().retract(fact_ids, by, why)
        await self._heard()
        return retracted

    async def close(self) -> None:
        if self._beginning is not None:
            await (await asyncio.shield(self._beginning)).close()

    async def _heard(self) -> None:
        outbox = (await self._member()).member.node.outbox
        # On a machine that does much else; a `slow` test ends within 300 s.
        await until(lambda: not len(outbox), "the members have what was sent to them", within_s=240)

    async def _runner(self) -> NodeRunner:
        return (await self._member()).runner

    async def _member(self) -> RunningMember:
        self._beginning = self._beginning or asyncio.ensure_future(self._home.begin(has_vectors=self._has_vectors))
        return await asyncio.shield(self._beginning)


class InProcesses(EndsWithItsHive):
    """A memory that takes its member along when it closes; the others stay."""

    def __init__(self, local: Any, door: Door) -> None:
        super().__init__(local, door, agent=NAMES[0])
        self._ends = door.close
