"""A whole hive in one thread, in virtual time, from one seed: production nodes under every fault we could think of.

Here is what it is exposed to: faults, how bad each of them is in one run, its agents' actions, and its settings. Faults are drawn
from the seed, so that calm and storm both occur. Agents promote, say it again, take it back, rate and ask: few facts and few
words, so that they collide. Hives are small, with the settings of real ones where that costs no time.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.hive import Chance
from hive_mind.hive.effects import Ask, Promote, Promotion, Retract, Write
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import Seal
from hive_mind.hive.policy.node_policy import ExpirySettings, PolicySettings
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.sharded import REPLICAS
from hive_mind.hive.topology.spec import SPECS, Founding, reads, spec_of
from hive_mind.model.evidence import Statement
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.model.ids import fact_id
from hive_mind.ranking.tokens import tokenize

FAULTS = (
    *("loss", "duplication", "partition", "crash", "disk", "restore", "clock", "stall", "churn"),
    *("liar", "forger", "theft", "eclipse", "split"),
)
SIGNED = frozenset({"liar", "forger", "theft"})
"""Faults against which members prove who they are."""

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
YEAR_MS = 365 * 24 * HOUR_MS

# An hour behind to ten years ahead; under a minute is what badly kept clocks do every day.
_CLOCK_ERRORS_MS = (-HOUR_MS, -50_000, 50_000, 40 * HOUR_MS, 10 * YEAR_MS)


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad one run is. Shares are per message or per boundary between two effects; the `_share`s of steps per operation."""

    loss: float = 0.0
    duplication: float = 0.0
    delay_ms: int = 50
    """Mean of an exponential distribution: so messages overtake each other, and the more the longer it is."""
    is_brokered: bool = False
    """Whether a broker repeats what was not acknowledged; otherwise a message comes once or never."""
    partition_share: float = 0.0
    crash_boundary_share: float = 0.0
    crash_share: float = 0.0
    loses_tails: bool = False
    sync_ms: int = 0
    """Mean time until a write is durable; meanwhile the node goes on."""
    restore_share: float = 0.0
    clock_error_ms: int = 0
    """By how much the clock of one node is wrong from the start."""
    clock_step_share: float = 0.0
    stall_share: float = 0.0
    churn_share: float = 0.0
    has_liar: bool = False
    is_signed: bool = False
    """Whether members prove who they are."""
    has_forger: bool = False
    """Whether a stranger reads and writes on the bus."""
    has_thief: bool = False
    """Whether somebody has the key of a member, until it is revoked."""
    eclipse_share: float = 0.0
    """How often a member begins to hear nobody but those who lie."""
    split_share: float = 0.0
    """How often it takes minutes until some hear of another topology."""


CALM = Weather()


