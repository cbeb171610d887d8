"""`hive-mind events` over a real broker."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hive_mind import backends
from hive_mind.bus import BusSettings, Delivery, dead_letters
from hive_mind.bus.address import address_of
from hive_mind.bus.codec import encode
from hive_mind.bus.dead_letters import file_of, refusal
from hive_mind.bus.redis import RedisBus, keys
from hive_mind.cli.app import app
from tests.contract.bus_builders import envelope, listener, texts
from tests.servers.redis_server import RedisServer
from tests.waiting import until


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = RedisServer()
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIVE_MIND_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def hive(home: Path, request: pytest.FixtureRequest) -> str:
    del home
    # Each test has one of its own on the same broker.
    return f"hive-{request.node.name}"[:60]


def events(url: str, hive: str, *words: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["events", *words, "--bus", url, "--hive", hive], input=typed)


async def opened(url: str) -> RedisBus:
    bus: RedisBus = await backends.load("bus", "redis").open(address_of(url), BusSettings())
    return bus


def put_aside(home: Path, hive: str, *texts: str) -> None:
    """Dead letters of bob that say this."""
    file_of(home / "hives" / hive, "bob").write([refusal(envelope(text, hive=hive), 1, "it bites") for text in texts])


def put_aside_formerly(url: str, hive: str, *texts: str) -> None:
    """As a node of an earlier version did, on the broker."""

    async def whole() -> None:
        bus = await opened(url)
        for text in texts:
            fields = ("name", "bob", "reason", "it bit", "attempts", 1, "at", 1_700_000_000_000)
            entry = ("XADD", keys.letters(hive), "*", *fields, keys.BODY, encode(envelope(text, hive=hive)))
            await bus.outgoing.send([("HSET", keys.names(hive), "bob", 0), entry], 100, 10.0)
        await bus.close()

    asyncio.run(whole())


def ids(url: str, hive: str) -> list[str]:
    return [letter["id"] for letter in json.loads(events(url, hive, "dlq", "--output", "json").stdout)]


@contextmanager
def talk(url: str, hive: str) -> Iterator[None]:
    """Somebody publishes all the time."""
    is_over = threading.Event()

    async def publish() -> None:
        bus = await opened(url)
        while not is_over.is_set():
            await bus.publish([envelope("said", "bob", "cid", hive=hive)])
            await asyncio.sleep(0.01)
        await bus.close()

    thread = threading.Thread(target=asyncio.run, args=(publish(),))
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_tail_prints_a_line_or_a_cloud_event_for_each_message(url: str, hive: str) -> None:
    with talk(url, hive):
        result = events(url, hive, "tail", "--count", "2")
        event = json.loads(events(url, hive, "tail", "--count", "1", "--output", "json").stdout)

    assert (event["specversion"], event["source"], event["target"]) == ("1.0", f"hive://{hive}/ann", "bob,cid")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("ann → bob, cid receipt query")


def test_stats_say_what_waits_for_whom_and_where_nobody_knows_a_hive_that(
    url: str, home: Path, hive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "nobody ever subscribed" in events(url, hive, "stats").stdout
    assert "no dead letters" in events(url, hive, "dlq").stdout
    monkeypatch.delenv("HIVE_MIND_BUS", raising=False)
    of_no_bus = CliRunner().invoke(app, ["events", "stats"])
    assert (of_no_bus.exit_code, "which bus" in of_no_bus.stderr) == (2, True)
    put_aside_formerly(url, hive, "former")
    put_aside(home, hive, "poison", "more")
    result = events(url, hive, "stats")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split() == "name waiting in hand dead oldest".split()
    assert result.stdout.splitlines()[1].split()[:4] == ["bob", "0", "0", "3"]
    (queue,) = json.loads(events(url, hive, "stats", "--output", "json").stdout)
    assert queue["dead"] == 3


def test_a_dead_letter_is_listed_and_shown_with_its_message(url: str, home: Path, hive: str) -> None:
    put_aside(home, hive, "poison")
    (id,) = ids(url, hive)
    listed, shown = events(url, hive, "dlq").stdout, events(url, hive, "dlq", id)

    assert id in listed
    assert "it bites" in listed
    assert shown.exit_code == 0
    assert '"parcel": "poison"' in shown.stdout
    as_json = json.loads(events(url, hive, "dlq", id, "--output", "json").stdout)
    assert (as_json["name"], as_json["event"]["specversion"]) == ("bob", "1.0")


def test_one_dead_letter_is_dropped_by_its_id_and_where_one_is_missing_none(url: str, home: Path, hive: str) -> None:
    put_aside(home, hive, "one", "two")
    first, second = ids(url, hive)
    missing = events(url, hive, "dlq", "--drop", first, "missing")
    assert (missing.exit_code, "no dead letter missing" in missing.stderr) == (1, True)
    assert ids(url, hive) == [first, second]
    assert events(url, hive, "dlq", "--drop", first).stdout == "1 dropped\n"
    assert ids(url, hive) == [second]


def test_all_are_dropped_when_somebody_says_yes(url: str, home: Path, hive: str) -> None:
    put_aside(home, hive, "one", "two")
    refused = events(url, hive, "dlq", "--drop", "--all", typed="n\n")
    assert refused.exit_code == 1
    assert "nothing was done" in refused.stderr
    assert len(ids(url, hive)) == 2

    assert events(url, hive, "dlq", "--drop", "--all", typed="y\n").exit_code == 0
    assert ids(url, hive) == []


def test_what_is_replayed_is_handled_by_its_node_when_it_runs(url: str, home: Path, hive: str) -> None:
    put_aside(home, hive, "one", "two")
    assert events(url, hive, "dlq", "--replay", "--all", "--yes").stdout == "2 of 2 sent again\n"

    async def hear() -> list[str]:
        bus = await opened(url)
        bob = await listener(bus, hive=hive, letters=file_of(home / "hives" / hive, "bob"))
        heard: list[Delivery] = []
        await until(lambda: bool(heard.extend(bob.inbox.take(2)) or len(heard) == 2))
        for delivery in heard:
            await delivery.ack()
        await bus.close()
        return texts(heard)

    assert sorted(asyncio.run(hear())) == ["one", "two"]
    assert ids(url, hive) == []


def test_what_a_node_of_an_earlier_version_put_aside_is_listed_and_goes_to_the_node_of_its_name_where_that_lives(
    url: str, home: Path, hive: str
) -> None:
    put_aside_formerly(url, hive, "former", "other")
    put_aside(home, hive, "today")
    *former, _ = ids(url, hive)
    assert len(former) == 2
    elsewhere = events(url, hive, "dlq", former[0], "--replay")
    assert (elsewhere.exit_code, "the journal of bob is not here" in elsewhere.stderr) == (2, True)
    (home / "hives" / hive / "bob.sqlite").touch()
    assert events(url, hive, "dlq", former[0], "--replay").stdout == "1 of 1 sent again\n"
    assert events(url, hive, "dlq", former[1], "--drop").stdout == "1 dropped\n"
    assert [id[:5] for id in ids(url, hive)] == ["@bob/"] * 2
    assert len(file_of(home / "hives" / hive, "bob").again()) == 1


def test_what_nodes_refused_is_listed_shown_and_dropped_while_the_bus_is_gone(home: Path, hive: str) -> None:
    put_aside(home, hive, "poison")
    gone = "redis://127.0.0.1:1"
    listed = events(gone, hive, "dlq", "--output", "json")
    (letter,) = json.loads(listed.stdout)
    assert "its bus can't be looked at" in listed.stderr
    assert '"parcel": "poison"' in events(gone, hive, "dlq", letter["id"]).stdout
    assert events(gone, hive, "dlq", letter["id"], "--replay").stdout == "1 of 1 sent again\n"
    assert events(gone, hive, "dlq", letter["id"], "--drop").stdout == "1 dropped\n"
    assert json.loads(events(gone, hive, "dlq", "--output", "json").stdout) == []


def test_how_many_letters_went_for_want_of_room_is_said(url: str, home: Path, hive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "LETTERS_MAX", 1)
    put_aside(home, hive, "one", "two", "three")
    result = events(url, hive, "dlq")
    assert "2 older letters went for want of room" in result.stderr
    assert len(result.stdout.splitlines()) == 2


@pytest.mark.parametrize("verb", ["replay", "drop"])
def test_which_dead_letters_has_to_be_said(url: str, hive: str, verb: str) -> None:
    neither, both = events(url, hive, "dlq", f"--{verb}"), events(url, hive, "dlq", f"--{verb}", "1", "--all")
    assert (neither.exit_code, both.exit_code) == (2, 2)
    assert "which dead letters" in neither.stderr
