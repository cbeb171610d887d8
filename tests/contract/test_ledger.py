"""What every file of `hive_mind/ledger/` must do. A new back end is judged here the moment it exists."""

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.ledger import BODY_MAX_BYTES, Ledger, Page
from hive_mind.model.entry import Entry, Head
from tests.loops import InLoop, opened


@pytest.fixture(params=backends.known("ledger"))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> InLoop:
    return InLoop(lambda: opened("ledger", request.param, tmp_path / "agent" / "ledger.sqlite"))


def step(body: str, kind: str = "step") -> Entry:
    return Entry(kind, body.encode(), at_ms=1_700_000_000_000)


async def bodies(ledger: Ledger, stream: str, since: int = 0) -> list[str]:
    return [entry.body.decode() for entry in await ledger.read(stream, since)]


async def first(count: int, ledger: Ledger, since_pos: int = 0, prefix: str = "") -> list[Entry]:
    """The first so many that a follower is given."""
    found: list[Entry] = []
    async with aclosing(ledger.follow(since_pos, prefix)) as following:  # type: ignore[type-var]
        async for entry in following:
            found.append(entry)
            if len(found) == count:
                break
    return found


async def test_entries_come_back_from_any_number_on_with_their_place_in_the_stream_and_in_the_ledger(ledger: Ledger) -> None:
    assert await ledger.append("run/1", 0, [step("a"), step("b", "other")])
    assert await ledger.append("run/2", 0, [Entry("started", b"\0\xff", at_ms=0)])
    assert await ledger.append("run/1", 2, [step("c")])

    assert await ledger.read("run/1") == [
        Entry("step", b"a", 1_700_000_000_000, "run/1", 0, 1),
        Entry("other", b"b", 1_700_000_000_000, "run/1", 1, 2),
        Entry("step", b"c", 1_700_000_000_000, "run/1", 2, 4),
    ]
    assert await ledger.read("run/2") == [Entry("started", b"\0\xff", 0, "run/2", 0, 3)]
    read_since = {since: await bodies(ledger, "run/1", since) for since in (-2, 1, 3, 30)}
    assert read_since == {-2: ["a", "b", "c"], 1: ["b", "c"], 3: [], 30: []}


async def test_whoever_comes_second_is_told_so_and_nothing_of_his_is_kept(ledger: Ledger) -> None:
    await ledger.append("item/1", 0, [step("opened"), step("seen")])
    assert not await ledger.append("item/1", 0, [step("x"), step("y"), step("z")])
    assert not await ledger.append("item/1", 1, [step("y"), step("z")])
    assert await bodies(ledger, "item/1") == ["opened", "seen"]


async def test_of_many_at_once_exactly_one_is_first_and_the_streams_next_to_it_are_not_touched(ledger: Ledger) -> None:
    for item in range(20):
        won = await asyncio.gather(*(ledger.append(f"item/{item}", 0, [step(str(n))]) for n in range(10)))

        assert won.count(True) == 1
        assert await bodies(ledger, f"item/{item}") == [str(won.index(True))]


async def test_an_entry_that_would_leave_a_hole_is_refused_and_its_neighbours_are_kept(ledger: Ledger) -> None:
    results = await asyncio.gather(
        ledger.append("run/1", 0, [step("a")]),
        ledger.append("run/2", 1, [step("b")]),
        ledger.append("run/3", 0, [step("c")]),
        return_exceptions=True,
    )

    assert results[0] is results[2] is True
    assert isinstance(results[1], InvalidInput)
    assert str(results[1]) == "stream 'run/2' has 0 entries: entry 1 can't be appended before entry 0"
    assert [head.stream for head in await ledger.heads("")] == ["run/1", "run/3"]


async def test_appending_nothing_tells_whether_the_place_is_free(ledger: Ledger) -> None:
    assert await ledger.append("run/1", 0, [])
    assert await ledger.heads("") == []
    await ledger.append("run/1", 0, [step("a")])
    assert not await ledger.append("run/1", 0, [])


