"""The stories: two projects, incidents, security logs, each of two things with nearly the same name. Labels are made with the
text.

Projects have attributes, changes and disputes, and facts known of one only. Incidents on neighbouring machines are a log line, a
ticket, and colleagues that find the cause, mend it and hear of the victims; no single turn tells the story. Security logs of two
neighbouring accounts and doors are attempts by person and place, among lines where nothing is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from typing import Any

from hive_mind.evals.generating.world import DraftTurn, Intent, Kind, Story, Subject, Values, World, capital, core, spoken

_PROJECT_TEAM = 6
_CHATTER = (3, 2)
# Share of values that are stated with the word a question would use.
_PLAINLY = 0.6
# Which of the drawn attributes plays which part: the first two change once and twice, two people contradict each other on the
# third, the fourth is also in the minutes, two are the same kind of value for both projects, the last is known of the twin only.
_ONCE, _TWICE, _DISPUTED, _RECORDED, _TWINS, _UNKNOWN = 0, 1, 2, 3, (4, 5), 6
# One project is asked about most, the other is its namesake.
_FIRST, _SECOND = _BOTH = (0, 1)


@dataclass(frozen=True, slots=True)
class ValueTurn:
    """A turn that gives an attribute its value."""

    turn: DraftTurn
    value: str
    attribute: Any


class ProjectPair(Story):
    """One telling of it."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, "projects", number, _PROJECT_TEAM)
        self.outdated: list[ValueTurn] = []
        self.told: tuple[list[ValueTurn], ...] = ([], [])
        self._speakers = count(self.chance.randrange(len(self.team)))
        people = count()
        self.values = Values(world.names, self.chance, lambda: world.outsider(0, number, next(people)))
        names = zip(world.names.projects(number), world.names.short_projects(number), strict=True)
        self.subjects = [Subject(name, short, self.words.openers, name) for name, short in names]

    def write(self) -> Story:
        sampled = self.chance.sample(self.words.attributes, _UNKNOWN + 1)
        others = (attribute for attribute in self.words.attributes if attribute not in sampled)
        drawn = [attribute for attribute in (*sampled, *others) if attribute.key != "lead"][: _UNKNOWN + 1]
        current = [self._changing(drawn[_ONCE], 1), self._changing(drawn[_TWICE], 2)]
        self._disputed(drawn[_DISPUTED])
        self._recorded(drawn[_RECORDED])
        current += [self._twins(drawn[number]) for number in _TWINS]
        self._unknown(drawn[_UNKNOWN])
        current.append(self._leads())
        # Several current values at once, known by several agents.
        nouns, values, former = [turn.attribute.noun for turn in current], _values(current), _values(self.outdated)
        self.ask(
            "synthesis",
            self._words(self.words.overview, _FIRST, nouns=", ".join(nouns[:-1]) + f" and {nouns[-1]}"),
            ([turn.turn for turn in current], [turn.turn for turn in self.outdated]),
            list(map(core, values)),
            list(map(core, former)),
            acceptable=values,
            superseded=former,
            answer="; ".join(f"{noun}: {value}" for noun, value in zip(nouns, values, strict=True)),
            intent="cross-source",
        )
        self._fixed()
        self._milestones()
        # Each project's own, with its reason.
        chosen = self.chance.sample(self.words.decisions, 2)
        turns = [
            self.state(subject, decision.said, self._speaker(), self._slot())
            for subject, decision in zip(self.subjects, chosen, strict=True)
        ]
        for project in _BOTH:
            (decision, turn), (misleading, other_turn) = ((chosen[at], turns[at]) for at in (project, 1 - project))
            text, words = self._words(decision.asked, project), ((decision.answer,), (misleading.answer,))
            self.ask("why", text, ([turn], [other_turn]), *words, answer=turn.text, intent="why-decision")
        self._procedures()
        for subject, remarks in zip(self.subjects, _CHATTER, strict=True):
            for pattern in self.chance.sample(self.words.chatter, remarks):
                called = self.chance.choice((subject.name, subject.name, subject.short))
                self.remark(subject.topic, pattern.format(it=called), self.chance.choice(self.team), self._slot())
        self._untold()
        return self

    def _slot(self) -> int:
        return self.chance.randrange(self.world.slots)

    def _slots(self, number: int) -> list[int]:
        return sorted(self.chance.sample(range(self.world.slots), number))

    def _speaker(self) -> int:
        # In turn, so that what belongs together is known by different agents.
        return self.team[next(self._speakers) % len(self.team)]

    def _valued(self, project: int, attribute: Any, slot: int, *, is_change: bool = False) -> ValueTurn:
        value = self.values.draw(attribute.kind)
        patterns = attribute.changed if is_change else attribute.said
        if self.chance.random() < _PLAINLY:
            patterns = self.words.plainly_changed if is_change else self.words.plainly
        turn = self.state(self.subjects[project], patterns, self._speaker(), slot, value=value, noun=attribute.noun)
        self.told[project].append(ValueTurn(turn, value, attribute))
        return self.told[project][-1]

    def _words(self, patterns: Sequence[str], project: int, **words: str) -> str:
        return self.chance.choice(patterns).format(name=self.subjects[project].name, **words)

    def _ask_value(
        self,
        category: str,
        statement: ValueTurn,
        misleading: Sequence[ValueTurn] = (),
        patterns: Sequence[str] = (),
        project: int = _FIRST,
        also: Sequence[DraftTurn] = (),
        day: str = "",
        **labels: Any,
    ) -> None:
        """Ask for the value of a statement, by default in the words of its attribute."""
        value, noun = statement.value, statement.attribute.noun
        text = self._words(patterns or (*statement.attribute.asked, self.words.unknown[0]), project, noun=noun, day=day)
        turns = [statement.turn, *also], [turn.turn for turn in misleading]
        acceptable, wrong = tuple(dict.fromkeys((value, core(value)))), [core(turn.value) for turn in misleading]
        self.ask(category, text, turns, (core(value),), wrong, acceptable=acceptable, answer=value, **labels)

    def _changing(self, attribute: Any, changes: int) -> ValueTurn:
        slots = self._slots(changes + 1)
        history = [self._valued(_FIRST, attribute, slot, is_change=bool(number)) for number, slot in enumerate(slots)]
        self.outdated += history[:-1]
        twin = self._valued(_SECOND, attribute, self._slot())
        self._ask_value("current-value", history[-1], [*history[:-1], twin], superseded=_values(history[:-1]))
        if changes == 1:
            self._ask_value("former-value", history[0], [*history[1:], twin], self.words.former)
        else:
            # The value that held on a day: that version is neither the first nor the last.
            # After the whole round of meetings of the one, before that of the other; on the day itself where they meet daily.
            first, days = self.world.day(slots[1], -1), (self.world.day(slots[2]) - self.world.day(slots[1], -1)).days
            day, others = spoken(first + timedelta(days=self.chance.randrange(max(days, 1)))), [history[0], history[2]]
            self._ask_value("as-of", history[1], others, self.words.as_of, superseded=_values(history[:1]), day=day)
        return history[-1]

    def _disputed(self, attribute: Any) -> None:
        """Two agents say different things, and nobody settles it."""
        slot = self._slot()
        versions = [self._valued(_FIRST, attribute, slot) for _ in range(2)]
        values = _values(versions)
        text = self._words(self.words.contradicted, _FIRST, noun=attribute.noun)
        turns, answer = [version.turn for version in versions], f"Some say {values[0]}, others {values[1]}."
        right = list(map(core, values))
        self.ask("contradiction", text, (turns, ()), right, acceptable=values, answer=answer, intent="cross-source")

    def _recorded(self, attribute: Any) -> None:
        """Said in a chat and written down in the minutes."""
        slot, name = self._slot(), self.subjects[_FIRST].name
        statement = self._valued(_FIRST, attribute, slot)
        text = self._words(self.words.minutes, _FIRST, noun_said=attribute.noun, value=statement.value)
        record = self.remark(name, text, self.team[0], slot, "minutes")
        twin = self._valued(_SECOND, attribute, self._slot())
        patterns = self.words.recorded
        self._ask_value("cross-source", statement, [twin], patterns, also=[record], intent="cross-source")

    def _twins(self, attribute: Any) -> ValueTurn:
        """The same attribute of a namesake is said in the same words."""
        both = [self._valued(project, attribute, self._slot()) for project in _BOTH]
        for project in _BOTH:
            self._ask_value("near-duplicate", both[project], [both[1 - project]], (), project, intent="adversarial")
        return both[_FIRST]

    def _unknown(self, attribute: Any) -> None:
        """Nobody says it of one project; of its namesake somebody does."""
        twin = self._valued(_SECOND, attribute, self._slot())
        name, namesake = (subject.name for subject in self.subjects)
        gap = f"nobody mentions the {attribute.noun} of {name}, only that of {namesake}"
        text = self._words(self.words.unknown, _FIRST, noun=attribute.noun)
        self.ask("unanswerable", text, ((), [twin.turn]), (), (core(twin.value),), intent="adversarial", gap=gap)

    def _leads(self) -> ValueTurn:
        """Their leaders, and the rooms of these people: two turns of two agents that must be put together."""
        lead = next(attribute for attribute in self.words.attributes if attribute.key == "lead")
        leads, rooms = [], []
        for project in _BOTH:
            leads.append(self._valued(project, lead, self._slot()))
            room, person = self.values.draw("room"), leads[-1].value
            text = self.chance.choice(self.words.person_rooms).format(person=person, value=room)
            rooms.append(ValueTurn(self.remark(person, text, self._speaker(), self._slot()), room, lead))
        for project in _BOTH:
            twin = leads[1 - project]
            self._ask_value("who", leads[project], [twin], (), project)
            misleading, asked, also = [twin, rooms[1 - project]], self.words.room_asked, [leads[project].turn]
            self._ask_value("cross-agent", rooms[project], misleading, asked, project, also=also, intent="cross-source")
        return leads[_FIRST]

    def _fixed(self) -> None:
        """Constant values: each project has a few of its own, and both a day of their survey."""
        survey = next(attribute for attribute in self.words.fixed if attribute.key == "survey")
        drawn = self.chance.sample([attribute for attribute in self.words.fixed if attribute is not survey], 5)
        for project, attributes in ((_FIRST, drawn[:3]), (_SECOND, drawn[3:])):
            for attribute in attributes:
                category = "who" if attribute.kind == "person" else "single-fact"
                self._ask_value(category, self._valued(project, attribute, self._slot()), project=project)
        days = [self._valued(project, survey, self._slot()) for project in _BOTH]
        for project in _BOTH:
            self._ask_value("when", days[project], [days[1 - project]], project=project)

    def _milestones(self) -> None:
        """Which of two events came first; the question names them in either order."""
        events, slots = self.chance.sample(self.words.milestones, 2), self._slots(2)
        subject = self.subjects[_FIRST]
        turns = [self.state(subject, event.said, self._speaker(), slot) for event, slot in zip(events, slots, strict=True)]
        one, other = self.chance.sample([event.noun for event in events], 2)
        text = self._words(self.words.order, _FIRST, one=one, other=other)
        self.ask("order", text, (turns, ()), (events[0].answer,), answer=f"First came {events[0].noun}.")

    def _procedures(self) -> None:
        """The same procedure for both, with another colour."""
        procedure = self.chance.choice(self.words.procedures)
        colours = [self.values.draw(procedure.kind) for _ in _BOTH]
        turns = [
            self.state(subject, procedure.said, self._speaker(), self._slot(), value=colour)
            for subject, colour in zip(self.subjects, colours, strict=True)
        ]
        for project in _BOTH:
            (turn, colour), (other_turn, other_colour) = ((turns[at], colours[at]) for at in (project, 1 - project))
            text, acceptable = self._words(procedure.asked, project), (f"{colour} {procedure.answer}",)
            words = ([turn], [other_turn]), (colour,), (other_colour,)
            self.ask("how", text, *words, acceptable=acceptable, answer=turn.text, intent="how-it-works")
            self.told[project].append(ValueTurn(turn, colour, procedure))

    def _untold(self) -> None:
        """Nobody says it of a project; of the same project somebody says something else that has the form of an answer."""
        relations = (*self.words.untold, *self.words.attributes, *self.words.fixed)
        for project in _BOTH:
            told = self.told[project]
            untold = [relation for relation in relations if relation not in [statement.attribute for statement in told]]
            pairs = [(relation, [each for each in told if _form(each.attribute) == _form(relation)]) for relation in untold]
            relation, misleading = self.chance.choice([pair for pair in pairs if pair[1]])
            text = self._words(relation.asked, project)
            self.ask_for_untold(text, [each.turn for each in misleading], [core(each.value) for each in misleading])


