"""Stories of what went wrong. Two incidents on neighbouring machines: a log line, a ticket, and colleagues that find the cause,
mend it and hear of the victims. No single turn tells the story: some name the machine, some the number, some only "it".

Security logs of two neighbouring accounts and doors: attempts by person and place, among lines where nothing is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from hive_mind.evals.generating.drafts import Draft, DraftTurn, Intent, Kind, Narrator, Story, Subject
from hive_mind.evals.generating.world import Discovery, Values, World

_TEAM = 5
_REMARKS = (3, 5)
_LED = 0.5
_PARTS = ("causes", "fixes", "impacts")


@dataclass(frozen=True, slots=True)
class _Case:
    """One incident: its number and machine, the turns that give its number, and each part's turn with what it found."""

    id: str
    host: str
    opening: Sequence[DraftTurn]
    parts: dict[str, tuple[DraftTurn, Discovery]]


class IncidentPair:
    """One telling of it."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.chance = world.chance("incidents", number)
        self.words = world.words.incidents
        self.story = Story()
        domain = self.chance.randrange(world.domains)
        self.team = world.team(domain, _TEAM, self.chance)
        # One domain's affair, which guests of others join: nobody knows the cause before there is an alarm.
        self.narrator = Narrator(world, self.chance, world.words.projects.between, world.words.projects.reactions, domain)
        self.slots = sorted(self.chance.sample(range(world.slots), 2))
        self.hosts = world.names.hosts(number)
        self.numbers = world.names.incidents(number, world.day(self.slots[0]).year)

    def write(self) -> Story:
        found = {part: self.chance.sample(getattr(self.words, part), 2) for part in _PARTS}
        cases = [self._case(at, {part: findings[at] for part, findings in found.items()}) for at in range(2)]
        self._in_order()
        for case, twin in (cases, cases[::-1]):
            self._ask(case, twin)
        self._ask_of_none(cases)
        return self.story

    def _case(self, at: int, findings: dict[str, Discovery]) -> _Case:
        host, id_, slot = self.hosts[at], self.numbers[at], self.slots[at]
        place = self.chance.choice(self.world.names.places)
        subject = Subject(host, id_, ["Any news on {name}?", "Who was at {name}?", "{name}, what is the state?"], host)
        words = {"host": host, "id": id_, "place": place, "port": str(self.chance.randint(200, 9000))}
        alarm = self._remark(subject, self.words.alarms, slot, "log", words)
        opened = self._remark(subject, self.words.opened, slot, "chat", words)
        for _ in range(self.chance.randint(*_REMARKS)):
            self._remark(subject, self.words.looked, slot, "chat", words)
        speakers = self.chance.sample(self.team, min(len(self.team), len(_PARTS)))
        parts = {}
        for part, speaker in zip(_PARTS, speakers, strict=True):
            finding = findings[part]
            exchange = self.narrator.state(subject, self._sentences(part, finding), speaker, slot, self.team)
            parts[part] = (self.story.keep(exchange), finding)
        self._remark(subject, self.words.closed, slot, "ticket", words)
        return _Case(id_, host, [alarm, opened], parts)

    def _sentences(self, part: str, finding: Discovery) -> Sequence[str]:
        """A finding's sentences, now and then led in by the word that a search would use."""
        if self.chance.random() >= _LED:
            return finding.said
        return [f"{lead} {sentence[0].upper()}{sentence[1:]}" for lead in self.words.leads[part] for sentence in finding.said]

    def _in_order(self) -> None:
        """Put the exchanges in the order of their telling, with small talk in between."""
        ranks = sorted(exchange.rank for exchange in self.story.exchanges)
        self.story.exchanges = [replace(exchange, rank=rank) for exchange, rank in zip(self.story.exchanges, ranks, strict=True)]

    def _remark(self, subject: Subject, patterns: Sequence[str], slot: int, kind: Kind, words: dict[str, str]) -> DraftTurn:
        text = self.chance.choice(patterns).format_map(words)
        return self.story.keep(self.narrator.remark(subject, text, self.chance.choice(self.team), slot, kind))

    def _ask(self, case: _Case, twin: _Case) -> None:
        questions = {"causes": self.words.cause_asked, "fixes": self.words.fix_asked, "impacts": self.words.impact_asked}
        category = {"causes": "incident-cause", "fixes": "incident-repair", "impacts": "incident-impact"}
        for part in _PARTS:
            (turn, finding), (twin_turn, misleading) = case.parts[part], twin.parts[part]
            text = self._worded(questions[part], case)
            intent: Intent = "why-decision" if part == "causes" else "state-lookup"
            answers = (finding.answer,), (misleading.answer,)
            self.story.ask(category[part], text, ([turn], [twin_turn]), answers, turn.text, intent)
        text = self._worded(self.words.number_asked, case)
        self.story.ask("identifier", text, (case.opening, twin.opening), ((case.id,), (twin.id,)))
        turns, twin_turns = ([turn for turn, _ in told.parts.values()] for told in (case, twin))
        right, wrong = (tuple(finding.answer for _, finding in told.parts.values()) for told in (case, twin))
        answer = " ".join(turn.text for turn in turns)
        text = self._worded(self.words.overview_asked, case)
        self.story.ask("incident-synthesis", text, (turns, twin_turns), (right, wrong), answer, "cross-source")

    def _ask_of_none(self, cases: Sequence[_Case]) -> None:
        """A number that nobody ever opened, one digit from two that somebody did."""
        nobody = self.numbers[2]
        patterns = [pattern for pattern in self.words.cause_asked if "{id}" in pattern]
        causes = [case.parts["causes"] for case in cases]
        self.story.drafts.append(
            Draft(
                "false-premise",
                "adversarial",
                self.chance.choice(patterns).format(id=nobody),
                distractors=[turn for turn, _ in causes],
                forbidden=tuple(finding.answer for _, finding in causes),
                gap=f"there is no {nobody}, only {cases[0].id} and {cases[1].id}",
            )
        )

    def _worded(self, patterns: Sequence[str], case: _Case) -> str:
        return self.chance.choice(patterns).format(id=case.id, host=case.host, spoken=case.host.replace("-", " "))