@pytest.mark.parametrize(
    ("stream", "seq", "entry", "message"),
    [
        ("", 0, step("a"), "stream ''"),
        ("a\nb", 0, step("a"), r"stream 'a\\nb'"),
        ("\ud800", 0, step("a"), "printable"),
        ("\U0010ffff", 0, step("a"), "printable"),
        ("s" * 201, 0, step("a"), "1 to 200"),
        ("s", -1, step("a"), "the first is 0"),
        ("s", 1 << 63, step("a"), "the first is 0"),
        ("s", 0, step("a", kind=""), "kind ''"),
        ("s", 0, Entry("k", bytes(BODY_MAX_BYTES + 1), 0), "1,048,577 bytes .* keep it in a file"),
        ("s", 0, Entry("k", b"", -1), "milliseconds"),
    ],
)
async def test_what_no_ledger_keeps_is_refused_with_a_sentence(
    stream: str, seq: int, entry: Entry, message: str, ledger: Ledger
) -> None:
    with pytest.raises(InvalidInput, match=message):
        await ledger.append(stream, seq, [step("before"), entry])
    assert await ledger.heads("") == []


@pytest.mark.parametrize("name", ["run/Prüfung 1", "'; DROP TABLE entry; --", "a%_*[b]?", "日" * 200])
async def test_any_printable_name_and_the_largest_body_are_kept(name: str, ledger: Ledger) -> None:
    largest = Entry(name, bytes(BODY_MAX_BYTES), 1)
    await ledger.append(name, 0, [largest])
    (kept,) = await ledger.read(name)
    assert (kept.kind, kept.body) == (name, largest.body)
    assert await ledger.heads(name) == [Head(name, 0, 1, name)]


async def test_heads_are_the_ends_of_the_streams_whose_names_begin_so_by_name(ledger: Ledger) -> None:
    for stream in ("run/b", "run", "item/1", "run/a", "run/\U0001f41d", "ruo", "run0"):
        await ledger.append(stream, 0, [step("x")])
    await ledger.append("run/a", 1, [step("y"), step("z", "end")])

    assert await ledger.heads("run/") == [
        Head("run/a", 2, 9, "end"),
        Head("run/b", 0, 1, "step"),
        Head("run/\U0001f41d", 0, 5, "step"),
    ]
    assert len(await ledger.heads("")) == 7
    assert await ledger.heads("run/c") == []


async def test_each_of_several_followers_gets_what_is_there_and_then_what_comes(ledger: Ledger) -> None:
    await ledger.append("run/1", 0, [step(str(n)) for n in range(250)])
    several = [asyncio.create_task(first(400, ledger)) for _ in range(3)]
    for n in range(250, 400):
        await ledger.append("run/1", n, [step(str(n))])

    for following in several:
        assert [entry.pos for entry in await following] == list(range(1, 401))
    assert [entry.body.decode() for entry in await first(400, ledger)] == [str(n) for n in range(400)]


