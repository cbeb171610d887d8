"""Parts of a story before it has a place in a session: turns, exchanges of turns, and questions that point at turns.

Turns are distinguished by identity: two people may say the same words.

A statement becomes an exchange: named in full, by half its name, or as "it" after somebody else has named it. This is what makes
dialogue hard to search: the turn that has the answer often lacks the words that one would look for.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import groupby
from random import Random
from typing import Literal

from hive_mind.evals.datasets import Document
from hive_mind.evals.generating.world import World

Kind = Literal["chat", "log", "minutes", "ticket"]
Intent = Literal["why-decision", "how-it-works", "state-lookup", "cross-source", "adversarial"]

# When a session of this kind begins, and the minutes it may take.
_HOURS: dict[Kind, tuple[time, int]] = {
    "log": (time(0, 20), 420),
    "chat": (time(9, 0), 420),
    "minutes": (time(16, 30), 60),
    "ticket": (time(18, 0), 120),
}
_MINUTES_BETWEEN_MAX = 3
_ID_DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False)
class DraftTurn:
    """A turn of one agent. `topic` is the project, machine, account or person it is about, "" for nothing in particular."""

    text: str
    speaker: str
    topic: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Turns that follow each other without anybody in between, in one session: a slot in time of a domain.

    `rank` in [0, 1) is where in the session it comes.
    """

    slot: int
    domain: int
    kind: Kind
    rank: float
    turns: tuple[DraftTurn, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with its labels, as `LabelledQuestion`, of turns instead of documents."""

    category: str
    intent: Intent
    text: str
    relevant: Sequence[DraftTurn] = ()
    distractors: Sequence[DraftTurn] = ()
    required: tuple[str, ...] = ()
    acceptable: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    answer: str = ""
    gap: str = ""


@dataclass(slots=True)
class Story:
    """Exchanges and the questions they answer."""

    exchanges: list[Exchange] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)

    @property
    def turns(self) -> int:
        return sum(len(exchange.turns) for exchange in self.exchanges)

    def keep(self, spoken_exchange: "SpokenExchange") -> DraftTurn:
        self.exchanges.append(spoken_exchange.exchange)
        return spoken_exchange.turn

    def ask(
        self,
        category: str,
        text: str,
        turns: tuple[Sequence[DraftTurn], Sequence[DraftTurn]],
        answers: tuple[tuple[str, ...], tuple[str, ...]],
        answer: str = "",
        intent: Intent = "state-lookup",
    ) -> None:
        """A question, the turns that answer it and those that mislead, and the words that are right and those that are wrong."""
        (relevant, distractors), (right, wrong) = turns, answers
        answer = answer or right[0]
        self.drafts.append(Draft(category, intent, text, relevant, distractors, right, right, wrong, answer=answer))


def documents_of(world: World, exchanges: Iterable[Exchange]) -> dict[DraftTurn, Document]:
    """A document for each turn, in the order in which they were said."""

    def when(exchange: Exchange) -> tuple[object, ...]:
        return (world.day(exchange.slot, exchange.domain), _HOURS[exchange.kind][0], exchange.domain, exchange.rank)

    documents: dict[DraftTurn, Document] = {}
    for _, session in groupby(sorted(exchanges, key=when), key=lambda exchange: when(exchange)[:-1]):
        _add_session(world, list(session), documents)
    return documents


def _add_session(world: World, exchanges: list[Exchange], documents: dict[DraftTurn, Document]) -> None:
    first = exchanges[0]
    turns = [turn for exchange in exchanges for turn in exchange.turns]
    begin, minutes = _HOURS[first.kind]
    day = world.day(first.slot, first.domain)
    section = f"{first.kind}/{day}/{world.names.domain(first.domain)}"
    apart = timedelta(minutes=min(_MINUTES_BETWEEN_MAX, minutes / len(turns)))
    befores = ["", *(f"{turn.speaker}: {turn.text}" for turn in turns)]
    for number, (turn, before) in enumerate(zip(turns, befores, strict=False)):
        said_at = datetime.combine(day, begin) + number * apart
        documents[turn] = Document(
            id=f"t{len(documents) + 1:0{_ID_DIGITS}d}",
            text=turn.text,
            source=section,
            said_at=said_at.isoformat(timespec="minutes"),
            speaker=turn.speaker,
            section=section,
            before=before,
            kind=first.kind,
            topic=turn.topic,
        )


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
        self, subject: Subject, patterns: Sequence[str], speaker: int, slot: int, speakers: Sequence[int], **words: str
    ) -> "SpokenExchange":
        """A statement of `speaker`, with what the others say around it."""
        chance, listener = self.chance, self._other(speaker, speakers)
        drawn = chance.random()
        opening: list[DraftTurn] = []
        called = subject.name
        if drawn >= _SHORT:
            called = "it"
            opening.append(self._turn(listener, chance.choice(subject.openers).format(name=subject.name), subject))
            if chance.random() < _BETWEEN:
                opening.append(self._turn(speaker, chance.choice(self.between), subject))
        elif drawn >= _IN_FULL:
            called = subject.short
        fact = self._turn(speaker, chance.choice(patterns).format(it=called, **words), subject)
        closing = [self._turn(listener, chance.choice(self.reactions), subject)] if chance.random() < _REACTION else []
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

    def _other(self, speaker: int, speakers: Sequence[int]) -> int:
        return self.chance.choice([listener for listener in speakers if listener != speaker] or [speaker])


@dataclass(frozen=True, slots=True)
class SpokenExchange:
    """An exchange, and the turn of it that matters."""

    exchange: Exchange
    turn: DraftTurn
