"""How a statement becomes an exchange: named in full, by half its name, or as "it" after somebody else has named it.

This is what makes dialogue hard to search: the turn that has the answer often lacks the words that one would look for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hive_mind.evals.generating.drafts import DraftTurn, Exchange, Kind
from hive_mind.evals.generating.world import World

# Shares of statements that name their subject in full, and of those that use its short name; the others say "it".
_IN_FULL, _SHORT = 0.74, 0.9
_BETWEEN = 0.3
_REACTION = 0.35


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a turn. `opener` are patterns that name it for others to say "it"."""

    name: str
    short: str
    openers: Sequence[str]
    topic: str


@dataclass(frozen=True, slots=True)
class Narrator:
    """Tells one story's statements. `between` and `reactions` are what others say before and after.

    Something is said in a session of the speaker's `domain`, or of this one where it is only talked about there.
    """

    world: World
    chance: Random
    between: Sequence[str]
    reactions: Sequence[str]
    domain: int | None = None

    def state(
        self, subject: Subject, patterns: Sequence[str], speaker: int, slot: int, others: Sequence[int], **words: str
    ) -> "SpokenExchange":
        """A statement of `speaker`, with what the others say around it."""
        chance, other = self.chance, self._other(speaker, others)
        drawn = chance.random()
        opening: list[DraftTurn] = []
        called = subject.name
        if drawn >= _SHORT:
            called = "it"
            opening.append(self._turn(other, chance.choice(subject.openers).format(name=subject.name), subject))
            if chance.random() < _BETWEEN:
                opening.append(self._turn(speaker, chance.choice(self.between), subject))
        elif drawn >= _IN_FULL:
            called = subject.short
        fact = self._turn(speaker, chance.choice(patterns).format(it=called, **words), subject)
        closing = [self._turn(other, chance.choice(self.reactions), subject)] if chance.random() < _REACTION else []
        return SpokenExchange(self.exchange(slot, speaker, "chat", [*opening, fact, *closing]), fact)

    def remark(self, subject: Subject, text: str, speaker: int, slot: int, kind: Kind = "chat") -> "SpokenExchange":
        """A turn that stands alone. Machines begin a line as they like."""
        turn = DraftTurn(text, self.world.agent(speaker), subject.topic) if kind == "log" else self._turn(speaker, text, subject)
        return SpokenExchange(self.exchange(slot, speaker, kind, [turn]), turn)

    def exchange(self, slot: int, speaker: int, kind: Kind, turns: Sequence[DraftTurn]) -> Exchange:
        """Turns without anybody in between."""
        domain = self.world.domain_of(speaker) if self.domain is None else self.domain
        return Exchange(slot, domain, kind, self.chance.random(), tuple(turns))

    def _turn(self, speaker: int, text: str, subject: Subject) -> DraftTurn:
        return DraftTurn(text[0].upper() + text[1:], self.world.agent(speaker), subject.topic)

    def _other(self, speaker: int, others: Sequence[int]) -> int:
        return self.chance.choice([other for other in others if other != speaker] or [speaker])


@dataclass(frozen=True, slots=True)
class SpokenExchange:
    """An exchange, and the turn of it that matters."""

    exchange: Exchange
    turn: DraftTurn
