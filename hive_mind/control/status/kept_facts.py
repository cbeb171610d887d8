"""The number of facts of agents that can't say it: their process is down or hangs, and they have forgotten nothing."""

from contextlib import suppress
from pathlib import Path

import msgspec

from hive_mind.control.status.fleet_status import AgentView, FleetStatus
from hive_mind.errors import HiveError
from hive_mind.runtime.agent_files import database_path
from hive_mind.runtime.settings import Settings
from hive_mind.sqlite.replacement import log_path

_Stamp = tuple[tuple[int, int], ...]


class KeptFacts:
    """Counts the current facts in the records of a home. A record that nobody wrote to since is not counted again."""

    def __init__(self, home: Path) -> None:
        self._settings = Settings(home=home)
        self._counted: dict[str, tuple[_Stamp, int]] = {}

    def filled_in(self, status: FleetStatus) -> FleetStatus:
        """The same with the facts of those agents."""
        views = tuple(
            msgspec.structs.replace(agent, facts=self.of(agent.name)) if _is_mute(agent) else agent for agent in status.agents
        )
        return msgspec.structs.replace(status, agents=views, facts=sum(agent.facts for agent in views))

    def of(self, agent: str) -> int:
        """The facts in an agent's record; 0 where it lies elsewhere or can't be read."""
        from hive_mind.runtime.wiring import kept_facts

        with suppress(HiveError, OSError):
            path = database_path(self._settings, agent)
            files = [file.stat() for file in (path, log_path(path)) if file.exists()]
            stamp = tuple((file.st_mtime_ns, file.st_size) for file in files)
            if agent not in self._counted or self._counted[agent][0] != stamp:
                self._counted[agent] = stamp, sum(fact.is_current for fact in kept_facts(self._settings, agent))
            return self._counted[agent][1]
        return 0


def _is_mute(agent: AgentView) -> bool:
    return not agent.facts and (not agent.pid or agent.phase == "silent")
