"""The world of one seed: speakers, subjects and days. Nothing here depends on how many stories came before."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from random import Random

from hive_mind.evals.generating.naming import Naming
from hive_mind.evals.generating.words import Words, words

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
    def words(self) -> Words:
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
        own = range(domain, self.agents, self.domains)
        chosen = chance.sample(own, min(len(own), size - 1))
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
