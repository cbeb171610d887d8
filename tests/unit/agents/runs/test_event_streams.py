"""Events of another server: read however they are cut, bounded, and each begins one run, also after breaks and restarts."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.agents.runs import run_keeper
from hive_mind.agents.runs.event_streams import EVENT_BYTES_MAX, EventReader, ServerEvent, StreamEnded, events_from
from hive_mind.agents.runs.run_journal import RunJournal
from hive_mind.agents.runs.run_keeper import Triggers
from hive_mind.errors import BackendUnavailable
from hive_mind.ledger import Ledger, memory
from hive_mind.runs import TriggerConfig, shown_url
from tests.servers.event_source import EventSource
from tests.unit.agents.runs.test_triggers import keeping, runs_in
from tests.waiting import until

STREAM = (
    "\ufeff: a comment\r\n\r\nid: 1\ndata: one\ndata:  two\n\nevent: alarm\rdata: {}\r\rdata\n\nid: 2\n\n"
    "id: 3\nretry: 10\nnonsense\nevent: late\ndata: é東\n\ndata: never ended"
).encode()
SHOWN = "of-a-test"
EVENTS = [
    ServerEvent("message", "one\n two", "1"),
    ServerEvent("alarm", "{}", "1"),
    ServerEvent("message", "", "1"),
    ServerEvent("late", "é東", "3"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_are_the_same_however_their_bytes_are_cut(cuts: list[int]) -> None:
    reader, places = EventReader(), [0, *sorted(cuts), len(STREAM)]
    assert [event for a, b in pairwise(places) for event in reader.feed(STREAM[a:b])] == EVENTS


def test_an_event_without_an_end_takes_no_memory_comments_for_ever_neither_and_those_behind_are_read() -> None:
    for piece, left_out in ((b"data: ", 1), (b": ", 0)):
        reader = EventReader()
        for _ in range(40):
            assert reader.feed(piece + b"x" * 100_000 + b"\n") == []
        assert sum(map(len, reader._data)) <= EVENT_BYTES_MAX

        assert reader.feed(b"\ndata: next\n\n") == [ServerEvent("message", "next", "")]
        assert reader.left_out == left_out


def test_an_address_is_shown_without_its_secrets() -> None:
    assert shown_url("https://user:pw@x.example:8443/events?key=1#a") == "https://x.example:8443/events"


@pytest.mark.parametrize(("status", "kind"), [(204, StreamEnded), (500, BackendUnavailable), (302, BackendUnavailable)])
async def test_what_a_server_refuses_is_told_without_the_secrets_of_its_address(status: int, kind: type[Exception]) -> None:
    async with EventSource([], status=status) as source:
        with pytest.raises(kind) as refused:
            await anext(events_from(source.url))
        assert "s3cret" not in (str(refused.value))


async def test_each_event_begins_one_run_whatever_breaks_and_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_keeper, "_AGAIN_S", (0.0, 0.01))
    sent = [(str(n), "alarm", f'{{"about": "pump {n}"}}') for n in range(1, 8)]

    ledger = await memory.open()
    async with EventSource(sent, SHOWN) as source:
        trigger = TriggerConfig(events=source.url, token=SHOWN)
        await heard(ledger, trigger, 3)
        # Another process takes over: it asks for what comes behind the last that was heard.
        await heard(ledger, trigger, len(sent))
    assert len(await runs_in(ledger)) == len(sent)
    assert [head.seq for head in await ledger.heads("trigger/")] == [0]
    assert source.asked_behind[0] == ""
    assert set(source.asked_behind[1:]) <= {str(n) for n in range(1, 8)}
    states = [await RunJournal(ledger, run.removeprefix("run/")).load() for run in await runs_in(ledger)]

    assert {state.inputs["about"] for state in states} == {f"pump {n}" for n in range(1, 8)}


async def test_one_that_lacks_an_input_is_told_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    ledger = await memory.open()
    listen = once(("1", "hello"), ("2", '{"about": 1}'))
    async with keeping(ledger) as keeper:
        told = Triggers([TriggerConfig(events=f"http://x.example/{'a' * 150}")], keeper, listen=listen)
        told.begin()
        await begun(ledger, 1)
        await told.close()
    assert "needs about" in caplog.text


async def test_a_server_that_is_away_is_told_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_keeper, "_AGAIN_S", (0.0, 0.01))

    async with keeping(await memory.open()) as keeper:
        told = Triggers([TriggerConfig(events="http://127.0.0.1:9/a?key=s3cret")], keeper)
        told.begin()
        await until(lambda: told.trouble)
        assert "events of http://127.0.0.1:9/a" in told.trouble
        assert "s3cret" not in told.trouble
        await told.close()


def once(*sent: tuple[str, str]) -> run_keeper.Listen:
    """These events with their ids, and then silence."""

    async def listen(_url: str, _token: str, last_id: str) -> AsyncIterator[ServerEvent]:
        for id, data in sent:
            if id > last_id:
                yield ServerEvent("message", data, id)
        await asyncio.Event().wait()

    return listen


async def heard(ledger: Ledger, trigger: TriggerConfig, runs: int) -> None:
    async with keeping(ledger) as keeper:
        listening = Triggers([trigger], keeper)
        listening.begin()
        await begun(ledger, runs)
        await listening.close()


async def begun(ledger: Ledger, runs: int) -> None:
    """Wait until so many have begun."""

    async def are_begun() -> bool:
        return len(await runs_in(ledger)) >= runs

    await until(are_begun)