def parse(text: str) -> frozenset[str]:
    """Faults named in a list like "loss,crash"; "all" and "none" are names too. Raises `InvalidInput` for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in (*FAULTS, "all", "none")]
    if unknown:
        raise InvalidInput(f"unknown fault {unknown[0]!r}: choose from {', '.join(FAULTS)}, or all, or none")
    return frozenset(FAULTS) if "all" in names else frozenset(names) - {"none"}


def drawn(faults: frozenset[str], chance: Chance) -> Weather:
    """The weather of one run. Everything is drawn whatever is switched on, so leaving a fault out changes nothing else."""
    everything = Weather(
        loss=chance.choice((0.0, 0.05, 0.2, 0.5)),
        duplication=chance.choice((0.0, 0.1, 0.3)),
        delay_ms=chance.choice((50, 1_000, 20_000)),
        is_brokered=chance.random() < 0.5,
        partition_share=0.04,
        crash_boundary_share=chance.choice((0.0, 0.0005, 0.002)),
        crash_share=0.02,
        loses_tails=chance.random() < 0.7,
        sync_ms=chance.choice((0, 20, 2_000)),
        restore_share=0.008,
        clock_error_ms=chance.choice(_CLOCK_ERRORS_MS) if chance.random() < 0.5 else 0,
        clock_step_share=0.01,
        stall_share=0.01,
        churn_share=0.012 if chance.random() < 0.5 else 0.0,
        has_liar=chance.random() < 0.3,
        is_signed=True,
        has_forger=chance.random() < 0.5,
        has_thief=chance.random() < 0.4,
        eclipse_share=0.015,
        split_share=0.5,
    )
    weather = _only(faults, everything)
    # Of five members one may lie: where one does, nobody's key is stolen.
    weather = replace(weather, has_thief=weather.has_thief and not weather.has_liar)
    # A liar's clock is wrong as it likes. A second one that is far off could make most votes wrong, where nobody can tell.
    return replace(weather, clock_error_ms=0) if weather.has_liar or weather.has_thief else weather


def _only(faults: frozenset[str], everything: Weather) -> Weather:
    belongs = {
        "loss": ("loss",),
        "duplication": ("duplication",),
        "partition": ("partition_share",),
        "crash": ("crash_boundary_share", "crash_share"),
        "disk": ("loses_tails", "sync_ms"),
        "restore": ("restore_share",),
        "clock": ("clock_error_ms", "clock_step_share"),
        "stall": ("stall_share",),
        "churn": ("churn_share",),
        "liar": ("has_liar",),
        "forger": ("has_forger",),
        "theft": ("has_thief",),
        "eclipse": ("eclipse_share",),
        "split": ("split_share",),
    }
    off = [field for fault, fields in belongs.items() if fault not in faults for field in fields]
    calm = {field: getattr(CALM, field) for field in off}
    return replace(everything, **calm, is_signed=bool(SIGNED & faults))


MODERATOR, MODERATORS_NODE = "moderator", "n0"
AGENTS_PER_NODE = 2
DEADLINE_MS = 5_000

_THINGS = "ferry harbour lighthouse bridge market tower garden mill".split()
_COLOURS = "white red blue green".split()
_RATINGS_MAX = 20

STATEMENTS = tuple(Statement(f"The {thing} is {colour}.", thing) for thing in _THINGS for colour in _COLOURS)
FACT_IDS = tuple(fact_id(statement.content) for statement in STATEMENTS)
EVERYTHING = tuple(tokenize(" ".join(_THINGS)))
"""Terms that find every fact there can be."""

# Most facts stay; one in five lives a day or twenty minutes, so that some expire while things go wrong.
_TTLS_MS = (0, 0, 0, 0, 0, 0, 0, 0, 24 * HOUR_MS, 20 * MINUTE_MS)

Request = Promote | Retract | Write | Ask


def agents_of(node: str) -> tuple[str, ...]:
    return tuple(f"{node}-agent{number}" for number in range(AGENTS_PER_NODE))


class Workload:
    """Draws one request after another for the agents of a node."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._facts_said: dict[str, list[str]] = {}

    def next(self, request: str, node: str, *, agents: tuple[str, ...], is_moderated: bool) -> Request:
        """The next action of an agent of `node`. `agents` are all there are; only a moderator's node redacts and pins."""
        draw = self._chance.random()
        if draw < 0.50:
            return self._promote(request, node)
        if draw < 0.63:
            return self._retract(request, node)
        if draw < 0.66:
            return Retract(request, (self._chance.choice(FACT_IDS),), self._chance.choice(agents_of(node)))
        if draw < 0.74:
            rater, subject = self._chance.choice(agents_of(node)), self._chance.choice(agents)
            counts = {"good": self._chance.randrange(_RATINGS_MAX), "bad": self._chance.randrange(_RATINGS_MAX), "at_ms": 0}
            return Write(request, ((f"rating/{rater}/{subject}", _json(counts)),), rater)
        if draw < 0.84 or not is_moderated:
            words = self._chance.sample(_THINGS, 2) if self._chance.random() < 0.5 else _THINGS
            return Ask(request, probe(tuple(tokenize(" ".join(words)))), DEADLINE_MS)
        return self._moderate(request, agents)

    def _promote(self, request: str, node: str) -> Promote:
        count = self._chance.choice((1, 1, 1, 2, 5))
        return Promote(request, tuple(self._promotion(node) for _ in range(count)))

    def _promotion(self, node: str) -> Promotion:
        chance = self._chance
        number, agent = chance.randrange(len(STATEMENTS)), chance.choice(agents_of(node))
        self._facts_said.setdefault(agent, []).append(FACT_IDS[number])
        # Agents that read the same source say the same on its word: one root, several agents.
        root = agent if chance.random() < 0.7 else f"source{chance.randrange(3)}"
        confidence = round(chance.uniform(0.3, 1.0), 3)
        return Promotion(STATEMENTS[number], agent, root, confidence, chance.choice(_TTLS_MS))

    def _retract(self, request: str, node: str) -> Retract:
        agent = self._chance.choice(agents_of(node))
        facts_of_agent = self._facts_said.get(agent) or FACT_IDS
        return Retract(request, (self._chance.choice(facts_of_agent),), agent)

    def _moderate(self, request: str, agents: tuple[str, ...]) -> Retract | Write:
        draw, fact = self._chance.random(), self._chance.choice(FACT_IDS)
        if draw < 0.5:
            return Retract(request, (fact,), MODERATOR)
        if draw < 0.75:
            value = round(self._chance.uniform(-1.0, 4.0), 2)
            return Write(request, ((f"trust/{self._chance.choice(agents)}", _json(value)),), MODERATOR)
        if draw < 0.9:
            return Write(request, ((f"quarantine/{fact}", _json(self._chance.choice((True, None)))),), MODERATOR)
        return Write(request, ((f"redacted/{fact}", _json(True)),), MODERATOR)


