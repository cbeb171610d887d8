"""Erasing from a fleet that runs: a moderator says it in the hive, every node carries it out and confirms it there.

A process that does not confirm in time is listed as owed: it learns of it on return, and asking again finds its confirmation.
"""

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from hive_mind.control import RESIDENT
from hive_mind.control.platforms import CALL_TIMEOUT_S
from hive_mind.control.state import FleetFolder, FleetState, discard_former
from hive_mind.control.surroundings import side_by_side
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.hive.topology.spec import is_shared
from hive_mind.model.erasure import Erasure
from hive_mind.runtime.asking import ProcessGone, ProcessSilent
from hive_mind.runtime.buses import scrub
from hive_mind.runtime.copies import quotes
from hive_mind.runtime.erasing import Erased
from hive_mind.runtime.receipts import Confirmed, Owed

_POLL_S = 0.5
# Connections, of which a process may have 256 on some systems.
_ASKED_AT_ONCE = 64


class Controller(Protocol):
    """Of the fleet: `HiveController`."""

    @property
    def folder(self) -> FleetFolder: ...

    async def call(self, agent: str, what: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: object) -> Any: ...


async def erase_from_fleet(
    controller: Controller, erasures: Sequence[Erasure], erased: Erased, *, timeout_s: float, is_dry: bool
) -> set[str]:
    """Erase, or look what would go; the agents whose processes have their memories open. Raises `InvalidInput`."""
    folder = controller.folder
    state = folder.state()
    if not is_dry:
        # Nobody would erase there.
        await asyncio.to_thread(discard_former, folder)
    if state.hive is not None and not is_shared(state.hive.topology):
        if state.last_hive is not None:
            why = "its journals rest since the agents share nothing: apply a manifest with a shared topology, and erase again"
            erased.owed.append(Owed(f"hive {state.last_hive.id}", why))
        if state.is_stopped:
            return set()
        stop = "hive-mind serve --stop" if folder.fleet == RESIDENT else f"hive-mind delete {folder.fleet}"
        why = f"its agents share nothing, and are open: stop it ({stop}, which keeps memories), and erase again"
        erased.owed.append(Owed(f"fleet {folder.fleet}", why))
        return set(state.hosts)
    if state.is_stopped:
        why = "it is stopped: start it (hive-mind rollout restart), and erase again"
        erased.owed.append(Owed(f"fleet {folder.fleet}", why))
        return set(state.hosts)
    if is_dry:
        await _look(controller, state, erasures, erased)
    else:
        await _erase(controller, state, erasures, erased, timeout_s)
    return set(state.hosts)


async def _look(controller: Controller, state: FleetState, erasures: Sequence[Erasure], erased: Erased) -> dict[str, HiveError]:
    """Processes side by side, so that those that say nothing take no longer than a single one; why, by agent."""
    keys = [erasure.key for erasure in erasures]
    replies, unreached = dict[str, Any](), dict[str, HiveError]()

    async def ask(agents: Iterable[str]) -> None:
        """Agents of one process, in turn. One that says nothing is waited for once."""
        silence: HiveError | None = None
        for agent in agents:
            try:
                if silence is not None:
                    raise silence
                replies[agent] = await controller.call(agent, "would_erase", erasures=keys)
            except HiveError as error:
                unreached[agent] = error
                silence = error if isinstance(error, ProcessSilent | ProcessGone) else None

    await side_by_side(
        (ask(agent for names in nodes.values() for agent in names) for nodes in state.allocation.values()), _ASKED_AT_ONCE
    )
    for agent, reply in sorted(replies.items()):
        erased.confirmed.append(Confirmed(f"agent {agent}", len(reply["facts"]), reply["episodes"]))
        erased.facts += reply["facts"]
    erased.owed += [Owed(f"agent {agent}", str(error)) for agent, error in sorted(unreached.items())]
    return unreached


async def _erase(
    controller: Controller, state: FleetState, erasures: Sequence[Erasure], erased: Erased, timeout_s: float
) -> None:
    unreached = await _look(controller, state, erasures, erased)
    # The texts found now are searched for at the end; nodes report the confirmations.
    erased.texts.update(erased.facts)
    erased.confirmed.clear()
    erased.owed.clear()
    agent = await _said_by_a_moderator(controller, state, erasures, unreached)
    nodes = {node for nodes in state.allocation.values() for node in nodes}
    silent = {node: error for name, error in unreached.items() for node in state.allocation.get(state.hosts[name], ())}
    until_s = time.monotonic() + timeout_s
    while True:
        reply = await controller.call(agent, "erased", erasures=[erasure.key for erasure in erasures])
        confirmed = {node: value for node, value in reply["confirmed"].items() if value}
        everybody = nodes | set(reply["members"])
        # A process that is down or hangs will not confirm while this waits.
        if everybody <= confirmed.keys() | silent.keys() or time.monotonic() > until_s:
            break
        await asyncio.sleep(_POLL_S)
    erased.confirmed += [
        Confirmed(f"node {node}", value["facts"], value["episodes"], value["at_ms"]) for node, value in sorted(confirmed.items())
    ]
    erased.away |= unreached.keys() | (everybody - confirmed.keys())
    for node in sorted(everybody - confirmed.keys()):
        why = f" ({silent[node]})" if node in silent else ""
        remedy = "it hears of it when it runs again; then erase again to see it here"
        erased.owed.append(Owed(f"node {node}", f"has not confirmed{why}: {remedy}"))
    erased.owed += await _scrubbed_bus(controller.folder, state, everybody, erasures)


async def _said_by_a_moderator(
    controller: Controller, state: FleetState, erasures: Sequence[Erasure], unreached: Collection[str]
) -> str:
    """Let one of the moderators say it; which. Raises `InvalidInput` where none can."""
    config = controller.folder.any_config()
    named = config.tuning.standing.moderators if config is not None else ()
    hosts = state.hosts
    moderators = [name for name in named if name in hosts]
    problems = [] if moderators else ["it has none: name an agent in spec.trust.moderators, and apply"]
    for name in sorted(moderators, key=unreached.__contains__):
        try:
            await controller.call(name, "erase", erasures=[erasure.key for erasure in erasures])
        except HiveError as error:
            problems.append(f"{name}: {error}")
        else:
            return name
    raise InvalidInput(f"only a moderator of fleet {controller.folder.fleet} can erase for all: {'; '.join(problems)}")


async def _scrubbed_bus(
    folder: FleetFolder, state: FleetState, nodes: Collection[str], erasures: Sequence[Erasure]
) -> list[Owed]:
    """Leave nothing of it on the bus, also of what those that are away have not read; where that can't be done."""
    config = folder.any_config()
    return await scrub(config.bus, state.hives, nodes, folder.home, quotes(erasures)) if config is not None else []
