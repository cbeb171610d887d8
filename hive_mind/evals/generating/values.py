"""Values of attributes: money, days, people, places. No two of a story are the same, and none is part of another."""

from collections.abc import Callable
from datetime import date, timedelta
from random import Random

from hive_mind.evals.generating.naming import Naming
from hive_mind.evals.generating.world import spoken

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
        """A value of this kind that was not drawn before."""
        while (value := self._draw[kind]()) in self._taken:
            pass
        self._taken.add(value)
        return value


def core(value: str) -> str:
    """The part of a value an answer must have: a sum of money may have another name or sign of its currency."""
    return value.removesuffix(" euros")