async def test_a_follower_of_a_prefix_gets_these_streams_in_the_order_of_the_whole_ledger(ledger: Ledger) -> None:
    for n in range(150):
        await ledger.append("run/1", n, [step("noise")])
        await ledger.append(f"item/{n % 2}", n // 2, [step(str(n))])
    found = await first(150, ledger, prefix="item/")
    assert [entry.body.decode() for entry in found] == [str(n) for n in range(150)]


async def test_what_is_newer_comes_in_parts_until_there_is_no_more(ledger: Ledger) -> None:
    assert await ledger.newer(0) == Page([], 0)
    for n in range(130):
        await ledger.append(f"run/{n % 2}", n // 2, [step(str(n))])

    found, pos = [], 0
    while (page := await ledger.newer(pos, "run/1")).upto != pos:
        found, pos = [*found, *page.entries], page.upto

    assert [entry.body.decode() for entry in found] == [str(n) for n in range(1, 130, 2)]
    assert pos == 130
    assert await ledger.newer(500) == Page([], 500)


async def test_a_writer_who_stops_waiting_leaves_all_or_nothing_and_followers_see_it(ledger: Ledger) -> None:
    tasks = [asyncio.create_task(ledger.append(f"run/{n:02}", 0, [step("x")] * 10)) for n in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    heads = await ledger.heads("")
    assert {head.seq for head in heads} == {9}
    assert {f"run/{n:02}" for n in range(1, 20, 2)} <= {head.stream for head in heads}
    assert len(await first(10 * len(heads), ledger)) == 10 * len(heads)


async def test_closing_ends_those_who_follow_finishes_what_was_handed_in_and_leaves_no_thread(ledger: Ledger) -> None:
    before = threading.active_count()

    following = asyncio.create_task(first(1_000, ledger))
    appends = [asyncio.create_task(ledger.append(f"run/{n}", 0, [step("x")])) for n in range(40)]
    await asyncio.sleep(0)
    await asyncio.gather(ledger.close(), ledger.close())
    await ledger.close()

    assert await asyncio.gather(*appends) == [True] * 40
    assert len(await following) <= 40
    assert threading.active_count() <= before
    for call in (ledger.append("run/1", 1, [step("late")]), ledger.read("run/1"), ledger.heads("")):
        with pytest.raises(BackendUnavailable, match="closed"):
            await call


async def _three(ledger: Ledger) -> dict[str, Head]:
    for name in ("run/a", "run/b", "word/a"):
        assert await ledger.append(name, 0, [step(f"{name} one"), step(f"{name} two")])
    return {head.stream: head for head in await ledger.heads("")}


async def test_streams_go_all_at_once_with_an_entry_that_says_so(ledger: Ledger) -> None:
    heads = await _three(ledger)
    assert await ledger.drop([heads["run/a"], heads["word/a"]], "pruned/a", [step("a", "pruned")])
    assert [head.stream for head in await ledger.heads("")] == ["pruned/a", "run/b"]
    assert await ledger.read("run/a") == []
    assert await bodies(ledger, "run/b") == ["run/b one", "run/b two"]
    assert [entry.body for entry in await first(3, ledger)] == [b"run/b one", b"run/b two", b"a"]


async def test_a_stream_that_has_grown_meanwhile_keeps_all_of_them_and_none_is_dropped_without_a_trace(ledger: Ledger) -> None:
    heads = await _three(ledger)
    with pytest.raises(InvalidInput, match="together with an entry that says so"):
        await ledger.drop([heads["run/a"]], "pruned/a", [])
    assert await ledger.append("word/a", 2, [step("three")])
    assert not await ledger.drop([heads["run/a"], heads["word/a"]], "pruned/a", [step("a")])
    assert [(head.stream, head.seq) for head in await ledger.heads("")] == [("run/a", 1), ("run/b", 1), ("word/a", 2)]
    assert not await ledger.drop([Head("run/none", 0, 1, "")], "pruned/none", [step("none")])


async def test_no_position_is_given_twice_and_followers_miss_nothing(ledger: Ledger) -> None:
    heads = await _three(ledger)
    seen = await first(6, ledger)
    assert await ledger.drop(list(heads.values()), "pruned/all", [step("all")])
    assert await ledger.append("run/a", 0, [step("anew")])
    later = await first(2, ledger, seen[-1].pos)
    assert [(entry.stream, entry.seq, entry.pos) for entry in later] == [("pruned/all", 0, 7), ("run/a", 0, 8)]


async def test_a_stream_may_take_its_own_place(ledger: Ledger) -> None:
    heads = await _three(ledger)
    assert await ledger.drop([heads["run/b"]], "run/b", [step("both")])
    assert await bodies(ledger, "run/b") == ["both"]
    assert await ledger.append("run/b", 1, [step("more")])
    assert not await ledger.drop([heads["run/b"]], "run/b", [step("as long as before, and not what was")])
    assert await bodies(ledger, "run/b") == ["both", "more"]
