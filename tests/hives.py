"""A hive for tests: nodes, a clock that tests move, journals, and a network that loses what a test wants lost."""

import hmac
from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from hive_mind.hive.effects import (
    Ask,
    Done,
    Effect,
    Event,
    Fetch,
    Held,
    Listed,
    Listing,
    Now,
    Persist,
    Promote,
    Promotion,
    Put,
    Rearrange,
    Received,
    Retract,
    Retracted,
    SearchLocal,
    Send,
    SetAside,
    Shared,
    Taken,
    Tallied,
    Tally,
    Tick,
    Write,
)
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import UNSEALED, Seal, Unsealed
from hive_mind.hive.policy.node_policy import ExpirySettings, PolicySettings
from hive_mind.hive.replication.outbox import DeliverySettings
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Flat, Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.model.evidence import Assertion, HiveFact, Stamp, Statement, actor_id
from hive_mind.model.gathered import Gathered, Probe
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Message
from hive_mind.ranking.pipeline import rank
from hive_mind.ranking.question import InColumns, anchors
from hive_mind.ranking.tokens import tokenize

FIRST_MS = 1_700_000_000_000
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
MODERATOR = "mo"
PUMP = "The pump is red."
PUMP_ID = fact_id(PUMP)


def flat(*nodes: str) -> Flat:
    return Flat(nodes or ("n0", "n1", "n2"), 1)


def federated(**fields: Any) -> Federated:
    return Federated({"north": ("n0", "n1"), "south": ("s0", "s1")}, **fields)


def sharded(count: int = 6, replicas: int = 3, partitions: int = 16) -> Sharded:
    return Sharded(first_placement([f"n{number}" for number in range(count)], replicas, partitions))


def settings(*, quota: int = 1_000_000, expiry: ExpirySettings | None = None, **fields: Any) -> HiveSettings:
    policy = PolicySettings(moderators=(MODERATOR,), quota_per_agent=quota, expiry=expiry or ExpirySettings())
    return HiveSettings(standing=policy, **fields)


FORGETFUL = settings(expiry=ExpirySettings(is_on=True))


class Clock:
    """Both clocks go together until a test says otherwise."""

    def __init__(self) -> None:
        self.wall_ms, self.mono_ms = FIRST_MS, 1_000

    def __call__(self, ahead_ms: int = 0) -> Now:
        return Now(self.wall_ms + ahead_ms, self.mono_ms)

    def pass_(self, ms: int) -> None:
        self.wall_ms += ms
        self.mono_ms += ms


