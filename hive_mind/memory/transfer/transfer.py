"""A record of a memory as a line of JSON and back: to keep, to move, to read in an editor.

One object a line, `type` first: "episode", "fact" or "link". Nothing in a line is believed: ids are computed from content again
and every field is checked. Conditions on many lines together are checked by `examining`; here they are written, and `importing`
takes them in.

A whole memory is written in an order that depends on nothing but what is in it, and bounded in RAM: links, which have no order of
their own, are sorted in pieces that fit.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from tempfile import TemporaryFile
from typing import IO, Annotated

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.memory.intake import STATEMENT_CHARACTERS_MAX
from hive_mind.memory.recall import KnownFacts
from hive_mind.model.content import Episode
from hive_mind.model.decoding import converted, json_decoder
from hive_mind.model.evidence import said_of
from hive_mind.model.fact import NAME_CHARACTERS_MAX, Fact, Relation, Sharing
from hive_mind.model.ids import ID_CHARACTERS, canonical, episode_id, fact_id
from hive_mind.store.base import FactStore, Link

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
        why = str(error) if isinstance(line, str) or _is_text(line) else "is no UTF-8: save it as UTF-8"
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
            line: _Line = _fact_line(record)
        case Episode():
            line = converted(msgspec.to_builtins(record) | {"type": "episode"}, _EpisodeLine)
        case Link():
            line = _LinkLine(record.relation, record.from_id, record.to_id)
    return msgspec.json.encode(line).decode()


def _fact_line(fact: Fact) -> _FactLine:
    fields: dict[str, object] = msgspec.to_builtins(fact)
    # Offers of this agent to its hive are between the two of them, and nothing a reader of the lines could rely on.
    del fields["offered"]
    if not fact.is_retracted:
        del fields["sharing"]
    return converted(fields | {"type": "fact"}, _FactLine)


def _fact(line: _FactLine) -> Fact:
    content = canonical(line.content)
    identity = _matched(line.id, fact_id(content))
    if not any(character.isalnum() for character in content):
        raise InvalidInput("a fact needs words: `content` has neither letters nor digits")
    if list(line.turned_at_us) != sorted(line.turned_at_us):
        raise InvalidInput("`turned_at_us` are times in the order in which they came")
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


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _matched(id_given: str, computed: str) -> str:
    if id_given and id_given != computed:
        raise InvalidInput(f"`id` is not that of this content ({computed}): leave it out, it is computed")
    return computed


def is_taken(link: Link) -> bool:
    """Mentions are not: they follow from a fact's entities, and are made again with the fact."""
    return link.relation is not Relation.MENTIONS