def _form(attribute: Any) -> str:
    return str(attribute.kind).removeprefix("past_")


def _values(statements: Sequence[ValueTurn]) -> tuple[str, ...]:
    return tuple(statement.value for statement in statements)


_INCIDENT_TEAM = 5
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
        super().__init__(world, "incidents", number, _INCIDENT_TEAM, is_of_one_domain=True)
        self.slots = sorted(self.chance.sample(range(world.slots), 2))
        self.hosts = world.names.hosts(number)
        self.numbers = world.names.incidents(number, world.day(self.slots[0]).year)

    def write(self) -> Story:
        pairs = {part: self.chance.sample(getattr(self.words, part), 2) for part in _PARTS}
        cases = [self._case(at, {part: findings[at] for part, findings in pairs.items()}) for at in range(2)]
        # Put the exchanges in the order of their telling, with small talk in between.
        ranks = sorted(exchange.rank for exchange in self.exchanges)
        self.exchanges = [replace(exchange, rank=rank) for exchange, rank in zip(self.exchanges, ranks, strict=True)]
        for case, twin in (cases, cases[::-1]):
            self._ask(case, twin)
        # A number that nobody ever opened, one digit from two that somebody did.
        nobody = self.numbers[2]
        text = self.chance.choice([pattern for pattern in self.words.cause_asked if "{id}" in pattern]).format(id=nobody)
        turns, wrong = zip(*(case.parts["causes"] for case in cases), strict=True)
        gap = f"there is no {nobody}, only {cases[0].id} and {cases[1].id}"
        self.ask("false-premise", text, ((), turns), (), wrong, intent="adversarial", gap=gap)
        # Of one that somebody did open, what nobody found out.
        turns, wrong = zip(*cases[0].parts.values(), strict=True)
        self.ask_for_untold(self._worded("untold", cases[0]), turns, wrong)
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
            sentences = finding.said
            if self.chance.random() < _LED:
                # Now and then led in by the word that a search would use.
                leads = getattr(self.words.leads, part)
                sentences = [f"{lead} {capital(sentence)}" for lead in leads for sentence in finding.said]
            parts[part] = self.state(subject, sentences, speaker, slot), finding.answer
        remark(self.words.closed, "ticket")
        return _Case(id_, host, opening, parts)

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
        self._responses()
        self._doors()
        return self

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
        turn, person = refused[0]
        self.ask_for_untold(self.chance.choice(self.words.untold).format(door=self.doors[0]), [turn], [person])

    def _badge(self, door: str, person: str, badge: str, patterns: Sequence[str]) -> DraftTurn:
        return self._line(door, patterns, door=door, person=person, badge=badge)

    def _line(self, topic: str, patterns: Sequence[str], **words: str) -> DraftTurn:
        port = str(self.chance.randint(30_000, 60_000))
        text = self.chance.choice(patterns).format(port=port, **words)
        # The agent that ships the log is always the same one.
        return self.remark(topic, text, self.team[0], self.slot, "log")