class Hive:
    """Nodes by name. Effects are carried out in their order; messages arrive in the order they were sent, unless `is_lost`.

    `down` nodes hear nothing. `kept` are the journals; `boot` starts a node from its own.
    """

    def __init__(
        self,
        topology: Topology,
        tuned: HiveSettings | None = None,
        seal_of: Callable[[str], Seal] = lambda _: UNSEALED,
        seed: int = 1,
        **options: Any,
    ) -> None:
        self.clock, self.chance, self.topology = Clock(), Random(seed), topology
        self._tuned, self._seal_of, self._options = tuned or settings(), seal_of, options
        self.nodes: dict[str, HiveNode] = {}
        self.kept: dict[str, dict[tuple[str, bytes], bytes]] = {}
        self.damaged: dict[str, list[SetAside]] = {}
        """Records that a node's journal can't give back when it boots next."""
        self.down: set[str] = set()
        self.ahead_ms: dict[str, int] = {}
        """By how much a node's wall clock is ahead of the others'."""
        self.dies_after: dict[str, int] = {}
        """Effects a node still carries out before it is killed."""
        self.is_lost: Callable[[str, str, Message], bool] = lambda *_: False
        self.sent: list[tuple[str, str, Message]] = []
        self.shared: list[tuple[str, tuple[str, ...]]] = []
        self._inbox: deque[tuple[str, str, Message]] = deque()
        self._answers: dict[str, Any] = {}
        self._requests = 0
        for name in topology.nodes:
            self.boot(name)

    def boot(self, name: str, topology: Topology | None = None, *, is_founding: bool = True) -> HiveNode:
        """Start a node with what its journal has; what it had in memory alone is gone."""
        self.down.discard(name)
        node = HiveNode(
            name,
            topology or self.topology,
            chance=Random(self.chance.getrandbits(64)),
            settings=self._tuned,
            seal=self._seal_of(name),
            is_founding=is_founding,
            **self._options,
        )
        self.nodes[name] = node
        aside, kept = self.damaged.pop(name, []), self.kept.setdefault(name, {})
        lost = {(record.table, record.key) for record in aside}
        records = [Put(*place, value) for place, value in kept.items() if place not in lost]
        self.perform(name, [Persist(aside), *node.start([*records, *aside], self.now(name))])
        return node

    def rearrange(self, topology: Topology, *, knows_former: bool = False) -> None:
        """Everybody hears of another topology; who is new in it is started, knowing what was before or not."""
        former, self.topology = self.topology, topology
        for name in topology.nodes:
            if name not in self.nodes:
                self.boot(name, former if knows_former else topology, is_founding=False)
        for name in list(self.nodes):
            if name not in self.down:
                self.tell(name, Rearrange(topology))

    def now(self, name: str) -> Now:
        """What a node's clocks say."""
        return self.clock(self.ahead_ms.get(name, 0))

    def tell(self, name: str, event: Event) -> list[Effect]:
        effects = self.nodes[name].handle(event, self.now(name))
        self.perform(name, effects)
        self.deliver()
        return effects

    def deliver(self) -> None:
        while self._inbox:
            to, sender, message = self._inbox.popleft()
            if to in self.nodes and to not in self.down and not self.is_lost(sender, to, message):
                self.perform(to, self.nodes[to].handle(Received(sender, message), self.now(to)))

    def perform(self, name: str, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if self.dies_after.get(name) == 0:
                del self.dies_after[name]
                self.down.add(name)
            if name in self.down:
                return
            self.perform_one(name, effect)
            if name in self.dies_after:
                self.dies_after[name] -= 1

    def perform_one(self, name: str, effect: Effect) -> None:
        match effect:
            case Persist(records):
                for record in records:
                    if isinstance(record, Put):
                        self.kept[name][record.table, record.key] = record.value
                    else:
                        self.kept[name].pop((record.table, record.key), None)
            case Send(to, message):
                self.sent += [(name, one, message) for one in to]
                self._inbox.extend((one, name, message) for one in to)
            case SearchLocal(request, reply_to):
                if (reply := self.nodes[name].search(request, self.now(name))) is not None:
                    if reply_to != name:
                        self.sent.append((name, reply_to, reply))
                    self._inbox.append((reply_to, name, reply))
            case Done(request, outcome):
                self._answers[request] = outcome
            case Shared(facts):
                self.shared.append((name, facts))

    def wait(self, ms: int, step_ms: int = 500) -> None:
        """Let time pass; who wants to be woken is."""
        for _ in range(max(1, ms // step_ms)):
            self.clock.pass_(step_ms)
            for name, node in list(self.nodes.items()):
                if name not in self.down and node.wake_at_ms(self.now(name)) <= self.clock.mono_ms:
                    self.tell(name, Tick())

    def request(self, name: str, make: Callable[[str], Event]) -> Any:
        """The answer; None where it waits for time to pass."""
        self._requests += 1
        self.tell(name, make(str(self._requests)))
        return self._answers.pop(str(self._requests), None)

    def answer(self) -> Any:
        """That of the last request, which had to wait."""
        return self._answers.pop(str(self._requests), None)

    def say(self, name: str, *contents: str, **fields: Any) -> list[Held]:
        promotions = [promotion(content, **fields) for content in contents or (PUMP,)]
        return list(self.request(name, lambda request: Promote(request, promotions)))

    def take_back(self, name: str, *fact_ids: str, by: str = "ines") -> list[Retracted]:
        return list(self.request(name, lambda request: Retract(request, fact_ids or (PUMP_ID,), by)))

    def write(self, name: str, key: str, value: str = "true", by: str = MODERATOR) -> str:
        """Why it was refused, or ""."""
        (reason,) = self.request(name, lambda request: Write(request, [(key, value)], by))
        return str(reason)

    def ask(self, name: str, query: str = PUMP, least: float = 0.0, **fields: Any) -> Gathered:
        found: Gathered = self.request(name, lambda request: Ask(request, probe(query), 2_000, least, **fields))
        return found

    def found(self, name: str, query: str = PUMP, **fields: Any) -> list[str]:
        """Contents, best first."""
        gathered = self.ask(name, query, **fields)
        wanted = [(id, gathered.holders[id]) for id in ranked(gathered)]
        facts: tuple[HiveFact, ...] = self.request(name, lambda request: Fetch(request, wanted, 2_000))
        return [fact.content for fact in facts]

    def listed(self, name: str, concept: str = "", limit: int = 100) -> Listed:
        found: Listed = self.request(name, lambda request: Listing(request, limit, 2_000, concept))
        return found

    def tallied(self, name: str, about: str = "", *, with_wording: bool = False) -> Tallied | None:
        found: Tallied | None = self.request(name, lambda request: Tally(request, 2_000, about, with_wording))
        return found

    def fact(self, name: str, id: str = PUMP_ID) -> HiveFact | None:
        return self.nodes[name].fact(id, self.now(name))

    def who_has(self, content: str = PUMP) -> set[str]:
        """Nodes with a live assertion of it."""
        id = fact_id(content)
        shares = ((name, share) for name, node in self.nodes.items() for share in node.partitions.shares.values())
        return {name for name, share in shares if any(share.assertions(id))}

    def live(self, name: str) -> dict[str, dict[bytes, Assertion]]:
        """Everything live, by partition and dot."""
        shares = self.nodes[name].partitions.shares.items()
        return {
            partition: {given.dot: given.assertion for given in share.all_sealed()} for partition, share in shares if len(share)
        }


def promotion(content: str = PUMP, **fields: Any) -> Promotion:
    said = {"concept": "pump"} | {key: fields.pop(key) for key in list(fields) if key in Statement.__struct_fields__}
    values = {"agent": "ines", "confidence": 0.8} | fields
    return Promotion(Statement(content, **said), **({"root": values["agent"]} | values))


def assertion(content: str = PUMP, ms: int = FIRST_MS, **fields: Any) -> Assertion:
    values: dict[str, Any] = {
        "fact_id": fact_id(content),
        "agent": "ines",
        "confidence": 0.8,
        "statement": Statement(content, "pump"),
    }
    values |= {"stamp": Stamp(ms, 0, b"a boot")} | fields
    return Assertion(**({"root": values["agent"]} | values))


def probe(query: str = PUMP, depth: int = 100) -> Probe:
    return Probe(tuple(tokenize(query)), anchors(query), None, depth)


def ranked(gathered: Gathered, limit: int = 10) -> list[str]:
    """Ids, best first."""
    return [one.id for one in rank(gathered.pool, InColumns(gathered.pool, gathered.evidence).support, limit, "keyword")]


class Keyring(Unsealed):
    """Seals by HMAC-SHA256 with one key per signer. `may_seal` says for whom a node seals; it checks everybody's."""

    is_on = True

    def __init__(self, secret: bytes, may_seal: Callable[[str], bool]) -> None:
        self._secret, self._may_seal = secret, may_seal

    def seal(self, signer: str, payload: bytes) -> bytes:
        return self._digest(signer, payload) if self._may_seal(signer) else b""

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        del at_ms
        return hmac.compare_digest(seal, self._digest(signer, payload))

    def _digest(self, signer: str, payload: bytes) -> bytes:
        return hmac.digest(self._secret + signer.encode("utf-8", "replace"), payload, "sha256")


def keyring(*names: str) -> Seal:
    """Seals for these agents and nodes, and checks everybody's."""
    return Keyring(b"secret", frozenset(names).__contains__)


class Court:
    """Who may what, as a share asks it. Everything can be set."""

    def __init__(self, seal: Seal = UNSEALED) -> None:
        self.tenant, self.seal, self.quota = "default", seal, 1_000_000
        self.removals_max = self.boots_max = 1_000_000
        self.moderators = {MODERATOR}
        self.withdrawn: set[str] = set()
        self.expired: set[bytes] = set()

    def is_moderator(self, name: str) -> bool:
        return name in self.moderators

    def is_withdrawn(self, given: Assertion) -> bool:
        return given.fact_id in self.withdrawn

    def is_expired(self, given: Any) -> bool:
        return given.dot in self.expired


def share(node: str = "n0", incarnation: bytes = b"boot one") -> PartitionReplica:
    made = PartitionReplica("all", actor_id(node, incarnation), node, incarnation)
    made.is_holder = True
    return made


def said(into: PartitionReplica, *assertions: Assertion, court: Court | None = None) -> Taken:
    """What a node's own agents assert."""
    return into.assert_all(assertions or (assertion(),), court or Court())


def reloaded(records: Iterable[Any], node: str = "n0", incarnation: bytes = b"boot two") -> PartitionReplica:
    """Another boot of a share, from the journal records of the former one."""
    made, up_to, beyond = share(node, incarnation), {}, []
    kept = {}
    for record in records:
        if isinstance(record, Put):
            kept[record.table, record.key] = record.value
        else:
            kept.pop((record.table, record.key), None)
    for (table, key), value in kept.items():
        key = key.partition(b"\0")[2]
        if table == "seen":
            up_to[key] = int.from_bytes(value, "big")
        elif table == "beyond":
            beyond.append(key)
        else:
            made.load(table, key, value)
    made.finish_loading(up_to, beyond)
    return made


IMPATIENT = DeliverySettings(first_retry_ms=1_000, last_retry_ms=4_000, retries_max=3)
