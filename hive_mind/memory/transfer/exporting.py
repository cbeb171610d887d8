"""A whole memory as lines, in an order that depends on nothing but what is in it, and bounded in RAM.

Episodes and facts come as the store has them, in the order in which they were added. Links have no order of their own: they are
sorted, in pieces that fit.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from tempfile import TemporaryFile
from typing import IO

from hive_mind.memory.known import KnownFacts
from hive_mind.memory.transfer.examining import is_taken
from hive_mind.memory.transfer.transfer import line_of
from hive_mind.model.fact import Fact
from hive_mind.store.base import FactStore

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
