"""A made-up world that many agents talk about for months, and questions about it with known answers.

Everything is invented and drawn from a seed: projects with changing figures, contradictions, near-namesakes, incidents, security
logs, private remarks, small talk. `world` has the vocabulary and the telling; each of `stories` makes turns and questions
together, so the labels are right by construction. Of a size and a seed come stories until the turns are nearly used up, small
talk for the rest, then sessions. Cost is linear in turns: a story knows nothing of the others, and only sorting turns by time
looks at all of them. Colleagues also remark on themselves: said as "I" when a colleague gives them an opening, asked for by name.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, cycle

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope
from hive_mind.evals.experiments import TURNS_MAX
from hive_mind.evals.generating.stories import IncidentPair, ProjectPair, SecurityPair
from hive_mind.evals.generating.world import Draft, DraftTurn, Exchange, Story, World, capital, documents_of

_PAIR = 2


class Colleagues(Story):
    """Two agents talk about the same kind of thing, on different days; one of them is asked about."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, "people", number)
        pairs = world.agents // _PAIR
        # Every agent once, then everybody with the next topic.
        self.topic = self.words.topics[number // pairs]
        first = number % pairs * _PAIR
        self.agents = (first, first + 1)

    @staticmethod
    def stories(world: World) -> int:
        """How many there can be: nobody tells the same thing twice."""
        return world.agents // _PAIR * len(world.words.people.topics)

    def write(self) -> Story:
        values = self.chance.sample(self.topic.values, _PAIR)
        turns = [self._says(agent, value) for agent, value in zip(self.agents, values, strict=True)]
        text = self.chance.choice(self.topic.asked).format(name=self.world.agent(self.agents[0]))
        self.ask("personal", text, (turns[:1], turns[1:]), values[:1], values[1:])
        if self.number % _PAIR:
            self.ask_for_untold(self.topic.untold.format(name=self.world.agent(self.agents[0])), turns[:1], values[:1])
        return self

    def _says(self, agent: int, value: str) -> DraftTurn:
        chance, world, name = self.chance, self.world, self.world.agent(agent)
        first = name.split()[0]
        colleagues = world.team(world.domain_of(agent), 2, chance)
        colleague = next((member for member in colleagues if member != agent), (agent + 1) % world.agents)
        opening = DraftTurn(capital(chance.choice(self.topic.opener).format(first=first)), world.agent(colleague), name)
        turn = DraftTurn(chance.choice(self.topic.said).format(value=value), name, name)
        self.exchange(chance.randrange(world.slots), agent, [opening, turn])
        apart = DraftTurn(chance.choice(self.words.chatter).format(first=first), world.agent(colleague), name)
        self.exchange(chance.randrange(world.slots), colleague, [apart])
        return turn


CATEGORIES = (
    *("single-fact", "who", "when", "why", "how", "personal", "identifier", "security-log", "security-response", "access"),
    *("incident-cause", "incident-repair", "incident-impact", "current-value", "former-value", "as-of", "order"),
    *("near-duplicate", "contradiction", "cross-source", "cross-agent", "synthesis", "incident-synthesis"),
    *("unanswerable", "false-premise", "wrong-relation"),
)
TURNS_MIN = 200
# Cross-agent questions need a few; and everybody should get a word in.
AGENTS_MIN, TURNS_PER_AGENT_MIN = 4, 10

# The rest is small talk.
_STORIES_SHARE = 0.9
_PER_CATEGORY_MAX = 25
# Order of the stories, so that also a small corpus has some of everything.
_ROUND = ("project", "incident", "people", "security", "people", "project", "people", "incident", "people")
_TELLINGS: dict[str, type[ProjectPair | IncidentPair | SecurityPair | Colleagues]] = {
    "project": ProjectPair,
    "incident": IncidentPair,
    "security": SecurityPair,
    "people": Colleagues,
}


def generate(turns: int, agents: int, seed: int) -> Dataset:
    """A scope with exactly this number of turns and speakers, and questions. Raises `InvalidInput` for a size it can't do.

    The same arguments give the same data set, on any machine.
    """
    _check(turns, agents, seed)
    world = World(turns, agents, seed)
    exchanges: list[Exchange] = []
    drafts: list[Draft] = []
    story_turns = 0
    numbers, people_left = {kind: count() for kind in _TELLINGS}, Colleagues.stories(world)
    for kind in cycle(_ROUND):
        if kind == "people":
            people_left -= 1
            if people_left < 0:
                continue
        story = _TELLINGS[kind](world, next(numbers[kind])).write()
        if story_turns + story.turns > _STORIES_SHARE * turns:
            break
        exchanges += story.exchanges
        drafts += story.drafts
        story_turns += story.turns
    exchanges += small_talk(world, turns - story_turns)
    documents = documents_of(world, exchanges)
    name = f"generated-{turns}-{agents}-{seed}"
    scope = Scope(name, tuple(documents.values()), tuple(_questions(drafts, documents)))
    return Dataset(name, (scope,))


def _check(turns: int, agents: int, seed: int) -> None:
    if not TURNS_MIN <= turns <= TURNS_MAX:
        raise InvalidInput(f"a generated data set has {TURNS_MIN} to {TURNS_MAX} turns, not {turns}")
    if not AGENTS_MIN <= agents <= turns // TURNS_PER_AGENT_MIN:
        most = turns // TURNS_PER_AGENT_MIN
        raise InvalidInput(f"{turns} turns take {AGENTS_MIN} to {most} agents, not {agents}: change one of the two")
    if seed < 0:
        raise InvalidInput(f"a seed is 0 or more, not {seed}")


def _questions(drafts: list[Draft], documents: dict[DraftTurn, Document]) -> Iterator[LabelledQuestion]:
    """Some of each category, from the beginning of the world to its end."""
    for category in CATEGORIES:
        same = [draft for draft in drafts if draft.question.category == category]
        question_count = min(len(same), _PER_CATEGORY_MAX)
        for number in range(question_count):
            yield _labelled(f"{category}-{number + 1:02d}", same[number * len(same) // question_count], documents)


def _labelled(id_: str, draft: Draft, documents: dict[DraftTurn, Document]) -> LabelledQuestion:
    relevant, distractors = ([documents[turn] for turn in turns] for turns in (draft.relevant, draft.distractors))
    kinds = {document.kind for document in relevant}
    judgements = {document.id: 1 for document in relevant} | {document.id: -1 for document in distractors}
    return replace(draft.question, id=id_, relevant=judgements, source_bias=kinds.pop() if len(kinds) == 1 else "mixed")


def small_talk(world: World, turns: int) -> Iterator[Exchange]:
    words, chance = world.words.smalltalk, world.chance("small talk")
    order = chance.sample(range(world.agents), world.agents)
    lists = {name: getattr(words, name) for name in ("weather", "mood", "thing", "food", "event", "colour", "weekday")}
    for number in range(turns):
        drawn = {name: chance.choice(values) for name, values in lists.items()}
        drawn |= {"Mood": capital(drawn["mood"]), "Weekday": drawn["weekday"], "number": str(chance.randint(2, 11))}
        text = capital(chance.choice(words.patterns).format_map(drawn))
        agent = order[number % world.agents]
        slot = chance.randrange(world.slots)
        yield Exchange(slot, world.domain_of(agent), "chat", chance.random(), (DraftTurn(text, world.agent(agent)),))


__all__ = ["CATEGORIES", "generate"]