_SECURITY_TEAM = 3
# Attempts, harmless lines of an account and of its neighbour, and people that pass a door.
_ATTEMPTS, _HARMLESS, _AT_DOOR = 3, (8, 3), (9, 14)
# Agents have the badges from here on, others have higher ones.
_FIRST_BADGE = 20_000


class SecurityPair:
    """One telling of it."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.chance: Random = world.chance("security", number)
        self.words = world.words.security
        self.story = Story()
        domain = self.chance.randrange(world.domains)
        self.team = world.team(domain, _SECURITY_TEAM, self.chance)
        self.narrator = Narrator(world, self.chance, world.words.projects.between, world.words.projects.reactions, domain)
        people = count()
        self.values = Values(world.names, self.chance, lambda: world.outsider(1, number, next(people)))
        self.slot = self.chance.randrange(world.slots)
        self.accounts, self.doors = world.names.accounts(number), world.names.doors(number)

    def write(self) -> Story:
        self._attempts()
        self._responses()
        self._doors()
        return self.story

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
            self.story.ask("security-log", text, (attempts[at], misleading), ((addresses[at],), (addresses[1 - at],)))

    def _responses(self) -> None:
        chosen = self.chance.sample(self.words.responses, 2)
        turns = [self._answers(account, discovery.said) for account, discovery in zip(self.accounts, chosen, strict=True)]
        for at, account in enumerate(self.accounts):
            text = self.chance.choice(self.words.response_asked).format(account=account)
            answers = (chosen[at].answer,), (chosen[1 - at].answer,)
            self.story.ask("security-response", text, ([turns[at]], [turns[1 - at]]), answers, turns[at].text)

    def _doors(self) -> None:
        """At each door one is refused and many pass: about as many as have room in ten, or a few more."""
        refused, passed = [], []
        for door in self.doors:
            person = self.values.draw("person")
            refused.append((self._badge(door, person, self.values.draw("badge"), self.words.badges), person))
            agents = self.chance.choices(range(self.world.agents), k=self.chance.randint(*_AT_DOOR))
            passed.append([self._passes(door, agent) for agent in agents])
        for at, door in enumerate(self.doors):
            (turn, person), (draft_turn, misleading) = refused[at], refused[1 - at]
            text = self.chance.choice(self.words.badge_asked).format(door=door)
            self.story.ask("access", text, ([turn], [draft_turn, *passed[at]]), ((person,), (misleading,)))

    def _passes(self, door: str, agent: int) -> DraftTurn:
        return self._badge(door, self.world.agent(agent), str(_FIRST_BADGE + agent), self.words.badges_fine)

    def _badge(self, door: str, person: str, badge: str, patterns: Sequence[str]) -> DraftTurn:
        return self._line(door, patterns, door=door, person=person, badge=badge)

    def _line(self, topic: str, patterns: Sequence[str], **words: str) -> DraftTurn:
        port = str(self.chance.randint(30_000, 60_000))
        text = self.chance.choice(patterns).format(port=port, **words)
        # The agent that ships the log is always the same one.
        return self.story.keep(self.narrator.remark(self._subject(topic), text, self.team[0], self.slot, "log"))

    def _answers(self, account: str, patterns: Sequence[str]) -> DraftTurn:
        subject, speaker = self._subject(account), self.chance.choice(self.team)
        return self.story.keep(self.narrator.state(subject, patterns, speaker, self.slot, self.team))

    def _subject(self, name: str) -> Subject:
        return Subject(name, name, self.words.noticed, name)
