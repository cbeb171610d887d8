"""The world of one seed, its vocabulary, speakers, subjects and days; and stories told in it, as turns and questions that point
at turns.

The vocabulary is read once from the JSON files of `vocabulary/`. Statements and questions about the same thing are worded apart
on purpose: a search for the question's words alone must not find everything.

The same number has the same name, and two numbers never share one, so that stories can be made one by one, in any order, without
asking what the others used. A second thing of a pair has nearly the first one's name; that is what distractors are made of.
Values (money, days, people, places) are no two of a story the same, and none is part of another.

A statement becomes an exchange: named in full, by half its name, or as "it" after somebody else has named it. This is what makes
dialogue hard to search: the turn that has the answer often lacks the words that one would look for. Turns are distinguished by
identity: two people may say the same words.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import groupby
from random import Random
from types import SimpleNamespace
from typing import Any, Literal

from hive_mind.evals.datasets import Document, LabelledQuestion

PARTS = ("names", "projects", "incidents", "security", "people", "smalltalk")


@lru_cache(maxsize=1)
def words() -> SimpleNamespace:
    """The vocabulary of the package: a part for each of its files, with the file's keys as attributes.

    A pattern has `{it}` for its subject, `{value}` and the like for what is drawn. `said` are ways to say a thing, `asked` ways
    to ask for it, `answer` the words of it that answer; `noun` names it in questions, `kind` is that of its value (`Values`).
    """
    folder = files(__package__).joinpath("vocabulary")
    texts = ((part, folder.joinpath(f"{part}.json").read_text("utf-8")) for part in PARTS)
    return SimpleNamespace(**{part: json.loads(text, object_hook=lambda value: SimpleNamespace(**value)) for part, text in texts})


# Incident numbers come in threes: the pair's two, and one that nobody ever opened.
_INCIDENT_STRIDE = 3
_INCIDENTS = 2_999
# Coprime to the above, so that neighbours in time are no neighbours in number.
_SPREAD = 37


class Naming:
    """Names of one world. The seed decides which number has which."""

    def __init__(self, names: SimpleNamespace, chance: Random) -> None:
        self._first, self._last = _shuffled(names.first, chance), _shuffled(names.last, chance)
        self._project_first = _shuffled(names.projects_first, chance)
        self._project_second = _shuffled(names.projects_second, chance)
        self._hosts, self._roles = _shuffled(names.hosts, chance), _shuffled(names.host_roles, chance)
        self._domains = _shuffled(names.domains, chance)
        self._incident_offset = chance.randrange(_INCIDENTS)
        self.places = names.places.split()
        self.companies = (names.companies_first.split(), names.companies_second.split())

    def person(self, number: int) -> str:
        count = len(self._first) * len(self._last)
        round_number, number = divmod(number, count)
        row, column = divmod(number, len(self._first))
        last = self._last[(row + 7 * column) % len(self._last)]
        return f"{self._first[column]} {last}" + ("" if not round_number else f" {'I' * (round_number + 1)}")

    def projects(self, pair: int) -> tuple[str, str]:
        """Two code names with the same first word."""
        row, column = divmod(pair, len(self._project_first))
        count = len(self._project_second)
        round_number, row = divmod(row, count // 2)
        suffix = "" if not round_number else f" {round_number + 1}"
        at = 2 * row + 3 * column
        return (
            f"{self._project_first[column]} {self._project_second[at % count]}{suffix}",
            f"{self._project_first[column]} {self._project_second[(at + 1) % count]}{suffix}",
        )

    def short_projects(self, pair: int) -> tuple[str, str]:
        """Short names of the two: their second words. Where an earlier project has that word, in full."""
        first_name, second_name = self.projects(pair)
        return self._short(first_name, pair), self._short(second_name, pair)

    def _short(self, name: str, pair: int) -> str:
        half = name.split(" ", 1)[1]
        return half if self._first_bearers.get(half) == pair else name

    @cached_property
    def _first_bearers(self) -> dict[str, int]:
        """By second word, the first pair that has it."""
        bearers: dict[str, int] = {}
        for pair in range(len(self._project_first) * len(self._project_second)):
            for name in self.projects(pair):
                bearers.setdefault(name.split(" ", 1)[1], pair)
            if len(bearers) >= len(self._project_second):
                break
        return bearers

    def hosts(self, pair: int) -> tuple[str, str]:
        rest, word = divmod(pair, len(self._hosts))
        row, role = divmod(rest, len(self._roles))
        stem = f"{self._hosts[word]}-{self._roles[role]}"
        return f"{stem}-{10 + 2 * row}", f"{stem}-{11 + 2 * row}"

    def accounts(self, pair: int) -> tuple[str, str]:
        row, word = divmod(pair, len(self._hosts))
        return f"svc-{self._hosts[word]}-{100 + 2 * row}", f"svc-{self._hosts[word]}-{101 + 2 * row}"

    def doors(self, pair: int) -> tuple[str, str]:
        row, letter = divmod(pair, 26)
        return f"{chr(65 + letter)}{100 + 2 * row}", f"{chr(65 + letter)}{101 + 2 * row}"

    def incidents(self, pair: int, year: int) -> tuple[str, str, str]:
        """The numbers of two incidents, and one that looks like them and was never opened."""
        round_number, within = divmod(pair, _INCIDENTS)
        first = 1000 + 10_000 * round_number + _INCIDENT_STRIDE * ((within * _SPREAD + self._incident_offset) % _INCIDENTS)
        return f"INC-{year}-{first}", f"INC-{year}-{first + 1}", f"INC-{year}-{first + 2}"

    def domain(self, number: int) -> str:
        return self._domains[number]


def _shuffled(words: str, chance: Random) -> list[str]:
    listed = words.split()
    chance.shuffle(listed)
    return listed


# None of these is a word of a project's name, so that a name never looks like an answer.
COLOURS = "red green black white grey pink brown beige maroon navy khaki mauve cyan turquoise".split()
_WEEKDAYS = "Mondays Tuesdays Wednesdays Thursdays Fridays".split()
_AFTER, _BEFORE = date(2027, 1, 4), date(2021, 3, 1)


class Values:
    """Draws values for one story. `person` gives its next person."""

    def __init__(self, names: Naming, chance: Random, person: Callable[[], str]) -> None:
        self._chance, self._taken = chance, set[str]()
        between = chance.randint
        self._draw: dict[str, Callable[[], str]] = {
            "money": lambda: f"{between(11, 98)},{between(1, 9)}00 euros",
            "date": lambda: spoken(_AFTER + timedelta(days=between(0, 360))),
            "past_date": lambda: spoken(_BEFORE + timedelta(days=between(0, 720))),
            "person": person,
            "company": lambda: " ".join(map(chance.choice, names.companies)),
            "place": lambda: chance.choice(names.places),
            "seconds": lambda: f"{between(11, 179)} seconds",
            "days": lambda: f"{between(12, 390)} days",
            "version": lambda: f"{between(2, 9)}.{between(1, 30)}.{between(1, 12)}",
            "kilos": lambda: f"{between(120, 990)} kilos",
            "people": lambda: f"{between(11, 70)} people",
            "bar": lambda: f"{between(3, 19)}.{between(1, 9)} bar",
            "kilowatts": lambda: f"{between(14, 290)} kilowatts",
            "weekly": lambda: f"{chance.choice(_WEEKDAYS)} at {between(8, 17)}:{between(1, 5)}0",
            "percent": lambda: f"{between(61, 98)} percent",
            "colour": lambda: chance.choice(COLOURS),
            "room": lambda: f"room {between(1, 7)}.{between(101, 480)}",
            "permit": lambda: f"{chance.choice('KLMN')}-{between(1200, 9800)}",
            "address": lambda: f"10.{between(16, 250)}.{between(1, 250)}.{between(2, 250)}",
            "badge": lambda: f"{between(200_000, 990_000)}",
        }

    def draw(self, kind: str) -> str:
        while (value := self._draw[kind]()) in self._taken:
            pass
        self._taken.add(value)
        return value


def core(value: str) -> str:
    """The part of a value an answer must have: a sum of money may have another name or sign of its currency."""
    return value.removesuffix(" euros")


# Not from the calendar of this machine, which may speak another language.
_MONTHS = "January February March April May June July August September October November December".split()
_BEGINNING = date(2024, 1, 8)
# Meetings get longer rather than more than daily for two years: a corpus must not reach into the next century.
_SLOTS_MIN, _SLOTS_MAX = 8, 730
_DAYS_BETWEEN_MAX = 14
_TURNS_PER_SESSION = 14
_AGENTS_PER_DOMAIN = 3
# A story names at most this many people that are no agents.
_OUTSIDERS = 4


@dataclass(frozen=True)
class World:
    """`turns` and `agents` decide how many domains there are and how often they meet."""

    turns: int
    agents: int
    seed: int

    def chance(self, *what: object) -> Random:
        """Chance of its own for each part of the world, so that one can be made without the others."""
        return Random("/".join(map(str, (self.seed, self.turns, self.agents, *what))))  # noqa: S311 - invents, hides nothing

    @cached_property
    def words(self) -> SimpleNamespace:
        return words()

    @cached_property
    def names(self) -> Naming:
        """Names by number; agents have the first ones."""
        return Naming(self.words.names, self.chance("names"))

    @cached_property
    def domains(self) -> int:
        return max(1, min(self.agents // _AGENTS_PER_DOMAIN, len(self.words.names.domains.split())))

    @cached_property
    def slots(self) -> int:
        return max(_SLOTS_MIN, min(self.turns // (self.domains * _TURNS_PER_SESSION), _SLOTS_MAX))

    @cached_property
    def days_between(self) -> int:
        """Days from one meeting of a domain to its next."""
        return max(1, min(_DAYS_BETWEEN_MAX, _SLOTS_MAX // self.slots))

    def day(self, slot: int, domain: int = 0) -> date:
        """When a domain meets for this slot: after everybody's slot before, before everybody's next."""
        return _BEGINNING + timedelta(days=slot * self.days_between + domain % self.days_between)

    def agent(self, number: int) -> str:
        return self.names.person(number % self.agents)

    def domain_of(self, number: int) -> int:
        return number % self.agents % self.domains

    def team(self, domain: int, size: int, chance: Random) -> list[int]:
        """Numbers of different agents, most of them of this domain."""
        agents = range(domain, self.agents, self.domains)
        chosen = chance.sample(agents, min(len(agents), size - 1))
        while len(chosen) < min(size, self.agents):
            guest = chance.randrange(self.agents)
            if guest not in chosen:
                chosen.append(guest)
        return chosen

    def outsider(self, kind: int, story: int, number: int) -> str:
        """A person that is no agent. `kind` is 0 or 1, for two kinds of stories."""
        return self.names.person(self.agents + (2 * story + kind) * _OUTSIDERS + number)


def spoken(day: date) -> str:
    """As people write it: "8 May 2024"."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


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

    def ask_for_untold(self, text: str, turns: Sequence[DraftTurn], wrong: Sequence[str]) -> None:
        """A question that only seems to be answered: the turns say something else of the same thing, in the same form."""
        gap = f"nobody answers “{text}”, only another question about the same thing"
        self.ask("wrong-relation", text, ((), turns), (), wrong, intent="adversarial", gap=gap)

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
        first, *others = session
        turns = [turn for exchange in (first, *others) for turn in exchange.turns]
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
    return documents
