"""Checks over all lines together before anything is taken in: which are bad, and which name missing ids.

One bad line means that nothing is taken in. Lines are looked at one by one and none is kept, so there may be millions of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from hive_mind.errors import InvalidInput
from hive_mind.memory.transfer.named_ids import NamedIds
from hive_mind.memory.transfer.transfer import Record, record_of
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store.base import AddEpisode, Change, Link

Lines = Callable[[], Iterable[bytes | str]]
"""Gives the lines, from the first one, as often as it is called."""

PROBLEMS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Examined:
    """Good lines. `lines` counts those that are not blank; numbers of lines count all.

    Links are at `links_from` and after it, everything else is before `nodes_to`. `end` is the number of lines.
    """

    digest: str
    lines: int
    facts: int
    nodes_to: int
    links_from: int
    end: int


class Examination:
    """`take` every line, then ask for the `result`. Use it as a context."""

    def __init__(self) -> None:
        self._ids = NamedIds()
        self._digest = blake2b(digest_size=16)
        self._problems = list[str]()
        self._bad = self._lines = self._facts = self._nodes_to = self.taken = 0
        self._links_from: int | None = None

    def take(self, line: bytes | str) -> None:
        """The next line."""
        self.taken += 1
        self._digest.update(line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass"))
        self._digest.update(b"\n")
        if line.strip():
            self._lines += 1
            try:
                self._note(record_of(line))
            except InvalidInput as error:
                self._bad += 1
                if len(self._problems) < PROBLEMS_SHOWN:
                    self._problems.append(f"line {self.taken}: {error}")

    def result(self) -> Examined:
        """Their summary. Raises `InvalidInput` that names the first bad lines and their errors."""
        if not self._bad:
            missing, self._bad = self._ids.missing(PROBLEMS_SHOWN)
            self._problems = [f"{id} is named and not held by any line: export both ends together" for id in missing]
        if self._bad:
            more = f"\n  … and {self._bad - PROBLEMS_SHOWN} more" if self._bad > PROBLEMS_SHOWN else ""
            raise InvalidInput("nothing was imported:\n  " + "\n  ".join(self._problems) + more)
        links_from = self.taken if self._links_from is None else self._links_from
        return Examined(self._digest.hexdigest(), self._lines, self._facts, self._nodes_to, links_from, self.taken)

    def _note(self, record: Record) -> None:
        match record:
            case Fact(id=id, superseded_by=newer):
                self._facts += 1
                self._hold(id)
                if newer:
                    self._ids.name(newer)
            case Episode(id=id):
                self._hold(id)
            case Link(_, from_id, to_id):
                if self._links_from is None:
                    self._links_from = self.taken - 1
                self._ids.name(from_id)
                self._ids.name(to_id)

    def _hold(self, id: str) -> None:
        self._nodes_to = self.taken
        self._ids.hold(id)

    def __enter__(self) -> "Examination":
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.__exit__()


@dataclass(frozen=True, slots=True)
class Records:
    """Content of the lines: facts to take in, and everything else as changes."""

    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]


def read_records(lines: Sequence[str]) -> Records:
    """Lines as records, all in RAM. Raises `InvalidInput` that names the first bad lines and what is wrong with each."""
    with Examination() as examination:
        for line in lines:
            examination.take(line)
        examination.result()
    records = [record_of(line) for line in lines if line.strip()]
    facts = tuple(record for record in records if isinstance(record, Fact))
    episodes = [AddEpisode(record) for record in records if isinstance(record, Episode)]
    return Records(facts, (*episodes, *(record for record in records if isinstance(record, Link) and is_taken(record))))


def is_taken(link: Link) -> bool:
    """Mentions are not: they follow from a fact's entities, and are made again with the fact."""
    return link.relation is not Relation.MENTIONS
