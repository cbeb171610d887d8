"""The telling of a story: turns, exchanges of turns, and questions that point at turns, before these have a place in a session.

Turns are distinguished by identity: two people may say the same words.

A statement becomes an exchange: named in full, by half its name, or as "it" after somebody else has named it. This is what makes
dialogue hard to search: the turn that has the answer often lacks the words that one would look for.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import groupby
from typing import Any, Literal

from hive_mind.evals.datasets import Document, LabelledQuestion
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
# Shares of statements that name their subject in full, and of those that use its short name; the others say "it".
_IN_FULL, _SHORT = 0.74, 0.9
_BETWEEN = 0.3
_REACTION = 0.35


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
    """A question without its id, and the turns that answer it and those that mislead."""

    question: LabelledQuestion
    relevant: Sequence[DraftTurn]
    distractors: Sequence[DraftTurn]


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a turn. `openers` are patterns that name it for others to say "it"."""

    name: str
    short: str
    openers: Sequence[str]
    topic: str


class Story:
    """Exchanges of a team, and the questions they answer.

    Something is said in a session of the speaker's domain; in that of the team where the story is the affair of one.
    """

    def __init__(self, world: World, part: str, number: int, members: int = 0, *, is_of_one_domain: bool = False) -> None:
        self.world, self.number, self.chance = world, number, world.chance(part, number)
        self.words = getattr(world.words, part)
        self.exchanges: list[Exchange] = []
        self.drafts: list[Draft] = []
        domain = self.chance.randrange(world.domains) if members else 0
        self.team = world.team(domain, members, self.chance) if members else []
        self._domain = domain if is_of_one_domain else None

    @property
    def turns(self) -> int:
        return sum(len(exchange.turns) for exchange in self.exchanges)

    def ask(
        self,
        category: str,
        text: str,
        turns: tuple[Sequence[DraftTurn], Sequence[DraftTurn]],
        right: Sequence[str] = (),
        wrong: Sequence[str] = (),
        **labels: Any,
    ) -> None:
        """A question, the turns that answer it and those that mislead, and the words that are right and those that are wrong.

        `labels` are further fields of it. Without others, its answer is the first right word, and all of them are acceptable.
        """
        labels = {"answer": "".join(right[:1]), "acceptable": tuple(right), "intent": "state-lookup"} | labels
        labels |= {"required": tuple(right), "forbidden": tuple(wrong), "is_answerable": bool(turns[0])}
        self.drafts.append(Draft(LabelledQuestion("", text, {}, category, **labels), *turns))

    def state(self, subject: Subject, patterns: Sequence[str], speaker: int, slot: int, **words: str) -> DraftTurn:
        """A statement of `speaker`, with what others of the team say around it."""
        chance, chatter = self.chance, self.world.words.projects
        listener = chance.choice([member for member in self.team if member != speaker] or [speaker])
        drawn = chance.random()
        opening: list[DraftTurn] = []
        called = subject.name
        if drawn >= _SHORT:
            called = "it"
            opening.append(self._turn(listener, chance.choice(subject.openers).format(name=subject.name), subject.topic))
            if chance.random() < _BETWEEN:
                opening.append(self._turn(speaker, chance.choice(chatter.between), subject.topic))
        elif drawn >= _IN_FULL:
            called = subject.short
        fact = self._turn(speaker, chance.choice(patterns).format(it=called, **words), subject.topic)
        closing = []
        if chance.random() < _REACTION:
            closing.append(self._turn(listener, chance.choice(chatter.reactions), subject.topic))
        self.exchange(slot, speaker, [*opening, fact, *closing])
        return fact

    def remark(self, topic: str, text: str, speaker: int, slot: int, kind: Kind = "chat") -> DraftTurn:
        """A turn that stands alone. Machines begin a line as they like."""
        turn = DraftTurn(text, self.world.agent(speaker), topic) if kind == "log" else self._turn(speaker, text, topic)
        self.exchange(slot, speaker, [turn], kind)
        return turn

    def exchange(self, slot: int, speaker: int, turns: Sequence[DraftTurn], kind: Kind = "chat") -> None:
        """Turns without anybody in between."""
        domain = self.world.domain_of(speaker) if self._domain is None else self._domain
        self.exchanges.append(Exchange(slot, domain, kind, self.chance.random(), tuple(turns)))

    def _turn(self, speaker: int, text: str, topic: str) -> DraftTurn:
        return DraftTurn(capital(text), self.world.agent(speaker), topic)


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


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
    before = ""
    for number, turn in enumerate(turns):
        documents[turn] = Document(
            id=f"t{len(documents) + 1:0{_ID_DIGITS}d}",
            text=turn.text,
            source=section,
            said_at=(datetime.combine(day, begin) + number * apart).isoformat(timespec="minutes"),
            speaker=turn.speaker,
            section=section,
            before=before,
            kind=first.kind,
            topic=turn.topic,
        )
        before = f"{turn.speaker}: {turn.text}"
