"""Checks over all lines together before anything is taken in: which are bad, and which name missing ids.

One bad line means that nothing is taken in. Lines are looked at one by one and none is kept, so there may be millions of them.

That everything named is also held is looked at for more ids than should be in RAM (`NamedIds`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from tempfile import SpooledTemporaryFile

from hive_mind.errors import InvalidInput
from hive_mind.memory.transfer.transfer import Record, is_taken, record_of
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact
from hive_mind.store.base import AddEpisode, Change, Link

# 128 files at most are open. A million ids are then 31,000 in a file, some 3 MB as a set.
_FILES = 64
# Together 8 MB before anything goes to disk.
_IN_RAM_BYTES = 64 << 10
_ID_BYTES, _PLACE_BYTES = 16, 8


class NamedIds:
    """Ids of 32 hexadecimal digits. Use it as a context: it may have files."""

    def __init__(self) -> None:
        self._held_files = [_file() for _ in range(_FILES)]
        self._named_files = [_file() for _ in range(_FILES)]
        self._count = 0

    def hold(self, id: str) -> None:
        digest = bytes.fromhex(id)
        self._held_files[digest[0] % _FILES].write(digest)

    def name(self, id: str) -> None:
        """This one must be there, before or after."""
        digest = bytes.fromhex(id)
        self._count += 1
        self._named_files[digest[0] % _FILES].write(digest + self._count.to_bytes(_PLACE_BYTES, "big"))

    def missing(self, count_max: int) -> tuple[list[str], int]:
        """Ids named and not held: the first ones, up to a limit, and their total."""
        first, count = list[tuple[bytes, bytes]](), 0
        for file, named_file in zip(self._held_files, self._named_files, strict=True):
            absent = _absent(file, named_file)
            count += len(absent)
            first = nsmallest(count_max, [*first, *((place, id) for id, place in absent.items())])
        return [id.hex() for _, id in first], count

    def __enter__(self) -> "NamedIds":
        return self

    def __exit__(self, *_: object) -> None:
        for file in (*self._held_files, *self._named_files):
            file.close()


def _file() -> "SpooledTemporaryFile[bytes]":
    return SpooledTemporaryFile(_IN_RAM_BYTES)


def _absent(file: "SpooledTemporaryFile[bytes]", named_file: "SpooledTemporaryFile[bytes]") -> dict[bytes, bytes]:
    """Where each was named first."""
    pieces = set(_pieces(file, _ID_BYTES))
    absent: dict[bytes, bytes] = {}
    for piece in _pieces(named_file, _ID_BYTES + _PLACE_BYTES):
        if (digest := piece[:_ID_BYTES]) not in pieces:
            absent.setdefault(digest, piece[_ID_BYTES:])
    return absent


def _pieces(file: "SpooledTemporaryFile[bytes]", size: int) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(size):
        yield piece


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
            rest = f"\n  … and {self._bad - PROBLEMS_SHOWN} more" if self._bad > PROBLEMS_SHOWN else ""
            raise InvalidInput("nothing was imported:\n  " + "\n  ".join(self._problems) + rest)
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
