"""The requests to an agent about its runs, and its answers, as plain values."""

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import ValidationError

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.queen_talk import order_from
from hive_mind.agents.runs.run_journal import RunJournal, document_of, run_called, run_ids, say_to
from hive_mind.errors import InvalidInput
from hive_mind.ledger.base import Ledger
from hive_mind.runs.graphs.spec import WorkerSpec
from hive_mind.runs.graphs.worker_file import faults
from hive_mind.runtime.runs.health_watch import HealthWatch
from hive_mind.runtime.runs.run_keeper import RunKeeper
from hive_mind.tools.base import Toolbox

Reply = dict[str, Any]


class RunCalls:
    """Over one agent's runs. `toolbox` has the tools that a worker may name; `watch` is what the agent does beside them."""

    def __init__(self, keeper: RunKeeper, toolbox: Toolbox, watch: HealthWatch | None = None) -> None:
        self._keeper, self._toolbox, self._watch = keeper, toolbox, watch

    async def run(self, worker: Mapping[str, Any], inputs: Mapping[str, Any], name: str, stream: str = "") -> Reply:
        """Begin one, of this worker or of the agent's own. `stream`: the runs it shares values with."""
        spec = self._spec(worker) if worker else None
        run = await self._keeper.start(spec, inputs, name, stream)
        self._keeper.saying.look(run)
        return {"run": run}

    async def listed(self, limit: int) -> Reply:
        """The last ones, the one that changed last first, and how many there are."""
        ids = await run_ids(self.ledger)
        return {"runs": [await self._document(run) for run in ids[: limit or None]], "count": len(ids)}

    async def shown(self, run: str) -> Reply:
        """One of them, with the graph of its worker, and with what its models say just now."""
        run_id = await run_called(self.ledger, run)
        saying = self._keeper.saying.look(run_id)
        spec = (await RunJournal(self.ledger, run_id).load()).spec
        return await self._document(run_id) | {"graph": _graph(spec)} | ({"saying": saying} if saying else {})

    async def resumed(self, run: str) -> Reply:
        """Look whether it can go on."""
        run_id = await run_called(self.ledger, run)
        self._keeper.resume(run_id)
        return {"run": run_id}

    async def cancelled(self, run: str, by: str) -> Reply:
        run_id = await run_called(self.ledger, run)
        await self._keeper.cancel(run_id, by)
        return {"run": run_id}

    def tools(self) -> Reply:
        """Those that its workers may name, with what each is for and whether it may be called twice."""
        tools_by_name = {
            tool.name: {"description": tool.spec.description, "idempotent": tool.traits.is_idempotent} for tool in self._toolbox
        }
        return {"tools": tools_by_name}

    async def say(self, run: str, text: str, key: str) -> Reply:
        """A word for one, which hears it as soon as it waits for one; said once with the same key."""
        run_id = await run_called(self.ledger, run)
        return {"run": run_id, "number": await say_to(self.ledger, run_id, text, key)}

    async def queen_told(self, text: str, by: str, order: Mapping[str, Any]) -> Reply:
        """A queen's reply. Raises `InvalidInput` where this agent is none."""
        if self._watch is None:
            raise InvalidInput(f"agent {self._keeper.parts.agent} is in no fleet, and no queen")
        reply = await self._watch.talk().reply(text, by, order_from(order))
        return {"text": reply.text, "order": msgspec.to_builtins(reply.order) if reply.order else {}}

    async def _document(self, run: str) -> Reply:
        state = await RunJournal(self.ledger, run).load()
        trouble = self._keeper.troubles.get(run, "")
        return await document_of(run, state, LedgerDesk(self.ledger)) | ({"trouble": trouble} if trouble else {})

    @property
    def ledger(self) -> Ledger:
        return self._keeper.parts.ledger

    def _spec(self, worker: Mapping[str, Any]) -> WorkerSpec:
        try:
            spec = WorkerSpec.model_validate(dict(worker))
        except ValidationError as error:
            raise InvalidInput(f"that is not a worker: {error.errors(include_url=False)[0]['msg']}") from error
        if wrong := faults(spec, {tool.name: tool.spec for tool in self._toolbox}, self._keeper.parts.judge.functions):
            raise InvalidInput(f"worker {spec.id}: {'.'.join(map(str, wrong[0].path))}: {wrong[0].message}")
        return spec


def _graph(spec: WorkerSpec) -> Reply:
    """Its nodes, and where it goes on from them. `when` is the condition of an edge, or what is told to a model that chooses."""
    nodes = [{"id": node.id, "kind": node.kind, "tool": node.tool, "description": node.description} for node in spec.nodes]
    edges = [{"source": e.source, "target": e.target, "on": e.on, "when": e.when or e.description} for e in spec.edges]
    return {"nodes": nodes, "edges": edges}
