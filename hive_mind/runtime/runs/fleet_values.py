"""Values that runs of all agents of a hive share: entries of its registry, on every node; the newest of a name counts."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hive_mind.agents.runs.shared_values import Values
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.policy.rights import state_key
from hive_mind.runtime.members.member import RunningMember

KEYS_MAX = 100
"""of one agent: each node of a hive holds them all"""
_OF_ALL = "state/"


class RegistryValues:
    """Those of one agent's hive."""

    def __init__(self, agent: str, member: RunningMember) -> None:
        self._agent, self._member = agent, member

    async def read(self, keys: list[str]) -> Mapping[str, Any]:
        """As this node knows them now. Raises `BackendUnavailable` before it knows its hive."""
        registry = self._registry()
        stamps = registry.in_force("state")
        # The latest last.
        values = sorted(registry.with_prefix(_OF_ALL).items(), key=lambda pair: stamps[pair[0]])
        known_values = {key.rpartition("/")[2]: value.get("value") for key, value in values}
        return {key: known_values[key] for key in keys if key in known_values}

    async def write(self, values: Values) -> None:
        """Durable here when this returns, and on its way to the others. Raises `InvalidInput` for what the hive does not take."""
        registry, entries = self._registry(), []
        prefix = state_key(self._agent, "")
        for key, value in values.values.items():
            name = prefix + key
            if (registry.get(name) or {}).get("by") != values.by:
                entries.append((name, msgspec.json.encode({"by": values.by, "value": value}).decode()))
        names = {*registry.with_prefix(prefix), *(name for name, _ in entries)}
        if len(names) > KEYS_MAX:
            raise InvalidInput(f"an agent shares at most {KEYS_MAX} values with its fleet")
        for refusal in filter(None, await self._member.runner.write(entries, self._agent)) if entries else ():
            raise InvalidInput(refusal)

    def _registry(self) -> Registry:
        if not self._member.member.is_ready:
            raise BackendUnavailable(
                "hive", f"agent {self._agent} does not know its hive yet; what the fleet shares can't be read"
            )
        return self._member.member.node.registry
