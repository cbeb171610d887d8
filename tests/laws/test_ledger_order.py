"""However several writers take turns, each place of a stream has one winner, and everybody reads the same order."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind import backends
from hive_mind.errors import InvalidInput
from hive_mind.ledger import Ledger
from hive_mind.model.entry import Entry, Head


class Try(NamedTuple):
    """One writer's append. `behind` is how far what it knows of the stream is from its end when all begin."""

    writer: int
    stream: str
    behind: int
    size: int


tries = st.builds(
    Try, st.integers(0, 2), st.sampled_from(["run/a", "run/b", "item/a"]), st.sampled_from([0, 0, 0, 1, 2, -1]), st.integers(0, 3)
)
rounds = st.lists(st.lists(tries, min_size=1, max_size=6), max_size=6)
Kept = dict[str, list[bytes]]


async def opened(back_end: str, path: Path) -> list[Ledger]:
    """Three writers' ledgers of one file; in memory there is only one."""
    if back_end == "memory":
        return [await backends.load("ledger", back_end).open()] * 3
    return [await backends.load("ledger", back_end).open(path, is_shared=True) for _ in range(3)]


async def tried(ledgers: Sequence[Ledger], number: int, every: Sequence[Try], kept: Kept) -> list[tuple[Try, int, object]]:
    """All at once; what came of each, and at which place it was tried."""
    places = [max(len(kept.get(one.stream, ())) - one.behind, 0) for one in every]
    bodies = [[f"{number}.{n}.{k}".encode() for k in range(one.size)] for n, one in enumerate(every)]
    results = await asyncio.gather(
        *(
            ledgers[one.writer].append(one.stream, place, [Entry("step", body, at_ms=number) for body in some])
            for one, place, some in zip(every, places, bodies, strict=True)
        ),
        return_exceptions=True,
    )
    for _, one, some, result in sorted(zip(places, every, bodies, results, strict=True), key=lambda row: row[0]):
        if result is True and some:
            kept.setdefault(one.stream, []).extend(some)
    return list(zip(every, places, results, strict=True))


def check_outcomes(outcomes: Sequence[tuple[Try, int, object]], before: dict[str, int]) -> None:
    for stream in {one.stream for one, _, _ in outcomes}:
        mine = [(one.size, place, result) for one, place, result in outcomes if one.stream == stream]
        length = before.get(stream, 0)
        assert not [r for _, place, r in mine if place < length and r is not False], "who is late never wins"
        assert len([r for count, place, r in mine if place == length and count and r is True]) == min(
            1, len([1 for count, place, _ in mine if place == length and count])
        ), "of those at the end exactly one wins"
        assert all(isinstance(r, bool | InvalidInput) for _, _, r in mine)


async def order_seen(ledger: Ledger, since: int, count: int) -> list[Entry]:
    found: list[Entry] = []
    async with aclosing(ledger.follow(since)) as following:  # type: ignore[type-var]
        while len(found) < count:
            found.append(await anext(following))
    return found


async def check_readings(ledgers: Sequence[Ledger], kept: Kept) -> None:
    count = sum(map(len, kept.values()))
    orders = [await order_seen(ledger, 0, count) for ledger in ledgers]
    assert orders[0] == orders[1] == orders[2]
    assert [entry.pos for entry in orders[0]] == list(range(1, count + 1))
    for stream, bodies in kept.items():
        read = await ledgers[0].read(stream)
        assert [(entry.seq, entry.body) for entry in read] == list(enumerate(bodies))
        assert read == [entry for entry in orders[0] if entry.stream == stream]
    lasts = {entry.stream: Head(entry.stream, entry.seq, entry.pos, entry.kind) for entry in orders[0]}
    assert await ledgers[1].heads("") == [lasts[stream] for stream in sorted(lasts)]
    assert await order_seen(ledgers[2], count // 2, count - count // 2) == orders[0][count // 2 :]


@pytest.mark.parametrize("back_end", backends.known("ledger"))
@given(every=rounds)
def test_each_place_has_one_winner_and_the_order_is_the_same_for_all(back_end: str, every: list[list[Try]]) -> None:
    async def scenario(path: Path) -> None:
        ledgers, kept = await opened(back_end, path), Kept()
        try:
            for number, some in enumerate(every):
                before = {stream: len(bodies) for stream, bodies in kept.items()}
                check_outcomes(await tried(ledgers, number, some, kept), before)
                await check_readings(ledgers, kept)
        finally:
            for ledger in ledgers:
                await ledger.close()

    with TemporaryDirectory() as folder:
        asyncio.run(scenario(Path(folder) / "ledger.sqlite"))
