"""Two projects with nearly the same name: their attributes, changes and disputes, and facts known of one only.

Its questions have their labels: documents that answer or mislead, words an answer must have and must not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from hive_mind.evals.generating.drafts import Draft, DraftTurn, Intent, Narrator, Story, Subject
from hive_mind.evals.generating.world import Attribute, Discovery, ProjectWords, Values, World, core, spoken


@dataclass(frozen=True, slots=True)
class ValueTurn:
    """A turn that gives an attribute its value."""

    turn: DraftTurn
    value: str
    attribute: Attribute


@dataclass(frozen=True, slots=True)
class Asks:
    """Words questions about one project."""

    chance: Random
    words: ProjectWords
    name: str

    def plain(self, category: str, statement: ValueTurn, twin: ValueTurn | None = None) -> Draft:
        misleading = [twin] if twin else []
        return self._asking(category, statement, misleading)

    def near_duplicate(self, statement: ValueTurn, twin: ValueTurn) -> Draft:
        """The same attribute of a namesake is said in the same words."""
        return self._asking("near-duplicate", statement, [twin], intent="adversarial")

    def current(self, history: Sequence[ValueTurn], twin: ValueTurn) -> Draft:
        old = tuple(statement.value for statement in history[:-1])
        return self._asking("current-value", history[-1], [*history[:-1], twin], superseded=old)

    def former(self, history: Sequence[ValueTurn], twin: ValueTurn) -> Draft:
        text = self._of(self.words.former, history[0])
        return self._asking("former-value", history[0], [*history[1:], twin], text)

    def as_of(self, history: Sequence[ValueTurn], which: int, day: str) -> Draft:
        """The value that held on a day: that version is neither the first nor the last."""
        text = self._of(self.words.as_of, history[which], day=day)
        statements = [statement for statement in history if statement is not history[which]]
        superseded = tuple(statement.value for statement in history[:which])
        return self._asking("as-of", history[which], statements, text, superseded=superseded)

    def contradicted(self, versions: Sequence[ValueTurn]) -> Draft:
        """Two agents say different things, and nobody settled it."""
        values = tuple(statement.value for statement in versions)
        return Draft(
            "contradiction",
            "cross-source",
            self._of(self.words.contradicted, versions[0]),
            [statement.turn for statement in versions],
            required=tuple(map(core, values)),
            acceptable=values,
            answer=f"Some say {values[0]}, others {values[1]}.",
        )

    def recorded(self, statement: ValueTurn, record: DraftTurn, twin: ValueTurn) -> Draft:
        """Said in a chat and written down in the minutes."""
        draft = self._asking("cross-source", statement, [twin], self._of(self.words.recorded, statement), intent="cross-source")
        return _also(draft, record)

    def hop(self, lead: ValueTurn, room: ValueTurn, misleading: Sequence[ValueTurn]) -> Draft:
        """The room of a person that another agent names."""
        text = self.chance.choice(self.words.room_asked).format(name=self.name)
        draft = self._asking("cross-agent", room, misleading, text, intent="cross-source")
        return _also(draft, lead.turn)

    def unknown(self, twin: ValueTurn, namesake: str) -> Draft:
        """Nobody ever said it of this project; of its namesake somebody did."""
        return Draft(
            "unanswerable",
            "adversarial",
            self._of(self.words.unknown, twin),
            distractors=[twin.turn],
            forbidden=(core(twin.value),),
            gap=f"nobody mentions the {twin.attribute.noun} of {self.name}, only that of {namesake}",
        )

    def order(self, discoveries: Sequence[Discovery], turns: Sequence[DraftTurn]) -> Draft:
        """Which of two events came first; the question names them in either order."""
        first_noun, second_noun = self.chance.sample([finding.noun for finding in discoveries], 2)
        text = self.chance.choice(self.words.order).format(name=self.name, one=first_noun, other=second_noun)
        earlier, answer = (discoveries[0].answer,), f"First came {discoveries[0].noun}."
        return Draft("order", "state-lookup", text, turns, required=earlier, acceptable=earlier, answer=answer)

    def why(self, discovery: Discovery, turn: DraftTurn, draft_turn: DraftTurn, other_reason: str) -> Draft:
        text = self.chance.choice(discovery.asked).format(name=self.name)
        reason = (discovery.answer,)
        return Draft("why", "why-decision", text, [turn], [draft_turn], reason, reason, (other_reason,), answer=turn.text)

    def how(self, discovery: Discovery, turns: Sequence[DraftTurn], colours: Sequence[str]) -> Draft:
        """A procedure that differs from the namesake's in one word."""
        text = self.chance.choice(discovery.asked).format(name=self.name)
        required, acceptable = (colours[0],), (f"{colours[0]} {discovery.answer}",)
        return Draft("how", "how-it-works", text, turns[:1], turns[1:], required, acceptable, (colours[1],), answer=turns[0].text)

    def overview(self, statements: Sequence[ValueTurn], outdated: Sequence[ValueTurn]) -> Draft:
        """Several current values at once, known by several agents."""
        nouns = [statement.attribute.noun for statement in statements]
        listed = ", ".join(nouns[:-1]) + f" and {nouns[-1]}"
        values = tuple(turn.value for turn in statements)
        return Draft(
            "synthesis",
            "cross-source",
            self.chance.choice(self.words.overview).format(name=self.name, nouns=listed),
            [turn.turn for turn in statements],
            [turn.turn for turn in outdated],
            required=tuple(map(core, values)),
            acceptable=values,
            forbidden=tuple(core(turn.value) for turn in outdated),
            superseded=tuple(turn.value for turn in outdated),
            answer="; ".join(f"{noun}: {value}" for noun, value in zip(nouns, values, strict=True)),
        )

    def _of(self, patterns: Sequence[str], statement: ValueTurn, **words: str) -> str:
        return self.chance.choice(patterns).format(noun=statement.attribute.noun, name=self.name, **words)

    def _asking(
        self,
        category: str,
        statement: ValueTurn,
        misleading: Sequence[ValueTurn],
        text: str = "",
        *,
        intent: Intent = "state-lookup",
        superseded: tuple[str, ...] = (),
    ) -> Draft:
        return Draft(
            category,
            intent,
            text or self._of((*statement.attribute.asked, *self.words.unknown[:1]), statement),
            [statement.turn],
            [turn.turn for turn in misleading],
            required=(core(statement.value),),
            acceptable=tuple(dict.fromkeys((statement.value, core(statement.value)))),
            forbidden=tuple(core(turn.value) for turn in misleading),
            superseded=superseded,
            answer=statement.value,
        )


