"""Whom erasing from a fleet asks, and how many at once: a hung process is waited for once, whatever the size of the fleet."""

import asyncio
from typing import Any, cast

import pytest

from hive_mind.control import erasing
from hive_mind.control.state import FleetState
from hive_mind.errors import InvalidInput
from hive_mind.model.erasure import Erasure
from hive_mind.runtime.asking import ProcessGone, ProcessSilent
from hive_mind.runtime.erasing import Erased


class Fleet:
    """Agents by process; those of `hung` and `gone` processes do not answer, and each agent `refusing` says no by itself."""

    def __init__(self, processes: int, agents: int, hung: int = 0, gone: int = 0, refusing: int = 0) -> None:
        names = {f"p{process}": tuple(f"p{process}-{agent}" for agent in range(agents)) for process in range(processes)}
        self.state = FleetState(allocation={process: {process: agents_of} for process, agents_of in names.items()})
        self._hung, self._gone = [set([*names][:hung]), set([*names][hung : hung + gone])]
        self._refusing = {agent for agents_of in [*names.values()][hung + gone :] for agent in agents_of[:refusing]}
        self.calls, self.at_once, self.at_once_max = list[str](), 0, 0

    async def call(self, agent: str, what: str, **_: object) -> Any:
        assert what == "would_erase"
        self.calls.append(agent)
        self.at_once += 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        process = agent.partition("-")[0]
        if process in self._hung:
            raise ProcessSilent(process, "no answer")
        if process in self._gone:
            raise ProcessGone(process, "it is not running")
        if agent in self._refusing:
            raise InvalidInput("it does not say")
        return {"facts": [f"fact of {agent}"], "episodes": 1}


@pytest.mark.parametrize(
    ("fleet", "calls", "unreached"),
    [
        (Fleet(1, 3), 3, 0),
        (Fleet(3, 1), 3, 0),
        (Fleet(300, 2), 600, 0),
        (Fleet(2, 100, hung=1), 101, 100),
        (Fleet(3, 50, hung=1, gone=1), 52, 100),
        (Fleet(2, 3, refusing=2), 6, 4),
    ],
    ids=["one process", "one agent each", "many", "a hung one", "a hung and a dead one", "agents that refuse"],
)
async def test_each_agent_is_asked_a_silent_process_once_and_not_all_at_once(fleet: Fleet, calls: int, unreached: int) -> None:
    erased = Erased()
    erasures = [Erasure("fact", 0, "x")]
    missing = await erasing._look(cast(erasing.Controller, fleet), fleet.state, erasures, erased)

    everybody = {agent for nodes in fleet.state.allocation.values() for agents in nodes.values() for agent in agents}
    assert (len(fleet.calls), len(missing)) == (calls, unreached)
    assert {f"agent {agent}" for agent in everybody} == {line.who for line in (*erased.confirmed, *erased.owed)}
    assert len(erased.facts) == len(everybody) - unreached
    assert fleet.at_once_max <= min(64, len(fleet.state.allocation))
