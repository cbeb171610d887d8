"""Names by number: the same number has the same name, and two numbers never share one.

So stories can be made one by one, in any order, without asking what the others used. A second thing of a pair has nearly the
first one's name; that is what distractors are made of.
"""

from functools import cached_property
from random import Random

from hive_mind.evals.generating.words import Names

# Incident numbers come in threes: the pair's two, and one that nobody ever opened.
_INCIDENT_STRIDE = 3
_INCIDENTS = 2_999
# Coprime to the above, so that neighbours in time are no neighbours in number.
_SPREAD = 37


class Naming:
    """Names of one world. The seed decides which number has which."""

    def __init__(self, names: Names, chance: Random) -> None:
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
        again, number = divmod(number, count)
        row, column = divmod(number, len(self._first))
        last = self._last[(row + 7 * column) % len(self._last)]
        return f"{self._first[column]} {last}" + ("" if not again else f" {'I' * (again + 1)}")

    def projects(self, pair: int) -> tuple[str, str]:
        """Two code names with the same first word."""
        row, column = divmod(pair, len(self._project_first))
        count = len(self._project_second)
        again, row = divmod(row, count // 2)
        suffix = "" if not again else f" {again + 1}"
        at = 2 * row + 3 * column
        return (
            f"{self._project_first[column]} {self._project_second[at % count]}{suffix}",
            f"{self._project_first[column]} {self._project_second[(at + 1) % count]}{suffix}",
        )

    def short_projects(self, pair: int) -> tuple[str, str]:
        """Short names of the two: their second words. Where an earlier project has that word, in full."""
        one, other = self.projects(pair)
        return self._short(one, pair), self._short(other, pair)

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
        """Two service accounts with consecutive numbers."""
        row, word = divmod(pair, len(self._hosts))
        return f"svc-{self._hosts[word]}-{100 + 2 * row}", f"svc-{self._hosts[word]}-{101 + 2 * row}"

    def doors(self, pair: int) -> tuple[str, str]:
        row, letter = divmod(pair, 26)
        return f"{chr(65 + letter)}{100 + 2 * row}", f"{chr(65 + letter)}{101 + 2 * row}"

    def incidents(self, pair: int, year: int) -> tuple[str, str, str]:
        """The numbers of two incidents, and one that looks like them and was never opened."""
        again, within = divmod(pair, _INCIDENTS)
        first = 1000 + 10_000 * again + _INCIDENT_STRIDE * ((within * _SPREAD + self._incident_offset) % _INCIDENTS)
        return f"INC-{year}-{first}", f"INC-{year}-{first + 1}", f"INC-{year}-{first + 2}"

    def domain(self, number: int) -> str:
        return self._domains[number]


def _shuffled(words: str, chance: Random) -> list[str]:
    listed = words.split()
    chance.shuffle(listed)
    return listed