def _also(draft: Draft, turn: DraftTurn) -> Draft:
    return replace(draft, relevant=[*draft.relevant, turn])


_TEAM = 6
_CHATTER = (3, 2)
# Share of values that are stated with the word a question would use.
_PLAINLY = 0.6
# Which of the drawn attributes plays which part: the first two change once and twice, two people contradict each other on the
# third, the fourth is also in the minutes, two are the same kind of value for both projects, the last is known of the twin only.
_ONCE, _TWICE, _DISPUTED, _RECORDED, _TWINS, _UNKNOWN = 0, 1, 2, 3, (4, 5), 6


class ProjectPair:
    """One telling of it. `first` is asked about most, `second` is its namesake."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number
        self.chance: Random = world.chance("projects", number)
        self.words = world.words.projects
        self.story = Story()
        self.outdated: list[ValueTurn] = []
        self.team = world.team(self.chance.randrange(world.domains), _TEAM, self.chance)
        self._speakers = count(self.chance.randrange(len(self.team)))
        people = count()
        self.values = Values(world.names, self.chance, lambda: world.outsider(0, number, next(people)))
        self.narrator = Narrator(world, self.chance, self.words.between, self.words.reactions)
        names = zip(world.names.projects(number), world.names.short_projects(number), strict=True)
        self.first, self.second = (Subject(name, short, self.words.openers, name) for name, short in names)
        self.asks, self.asks_of_second = (Asks(self.chance, self.words, subject.name) for subject in (self.first, self.second))

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
        self.story.drafts.append(self.asks.overview(current, self.outdated))
        self._fixed()
        self._milestones()
        self._decisions()
        self._procedures()
        for subject, remarks in zip((self.first, self.second), _CHATTER, strict=True):
            self._chatter(subject, remarks)
        return self.story

    def _state(self, subject: Subject, patterns: tuple[str, ...], slot: int, **words: str) -> DraftTurn:
        # In turn, so that what belongs together is known by different agents.
        speaker = self.team[next(self._speakers) % len(self.team)]
        return self.story.keep(self.narrator.state(subject, patterns, speaker, slot, self.team, **words))

    def _slots(self, number: int) -> list[int]:
        return sorted(self.chance.sample(range(self.world.slots), number))

    def _slot(self) -> int:
        return self.chance.randrange(self.world.slots)

    def _valued(self, subject: Subject, attribute: Attribute, slot: int, *, is_change: bool = False) -> ValueTurn:
        value = self.values.draw(attribute.kind)
        patterns = attribute.changed if is_change else attribute.said
        if self.chance.random() < _PLAINLY:
            patterns = self.words.plainly_changed if is_change else self.words.plainly
        return ValueTurn(self._state(subject, patterns, slot, value=value, noun=attribute.noun), value, attribute)

    def _changing(self, attribute: Attribute, changes: int) -> ValueTurn:
        slots = self._slots(changes + 1)
        history = [self._valued(self.first, attribute, slot, is_change=bool(number)) for number, slot in enumerate(slots)]
        self.outdated += history[:-1]
        twin = self._valued(self.second, attribute, self._slot())
        asks = self.asks
        self.story.drafts.append(asks.current(history, twin))
        if changes == 1:
            self.story.drafts.append(asks.former(history, twin))
        else:
            self.story.drafts.append(asks.as_of(history, 1, self._day_between(slots[1], slots[2])))
        return history[-1]

    def _day_between(self, slot: int, following: int) -> str:
        # After the whole round of meetings of the one, before that of the other; on the day itself where they meet daily.
        first, last = self.world.day(slot, -1), self.world.day(following)
        days = max((last - first).days, 1)
        return spoken(first.fromordinal(first.toordinal() + self.chance.randrange(days)))

    def _disputed(self, attribute: Attribute) -> None:
        slot = self._slot()
        versions = [self._valued(self.first, attribute, slot) for _ in range(2)]
        self.story.drafts.append(self.asks.contradicted(versions))

    def _recorded(self, attribute: Attribute) -> None:
        slot = self._slot()
        statement = self._valued(self.first, attribute, slot)
        pattern = self.chance.choice(self.words.minutes)
        text = pattern.format(name=self.first.name, noun_said=attribute.noun, value=statement.value)
        record = self.story.keep(self.narrator.remark(self.first, text, self.team[0], slot, "minutes"))
        twin = self._valued(self.second, attribute, self._slot())
        self.story.drafts.append(self.asks.recorded(statement, record, twin))

    def _twins(self, attribute: Attribute) -> ValueTurn:
        statement, twin = (self._valued(subject, attribute, self._slot()) for subject in (self.first, self.second))
        self.story.drafts += [self.asks.near_duplicate(statement, twin), self.asks_of_second.near_duplicate(twin, statement)]
        return statement

    def _unknown(self, attribute: Attribute) -> None:
        twin = self._valued(self.second, attribute, self._slot())
        self.story.drafts.append(self.asks.unknown(twin, self.second.name))

    def _leads(self) -> ValueTurn:
        """Their leaders, and the rooms of these people: two turns of two agents that must be put together."""
        lead = next(attribute for attribute in self.words.attributes if attribute.key == "lead")
        leads, rooms = [], []
        for subject in (self.first, self.second):
            leads.append(self._valued(subject, lead, self._slot()))
            room = self.values.draw("room")
            about = Subject(leads[-1].value, leads[-1].value, self.words.openers, leads[-1].value)
            text = self.chance.choice(self.words.person_rooms).format(person=about.name, value=room)
            speaker = self.team[next(self._speakers) % len(self.team)]
            rooms.append(ValueTurn(self.story.keep(self.narrator.remark(about, text, speaker, self._slot())), room, lead))
        for at, asks in enumerate((self.asks, self.asks_of_second)):
            lead_of_other, room_of_other = leads[1 - at], rooms[1 - at]
            self.story.drafts.append(asks.plain("who", leads[at], lead_of_other))
            self.story.drafts.append(asks.hop(leads[at], rooms[at], [lead_of_other, room_of_other]))
        return leads[0]

    def _fixed(self) -> None:
        """Constant values: each project has a few of its own, and both a day of their survey."""
        survey = next(attribute for attribute in self.words.fixed if attribute.key == "survey")
        drawn = self.chance.sample([attribute for attribute in self.words.fixed if attribute is not survey], 5)
        for subject, asks, attributes in ((self.first, self.asks, drawn[:3]), (self.second, self.asks_of_second, drawn[3:])):
            for attribute in attributes:
                category = "who" if attribute.kind == "person" else "single-fact"
                self.story.drafts.append(asks.plain(category, self._valued(subject, attribute, self._slot())))
        statement, twin = (self._valued(subject, survey, self._slot()) for subject in (self.first, self.second))
        self.story.drafts += [self.asks.plain("when", statement, twin), self.asks_of_second.plain("when", twin, statement)]

    def _milestones(self) -> None:
        discovery, milestone = self.chance.sample(self.words.milestones, 2)
        turns = [
            self._state(self.first, event.said, slot) for event, slot in zip((discovery, milestone), self._slots(2), strict=True)
        ]
        self.story.drafts.append(self.asks.order((discovery, milestone), turns))

    def _decisions(self) -> None:
        chosen: list[Discovery] = self.chance.sample(self.words.decisions, 2)
        subjects = (self.first, self.second)
        turns = [self._state(subject, discovery.said, self._slot()) for subject, discovery in zip(subjects, chosen, strict=True)]
        for at, asks in enumerate((self.asks, self.asks_of_second)):
            self.story.drafts.append(asks.why(chosen[at], turns[at], turns[1 - at], chosen[1 - at].answer))

    def _procedures(self) -> None:
        """The same procedure for both, with another colour."""
        discovery = self.chance.choice(self.words.procedures)
        colours = [self.values.draw(discovery.kind) for _ in range(2)]
        statements = [
            self._state(subject, discovery.said, self._slot(), value=colour)
            for subject, colour in zip((self.first, self.second), colours, strict=True)
        ]
        self.story.drafts.append(self.asks.how(discovery, statements, colours))
        self.story.drafts.append(self.asks_of_second.how(discovery, statements[::-1], colours[::-1]))

    def _chatter(self, subject: Subject, remarks: int) -> None:
        for pattern in self.chance.sample(self.words.chatter, remarks):
            called = self.chance.choice((subject.name, subject.name, subject.short))
            self.story.keep(self.narrator.remark(subject, pattern.format(it=called), self.chance.choice(self.team), self._slot()))
