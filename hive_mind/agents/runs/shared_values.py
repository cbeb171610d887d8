"""Values that outlive a run: kept in the agent's ledger for the runs of one stream, and told to the hive for all its agents.

A read returns what was written last. A run that was killed between writing and noting that it wrote finds its own name at
what it wrote, and does not write it again over what others wrote since. A hive has them in its registry, on every node.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.hive.policy.admission import state_key
from hive_mind.hive.policy.registry import Registry
from hive_mind.ledger import Ledger
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry
from hive_mind.runs.spec import Scope
from hive_mind.runs.steps import ENDED, PREFIX

if TYPE_CHECKING:
    from hive_mind.agents.judging.rules_at_work import HiveMember


VALUES = "buffer/"
"""of the streams they are kept in"""
_SET = "set"
_DROP_EVERY = 64
"""Reading this many takes well below a millisecond."""


class Values(Struct, frozen=True):
    """The values that one node of a run wrote; `by` names both."""

    by: str
    values: Mapping[str, Any]


class FleetValues(Protocol):
    """The values that all agents of a hive share."""

    async def read(self, keys: list[str]) -> Mapping[str, Any]:
        """Those of these that anybody has set. Raises `BackendError` where the hive can't be asked."""

    async def write(self, written: Values) -> None:
        """Tell everybody. Raises `InvalidInput` for what the hive does not take, and `BackendError`."""


class LedgerValues:
    """Of one stream of an agent, in its ledger. Values that others overwrote are dropped: it is as long as it has values."""

    def __init__(self, ledger: Ledger, name: str, clock_ms: Callable[[], int]) -> None:
        self._ledger, self._stream, self._clock_ms = ledger, VALUES + name, clock_ms

    async def read(self, keys: list[str]) -> Mapping[str, Any]:
        """Raises what a ledger raises."""
        values_known = {key: value for values in await self._written() for key, value in values.values.items()}
        return {key: values_known[key] for key in keys if key in values_known}

    async def write(self, values: Values) -> None:
        """Durable when this returns. Raises what a ledger raises."""
        entry, is_kept = Entry(_SET, msgspec.json.encode(values), self._clock_ms()), False
        while not is_kept:
            before = await self._written()
            if any(former_values.by == values.by for former_values in before):
                return
            try:
                is_kept = await self._ledger.append(self._stream, len(before), [entry])
            except InvalidInput:
                # Somebody may have dropped meanwhile what was old.
                if len(await self._ledger.read(self._stream)) >= len(before):
                    raise
        # False where somebody wrote meanwhile.
        while (len(before) + 1) % _DROP_EVERY == 0 and not await self._drop_old():
            pass

    async def _drop_old(self) -> bool:
        """All but the last of each key, and the names of runs that have not ended and may still ask whether they wrote."""
        heads = [head for head in await self._ledger.heads(self._stream) if head.stream == self._stream]
        entries = await self._ledger.read(self._stream)
        all_values = [json_decoder(Values)(entry.body) for entry in entries]
        last = {key: values_of_entry.by for values_of_entry in all_values for key in values_of_entry.values}
        going_on = {head.stream.removeprefix(PREFIX) for head in await self._ledger.heads(PREFIX) if head.kind != ENDED}
        entries_kept = []
        for entry, values_of_entry in zip(entries, all_values, strict=True):
            values = {key: value for key, value in values_of_entry.values.items() if last[key] == values_of_entry.by}
            if values or values_of_entry.by.partition("/")[0] in going_on:
                entries_kept.append(replace(entry, body=msgspec.json.encode(Values(values_of_entry.by, values))))
        return len(entries_kept) == len(entries) or await self._ledger.drop(heads, self._stream, entries_kept)

    async def _written(self) -> list[Values]:
        return [json_decoder(Values)(entry.body) for entry in await self._ledger.read(self._stream)]


class SharedValues:
    """Of one run. An agent that belongs to no hive is a fleet of its own: its ledger has those values, too."""

    def __init__(
        self, run: str, stream: str, ledger: Ledger, clock_ms: Callable[[], int], fleet: FleetValues | None = None
    ) -> None:
        self._run = run
        self._scopes: Mapping[Scope, FleetValues] = {
            "stream": LedgerValues(ledger, f"stream/{stream or run}", clock_ms),
            "fleet": fleet or LedgerValues(ledger, "fleet", clock_ms),
        }

    async def read(self, keys: Mapping[str, Scope]) -> dict[str, Any]:
        """Those that anybody has set. Raises `BackendError`, and what a ledger raises."""
        values_read: dict[str, Any] = {}
        for scope, values in self._scopes.items():
            if keys_of_scope := [key for key, of in keys.items() if of == scope]:
                values_read |= await values.read(keys_of_scope)
        return values_read

    async def write(self, place: str, keys: Mapping[str, Scope], values_given: Mapping[str, Any]) -> None:
        """Write the values that a place set; once, however often it is tried. Raises as `FleetValues.write` and as a ledger."""
        for scope, values in self._scopes.items():
            if values_of_scope := {key: value for key, value in values_given.items() if keys[key] == scope}:
                await values.write(Values(f"{self._run}/{place}", values_of_scope))


KEYS_MAX = 100
"""of one agent: each node of a hive holds them all"""
_OF_ALL = "state/"


class RegistryValues:
    """Those of one agent's hive."""

    def __init__(self, agent: str, member: "HiveMember") -> None:
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
        registry, prefix = self._registry(), state_key(self._agent, "")
        entries = [
            (prefix + key, msgspec.json.encode({"by": values.by, "value": value}).decode())
            for key, value in values.values.items()
            if (registry.get(prefix + key) or {}).get("by") != values.by
        ]
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