def probe(terms: tuple[str, ...]) -> Probe:
    return Probe(terms, Anchors(), depth=len(STATEMENTS) + 8)


def _json(value: object) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()


TOPOLOGIES = tuple(SPECS)
NODES = {name: 6 if reads(name, "replicas") else 5 for name in SPECS}
NODES_MIN = 3

GOSSIP_MS = 30_000
_PARTITIONS = 8
# Longer than a run: facts without a time to live of their own stay.
_MAX_AGE_HOURS = 4_000.0

SETTINGS = HiveSettings(
    standing=PolicySettings(moderators=(MODERATOR,), expiry=ExpirySettings(is_on=True, max_age_hours=_MAX_AGE_HOURS)),
    gossip=GossipSettings(period_ms=GOSSIP_MS),
)

Node = TypeVar("Node", bound=HiveNode)


def first_topology(name: str, nodes: int, chance: Chance) -> Topology:
    """A hive of this many nodes. Raises `InvalidInput` for a topology that has no nodes to simulate."""
    names = tuple(f"n{number}" for number in range(nodes))
    if nodes < NODES_MIN:
        raise InvalidInput(f"{nodes} nodes are too few: a simulation needs at least {NODES_MIN}")
    spec = spec_of(name)
    # Drawn only where it counts: the runs of a seed depend on each draw.
    replicas = chance.choice((2, 3)) if "replicas" in spec.settings else REPLICAS
    if "groups" not in spec.settings:
        return spec.build(Founding({"": names}, replicas=replicas, partitions=_PARTITIONS))
    half = (nodes - 1) // 2
    return spec.build(Founding({"north": names[:half], "south": names[half:-1]}, root=names[-1]))


def joined(topology: Topology, name: str) -> Topology:
    return topology.with_nodes({*topology.nodes, name})


def left(topology: Topology, name: str) -> Topology:
    return topology.with_nodes(set(topology.nodes) - {name})


def node_of(kind: type[Node], name: str, topology: Topology, chance: Chance, seal: Seal, *, is_founding: bool) -> Node:
    return kind(
        name,
        topology,
        chance=chance,
        settings=SETTINGS,
        seal=seal,
        is_founding=is_founding,
    )
