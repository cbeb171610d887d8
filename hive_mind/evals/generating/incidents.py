"""Stories of what went wrong. Two incidents on neighbouring machines: a log line, a ticket, and colleagues that find the cause,
mend it and hear of the victims. No single turn tells the story: some name the machine, some the number, some only "it".

Security logs of two neighbouring accounts and doors: attempts by person and place, among lines where nothing is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from hive_mind.evals.generating.story import DraftTurn, Intent, Kind, Story, Subject, capital
from hive_mind.evals.generating.world import Values, World

_TEAM = 5
_REMARKS = (3, 5)
_LED = 0.5
_OPENERS = ["Any news on {name}?", "Who was at {name}?", "{name}, what is the state?"]
# Each part of an incident: its category, the words that it is asked with, and what for.
_PARTS: dict[str, tuple[str, str, Intent]] = {
    "causes": ("incident-cause", "cause_asked", "why-decision"),
    "fixes": ("incident-repair", "fix_asked", "state-lookup"),
    "impacts": ("incident-impact", "impact_asked", "state-lookup"),
}


@dataclass(frozen=True, slots=True)
class _Case:
    """One incident: its number and machine, the turns that give its number, and each part's turn with the words that answer."""

    id: str
    host: str
    opening: Sequence[DraftTurn]
    parts: dict[str, tuple[DraftTurn, str]]


class IncidentPair(Story):
    """One telling of it: one domain's affair, which guests of others join. Nobody knows the cause before there is an alarm."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, "incidents", number, _TEAM, is_of_one_domain=True)
        self.slots = sorted(self.chance.sample(range(world.slots), 2))
        self.hosts = world.names.hosts(number)
        self.numbers = world.names.incidents(number, world.day(self.slots[0]).year)

    def write(self) -> Story:
        pairs = {part: self.chance.sample(getattr(self.words, part), 2) for part in _PARTS}
        cases = [self._case(at, {part: findings[at] for part, findings in pairs.items()}) for at in range(2)]
        self._in_order()
        for case, twin in (cases, cases[::-1]):
            self._ask(case, twin)
        self._ask_of_none(cases)
        return self

    def _case(self, at: int, findings: dict[str, Any]) -> _Case:
        host, id_, slot = self.hosts[at], self.numbers[at], self.slots[at]
        place = self.chance.choice(self.world.names.places)
        words = {"host": host, "id": id_, "place": place, "port": str(self.chance.randint(200, 9000))}

        def remark(patterns: Sequence[str], kind: Kind = "chat") -> DraftTurn:
            text = self.chance.choice(patterns).format_map(words)
            return self.remark(host, text, self.chance.choice(self.team), slot, kind)

        opening = [remark(self.words.alarms, "log"), remark(self.words.opened)]
        for _ in range(self.chance.randint(*_REMARKS)):
            remark(self.words.looked)
        speakers = self.chance.sample(self.team, min(len(self.team), len(_PARTS)))
        subject, parts = Subject(host, id_, _OPENERS, host), {}
        for (part, finding), speaker in zip(findings.items(), speakers, strict=True):
            parts[part] = self.state(subject, self._sentences(part, finding), speaker, slot), finding.answer
        remark(self.words.closed, "ticket")
        return _Case(id_, host, opening, parts)

    def _sentences(self, part: str, finding: Any) -> Sequence[str]:
        """A finding's sentences, now and then led in by the word that a search would use."""
        is_led = self.chance.random() < _LED
        leads = getattr(self.words.leads, part)
        return [f"{lead} {capital(sentence)}" for lead in leads for sentence in finding.said] if is_led else finding.said

    def _in_order(self) -> None:
        """Put the exchanges in the order of their telling, with small talk in between."""
        ranks = sorted(exchange.rank for exchange in self.exchanges)
        self.exchanges = [replace(exchange, rank=rank) for exchange, rank in zip(self.exchanges, ranks, strict=True)]

    def _ask(self, case: _Case, twin: _Case) -> None:
        for part, (category, asked, intent) in _PARTS.items():
            (turn, right), (twin_turn, wrong) = case.parts[part], twin.parts[part]
            text = self._worded(asked, case)
            self.ask(category, text, ([turn], [twin_turn]), (right,), (wrong,), answer=turn.text, intent=intent)
        text = self._worded("number_asked", case)
        self.ask("identifier", text, (case.opening, twin.opening), (case.id,), (twin.id,))
        (turns, right_words), (twin_turns, wrong_words) = (zip(*told.parts.values(), strict=True) for told in (case, twin))
        text, answer = self._worded("overview_asked", case), " ".join(turn.text for turn in turns)
        words = (turns, twin_turns), right_words, wrong_words
        self.ask("incident-synthesis", text, *words, answer=answer, intent="cross-source")

    def _ask_of_none(self, cases: Sequence[_Case]) -> None:
        """A number that nobody ever opened, one digit from two that somebody did."""
        nobody = self.numbers[2]
        text = self.chance.choice([pattern for pattern in self.words.cause_asked if "{id}" in pattern]).format(id=nobody)
        turns, wrong = zip(*(case.parts["causes"] for case in cases), strict=True)
        gap = f"there is no {nobody}, only {cases[0].id} and {cases[1].id}"
        self.ask("false-premise", text, ((), turns), (), wrong, intent="adversarial", gap=gap)

    def _worded(self, asked: str, case: _Case) -> str:
        pattern = self.chance.choice(getattr(self.words, asked))
        return str(pattern.format(id=case.id, host=case.host, spoken=case.host.replace("-", " ")))


