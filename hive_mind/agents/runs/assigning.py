"""Work that one agent gives to another: an entry in the other's ledger, of which the other begins one run."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from hive_mind.agents.runs.run_journal import wall_clock_ms
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

TASKS = "task/"
ASSIGNED = "assigned"


async def assign_to(ledger: Ledger, call: str, inputs: Mapping[str, Any]) -> str:
    """The name of the run that will be. `call` names the wish: the same wish is one task. Durable when it returns."""
    run = f"a-{sha256(call.encode()).hexdigest()[:12]}"
    await ledger.append(TASKS + run, 0, [Entry(ASSIGNED, msgspec.json.encode(dict(inputs)), wall_clock_ms())])
    return run


def task_of(entry: Entry) -> tuple[str, dict[str, Any]]:
    """The run that it wants, and what it is given."""
    return entry.stream.removeprefix(TASKS), msgspec.json.decode(entry.body, type=dict[str, Any])
