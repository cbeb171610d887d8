"""Actions of simulated agents: promote, say it again, take it back, rate, ask. Few facts and few words, so that they collide."""

import msgspec

from hive_mind.hive.chance import Chance
from hive_mind.hive.effects import Ask, Promote, Promotion, Retract, Write
from hive_mind.model.evidence import Statement
from hive_mind.model.ids import fact_id
from hive_mind.model.probe import Anchors, Probe
from hive_mind.ranking.tokens import tokenize
from hive_mind.sim.faults import HOUR_MS, MINUTE_MS

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
            return self._rate(request, node, agents)
        if draw < 0.84 or not is_moderated:
            return self._ask(request)
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

    def _rate(self, request: str, node: str, agents: tuple[str, ...]) -> Write:
        rater, subject = self._chance.choice(agents_of(node)), self._chance.choice(agents)
        counts = {"good": self._chance.randrange(_RATINGS_MAX), "bad": self._chance.randrange(_RATINGS_MAX), "at_ms": 0}
        return Write(request, ((f"rating/{rater}/{subject}", _json(counts)),), rater)

    def _ask(self, request: str) -> Ask:
        words = self._chance.sample(_THINGS, 2) if self._chance.random() < 0.5 else _THINGS
        return Ask(request, probe(tuple(tokenize(" ".join(words)))), DEADLINE_MS)

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
    """A search by words that returns everything it finds."""
    return Probe(terms, Anchors(), depth=len(STATEMENTS) + 8)


def _json(value: object) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()
