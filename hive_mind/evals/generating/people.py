"""Remarks of agents about themselves: said as "I" when a colleague gives them an opening, asked for by name."""

from random import Random

from hive_mind.evals.generating.drafts import Draft, DraftTurn, Story
from hive_mind.evals.generating.narrator import Narrator
from hive_mind.evals.generating.words import Topic
from hive_mind.evals.generating.world import World

_PAIR = 2


class Colleagues:
    """Two agents talk about the same kind of thing, on different days; one of them is asked about."""

    def __init__(self, world: World, number: int) -> None:
        pairs = world.agents // _PAIR
        topics = world.words.people.topics
        self.world = world
        self.chance: Random = world.chance("people", number)
        # Every agent once, then everybody with the next topic.
        self.topic: Topic = topics[number // pairs]
        first = number % pairs * _PAIR
        self.agents = (first, first + 1)
        self.story = Story()
        self.narrator = Narrator(world, self.chance, (), ())

    @staticmethod
    def stories(world: World) -> int:
        """How many there can be: nobody tells the same thing twice."""
        return world.agents // _PAIR * len(world.words.people.topics)

    def write(self) -> Story:
        values = self.chance.sample(self.topic.values, _PAIR)
        turns = [self._says(agent, value) for agent, value in zip(self.agents, values, strict=True)]
        name = self.world.agent(self.agents[0])
        text = self.chance.choice(self.topic.asked).format(name=name)
        answer, other = (values[0],), (values[1],)
        self.story.drafts.append(
            Draft("personal", "state-lookup", text, turns[:1], turns[1:], answer, answer, other, answer=values[0])
        )
        return self.story

    def _says(self, agent: int, value: str) -> DraftTurn:
        chance, name = self.chance, self.world.agent(agent)
        colleague = self.world.team(self.world.domain_of(agent), 2, chance)
        other = next((one for one in colleague if one != agent), (agent + 1) % self.world.agents)
        opener = chance.choice(self.topic.opener).format(first=name.split()[0])
        turn = DraftTurn(chance.choice(self.topic.said).format(value=value), name, name)
        opening = DraftTurn(opener[0].upper() + opener[1:], self.world.agent(other), name)
        slot = chance.randrange(self.world.slots)
        self.story.exchanges.append(self.narrator.exchange(slot, agent, "chat", [opening, turn]))
        remark = chance.choice(self.world.words.people.chatter).format(first=name.split()[0])
        apart = DraftTurn(remark, self.world.agent(other), name)
        self.story.exchanges.append(self.narrator.exchange(chance.randrange(self.world.slots), other, "chat", [apart]))
        return turn