_SECURITY_TEAM = 3
# Attempts, harmless lines of an account and of its neighbour, and people that pass a door.
_ATTEMPTS, _HARMLESS, _AT_DOOR = 3, (8, 3), (9, 14)
# Agents have the badges from here on, others have higher ones.
_FIRST_BADGE = 20_000


class SecurityPair(Story):
    """One telling of it."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, "security", number, _SECURITY_TEAM, is_of_one_domain=True)
        people = count()
        self.values = Values(world.names, self.chance, lambda: world.outsider(1, number, next(people)))
        self.slot = self.chance.randrange(world.slots)
        self.accounts, self.doors = world.names.accounts(number), world.names.doors(number)

    def write(self) -> Story:
        self._attempts()
        self._responses()
        self._doors()
        return self

    def _attempts(self) -> None:
        addresses = [self.values.draw("address") for _ in range(2)]
        attempts = [
            [self._line(account, self.words.failed, account=account, address=address) for _ in range(_ATTEMPTS)]
            for account, address in zip(self.accounts, addresses, strict=True)
        ]
        harmless = []
        for account, lines in zip(self.accounts, _HARMLESS, strict=True):
            usual = self.values.draw("address")
            harmless += [self._line(account, self.words.accepted, account=account, address=usual) for _ in range(lines)]
        for at, account in enumerate(self.accounts):
            text = self.chance.choice(self.words.attempts_asked).format(account=account)
            misleading = [*attempts[1 - at], *harmless[: _HARMLESS[0]]] if at == 0 else attempts[1 - at]
            self.ask("security-log", text, (attempts[at], misleading), (addresses[at],), (addresses[1 - at],))

    def _responses(self) -> None:
        chosen = self.chance.sample(self.words.responses, 2)
        turns = []
        for account, response in zip(self.accounts, chosen, strict=True):
            subject = Subject(account, account, self.words.noticed, account)
            turns.append(self.state(subject, response.said, self.chance.choice(self.team), self.slot))
        for at, account in enumerate(self.accounts):
            text = self.chance.choice(self.words.response_asked).format(account=account)
            words = ([turns[at]], [turns[1 - at]]), (chosen[at].answer,), (chosen[1 - at].answer,)
            self.ask("security-response", text, *words, answer=turns[at].text)

    def _doors(self) -> None:
        """At each door one is refused and many pass: about as many as have room in ten, or a few more."""
        refused, passed = [], []
        for door in self.doors:
            person = self.values.draw("person")
            refused.append((self._badge(door, person, self.values.draw("badge"), self.words.badges), person))
            agents = self.chance.choices(range(self.world.agents), k=self.chance.randint(*_AT_DOOR))
            fine = self.words.badges_fine
            passed.append([self._badge(door, self.world.agent(agent), str(_FIRST_BADGE + agent), fine) for agent in agents])
        for at, door in enumerate(self.doors):
            (turn, person), (twin_turn, misleading) = refused[at], refused[1 - at]
            text = self.chance.choice(self.words.badge_asked).format(door=door)
            self.ask("access", text, ([turn], [twin_turn, *passed[at]]), (person,), (misleading,))

    def _badge(self, door: str, person: str, badge: str, patterns: Sequence[str]) -> DraftTurn:
        return self._line(door, patterns, door=door, person=person, badge=badge)

    def _line(self, topic: str, patterns: Sequence[str], **words: str) -> DraftTurn:
        port = str(self.chance.randint(30_000, 60_000))
        text = self.chance.choice(patterns).format(port=port, **words)
        # The agent that ships the log is always the same one.
        return self.remark(topic, text, self.team[0], self.slot, "log")
