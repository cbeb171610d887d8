"""A record of a memory as a line of JSON and back: to keep, to move, to read in an editor.

One object a line, `type` first: "episode", "fact" or "link". Nothing in a line is believed: ids are computed from content again
and every field is checked. `importing` takes them in.

A whole memory is written in an order that depends on nothing but what is in it, and bounded in RAM: links, which have no order of
their own, are sorted in pieces that fit.

All lines together are checked before that: which are bad, and which name missing ids. One bad line means that nothing is taken
in. Lines are looked at one by one and none is kept, so there may be millions of them.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge, nsmallest
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import IO, Annotated

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.memory.intake import STATEMENT_CHARACTERS_MAX, refuse_no_time
from hive_mind.memory.recall import KnownFacts
from hive_mind.model.content import Episode
from hive_mind.model.decoding import converted, is_utf8, json_decoder
from hive_mind.model.evidence import said_of
from hive_mind.model.fact import NAME_CHARACTERS_MAX, Fact, Relation, Sharing
from hive_mind.model.ids import ID_CHARACTERS, canonical, episode_id, fact_id
from hive_mind.store import AddEpisode, Change, FactStore, Link

# Beyond, an export that is made at one moment waits on disk until it is fetched.
EXPORT_IN_RAM_BYTES = 8 << 20

# Some 20 MB of lines.
_SORTED_AT_ONCE = 100_000


async def write_records(
    store: FactStore, facts: AsyncIterable[Sequence[Fact]], is_fact: Callable[[str], bool] | None = None
) -> AsyncIterator[str]:
    """Every episode, these facts, every link between them; the same memory gives the same lines.

    Where others may write meanwhile, `is_fact` says which are among these: links to what came later are left out.
    """
    episodes = set[str]()
    async for some in store.all_episodes():
        for episode in some:
            if is_fact:
                episodes.add(episode.id)
            yield line_of(episode)
    async for batch in facts:
        for fact in batch:
            yield line_of(fact)
    with ExitStack() as files:
        runs = [run async for run in _sorted_runs(_links(store, is_fact, episodes), files)]
        for line in merge(*runs):
            yield line


async def write_down(store: FactStore, facts: KnownFacts, file: IO[bytes]) -> None:
    """The same into a file, of these facts, while others write."""

    async def all_facts() -> AsyncIterator[Sequence[Fact]]:
        async for batch in store.facts():
            yield [facts.held.get(fact.id, fact) for fact in batch if fact.id in facts]

    async for line in write_records(store, all_facts(), facts.__contains__):
        file.write(line.encode() + b"\n")


def read_back(file: IO[bytes]) -> Iterator[str]:
    """The lines of a file that was written to."""
    file.seek(0)
    for line in file:
        yield line.removesuffix(b"\n").decode()


async def _links(store: FactStore, is_fact: Callable[[str], bool] | None, episodes: set[str]) -> AsyncIterator[str]:
    """In any order. Every id is as long as any other, so lines sort as what they say."""
    async for links in store.links():
        for link in links:
            ends = (link.from_id, link.to_id)
            if is_taken(link) and (is_fact is None or all(is_fact(end) or end in episodes for end in ends)):
                yield line_of(link)


async def _sorted_runs(lines: AsyncIterator[str], files: ExitStack) -> AsyncIterator[Iterator[str]]:
    """The lines as iterators that are each in order; all but the last are on disk."""
    run = list[str]()
    async for line in lines:
        run.append(line)
        if len(run) == _SORTED_AT_ONCE:
            file = files.enter_context(TemporaryFile())  # noqa: SIM115 - closed with the others
            file.writelines(line.encode() + b"\n" for line in sorted(run))
            yield read_back(file)
            run = []
    yield iter(sorted(run))


Record = Fact | Episode | Link

# A message may quote the line, and a line may be of any length.
PROBLEM_CHARACTERS_MAX = 300

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_CHARACTERS_MAX)]
NameOrNone = Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS_MAX)]
Text = Annotated[str, msgspec.Meta(max_length=STATEMENT_CHARACTERS_MAX)]
Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Copied = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32} ", max_length=NAME_CHARACTERS_MAX + ID_CHARACTERS + 1)]
# From 1970 to the year 9999.
Microseconds = Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799_000_000)]


class _FactLine(msgspec.Struct, tag_field="type", tag="fact", forbid_unknown_fields=True, omit_defaults=True):
    content: Annotated[str, msgspec.Meta(min_length=1, max_length=STATEMENT_CHARACTERS_MAX)]
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    sources: Annotated[list[Name], msgspec.Meta(min_length=1)]
    learned_at_us: Microseconds
    id: str = ""
    concept: Text = ""
    said_at: NameOrNone = ""
    speaker: NameOrNone = ""
    before: Text = ""
    entities: tuple[Name, ...] = ()
    labels: tuple[Name, ...] = ()
    sharing: Sharing = Sharing.PRIVATE
    superseded_by: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{32})?$")] = ""
    held_back: NameOrNone = ""
    turned_at_us: tuple[Microseconds, ...] = ()
    copied: tuple[Copied, ...] = ()


class _EpisodeLine(msgspec.Struct, tag_field="type", tag="episode", forbid_unknown_fields=True, omit_defaults=True):
    text: str
    source: Name
    learned_at_us: Microseconds
    id: str = ""
    said_at: str = ""
    speaker: str = ""
    title: str = ""
    summary: str = ""


class _LinkLine(msgspec.Struct, tag_field="type", tag="link", forbid_unknown_fields=True):
    relation: Relation
    from_id: Id
    to_id: Id


_Line = _FactLine | _EpisodeLine | _LinkLine
_decode = json_decoder(_Line)


def record_of(line: bytes | str) -> Record:
    """The record of a line. Raises `InvalidInput` that names the error in it."""
    try:
        line_read: _Line = _decode(line.encode() if isinstance(line, str) else line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        why = str(error) if isinstance(line, str) or is_utf8(line) else "is no UTF-8: save it as UTF-8"
        raise InvalidInput(why[:PROBLEM_CHARACTERS_MAX]) from error
    match line_read:
        case _FactLine():
            return _fact(line_read)
        case _EpisodeLine():
            return _episode(line_read)
        case _LinkLine():
            return Link(line_read.relation, line_read.from_id, line_read.to_id)


def line_of(record: Record) -> str:
    """The line of a record, without a line end; the same record gives the same line."""
    match record:
        case Fact():
            fields: dict[str, object] = msgspec.to_builtins(record)
            # Offers of this agent to its hive are between the two of them, and nothing a reader of the lines could rely on.
            del fields["offered"]
            if not record.is_retracted:
                del fields["sharing"]
            line: _Line = converted(fields | {"type": "fact"}, _FactLine)
        case Episode():
            line = converted(msgspec.to_builtins(record) | {"type": "episode"}, _EpisodeLine)
        case Link():
            line = _LinkLine(record.relation, record.from_id, record.to_id)
    return msgspec.json.encode(line).decode()


def _fact(line: _FactLine) -> Fact:
    content = canonical(line.content)
    identity = _matched(line.id, fact_id(content))
    if not any(character.isalnum() for character in content):
        raise InvalidInput("a fact needs words: `content` has neither letters nor digits")
    if list(line.turned_at_us) != sorted(line.turned_at_us):
        raise InvalidInput("`turned_at_us` are times in the order in which they came")
    if not line.id:
        # Exported lines have one, and what a memory held comes back as it was; this one a person wrote.
        refuse_no_time(line.said_at)
    # How far a fact had gone into another hive is nothing this memory can vouch for; that it was taken back is.
    sharing = Sharing.RETRACTED if line.sharing is Sharing.RETRACTED else Sharing.PRIVATE
    fact = Fact(
        **said_of(line) | {"content": content},
        id=identity,
        confidence=line.confidence,
        sources=tuple(dict.fromkeys(line.sources)),
        learned_at_us=line.learned_at_us,
        sharing=sharing,
        superseded_by=line.superseded_by,
        held_back=line.held_back,
        turned_at_us=line.turned_at_us,
        copied=line.copied,
    )
    return fact.said_by(fact.sources)


def _episode(line: _EpisodeLine) -> Episode:
    identity = _matched(line.id, episode_id(line.text, line.source))
    return Episode(identity, line.text, line.source, line.said_at, line.learned_at_us, line.speaker, line.title, line.summary)


def _matched(id_given: str, computed: str) -> str:
    if id_given and id_given != computed:
        raise InvalidInput(f"`id` is not that of this content ({computed}): leave it out, it is computed")
    return computed


def is_taken(link: Link) -> bool:
    """Mentions are not: they follow from a fact's entities, and are made again with the fact."""
    return link.relation is not Relation.MENTIONS


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
