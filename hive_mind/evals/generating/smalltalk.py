"""Talk about nothing. It fills a corpus up to its size, and gives every agent something to say."""

from collections.abc import Iterator

from hive_mind.evals.generating.drafts import Exchange, Turn
from hive_mind.evals.generating.world import World


def small_talk(world: World, turns: int) -> Iterator[Exchange]:
    """As many turns, of all agents in turn."""
    words, chance = world.words.smalltalk, world.chance("small talk")
    order = chance.sample(range(world.agents), world.agents)
    lists = {name: getattr(words, name) for name in ("weather", "mood", "thing", "food", "event", "colour", "weekday")}
    for number in range(turns):
        drawn = {name: chance.choice(values) for name, values in lists.items()}
        drawn |= {"Mood": _capital(drawn["mood"]), "Weekday": drawn["weekday"], "number": str(chance.randint(2, 11))}
        text = _capital(chance.choice(words.patterns).format_map(drawn))
        agent = order[number % world.agents]
        slot = chance.randrange(world.slots)
        yield Exchange(slot, world.domain_of(agent), "chat", chance.random(), (Turn(text, world.agent(agent)),))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
