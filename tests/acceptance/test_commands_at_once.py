"""Commands that are started at once on one home, as hooks, cron and editors do, without a process that has the memory open."""

import asyncio
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import PIPE

import pytest

from hive_mind import Settings, open_memory
from hive_mind.sqlite import Lock
from tests.acceptance.hive_mind_command import HiveMind
from tests.sampled import usually

pytestmark = pytest.mark.slow

PATIENCE_S = 110.0
WAITING, HAS_IT_OPEN = "waiting for it to be done", "has it open"
FERRY = "When does the ferry leave?"
READERS: list[tuple[object, ...]] = [
    *(("ask", FERRY), ("facts", "search", "ferry"), ("facts", "list"), ("facts", "list", "--count")),
    *(("facts", "export"), ("stats",), ("sources",), ("doctor",)),
]


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    arguments: tuple[object, ...]
    code: int
    out: str
    err: str


def done(command: HiveMind, arguments: tuple[object, ...], said: str = "") -> Done:
    with begun(command, *arguments) as process:
        out, err = process.communicate(said.encode(), timeout=PATIENCE_S)
    return Done(arguments, process.returncode, out.decode(), err.decode())


@contextmanager
def begun(command: HiveMind, *arguments: object, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    with command.start(*arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, **environment) as process:
        try:
            yield process
        finally:
            process.kill()


def all_at_once(command: HiveMind, several: list[tuple[object, ...]]) -> list[Done]:
    """What each of them printed. One that learns learns a fact of its own."""
    with ThreadPoolExecutor(len(several)) as threads:
        return list(threads.map(lambda at: done(command, several[at], f"Valve {at} stands in hall {at}."), range(len(several))))


def learned(command: HiveMind) -> str:
    """The id of a fact that it knows from now on."""
    assert command("learn", "-", "--source", "table", stdin="The ferry leaves at nine. The kettle is blue.").code == 0
    return str(command("facts", "search", "kettle", "-o", "json").json[0]["fact_id"])


@pytest.mark.parametrize("count", usually([8, 64], 8))
def test_of_commands_started_at_once_each_is_done_or_told_to_wait_and_nothing_is_lost(hive_mind: HiveMind, count: int) -> None:
    kettle = learned(hive_mind)
    learning = ("learn", "-", "--source", "plan")
    mixed = [(learning, ("ask", FERRY), ("facts", "list"), learning)[number % 4] for number in range(count - 1)]

    ended = all_at_once(hive_mind, [*mixed, ("facts", "retract", kettle, "--yes")])

    contents = {fact["content"] for fact in hive_mind("facts", "list", "-n", 1000, "-o", "json").json}
    for number, one in enumerate(ended):
        if one.arguments == learning:
            assert (f"Valve {number} stands in hall {number}." in contents) == (one.code == 0), one
        if one.code:
            # On a machine that is very busy a turn may not come within the time for it.
            assert (one.arguments[0] in ("learn", "facts"), WAITING in one.err, HAS_IT_OPEN in one.err) == (True,) * 3, one
        if one.arguments[0] == "ask":
            assert (one.code, "leaves at nine" in one.out) == (0, True), one
    assert sum(one.code == 0 for one in ended) >= count // 2
    assert ("The kettle is blue." in contents) == (ended[-1].code != 0)


def test_readers_neither_wait_for_each_other_nor_for_one_who_writes(hive_mind: HiveMind) -> None:
    learned(hive_mind)

    async def while_one_writes() -> list[Done]:
        async with await open_memory(Settings(home=hive_mind.home, embed="none"), "default") as writing:
            await writing.store_fact("gate", "The gate is green.", 0.9)
            return await asyncio.to_thread(all_at_once, hive_mind, READERS)

    ended = asyncio.run(while_one_writes())
    assert [(one.arguments, one.code) for one in ended] == [(arguments, 0) for arguments in READERS], ended
    assert not any(WAITING in one.err for one in ended)
    assert "The gate is green." in ended[2].out


def test_a_writer_waits_in_turn_and_says_for_whom(hive_mind: HiveMind) -> None:
    learned(hive_mind)
    lock = Lock(next(hive_mind.home.rglob("memory.sqlite")), "agent")
    with begun(hive_mind, "learn", "-", "--source", "gate") as waiting:
        assert waiting.stdin
        assert waiting.stderr
        waiting.stdin.write(b"The gate is green.")
        waiting.stdin.close()
        assert any(WAITING.encode() in line for line in iter(waiting.stderr))
        lock.release()
        assert waiting.wait(PATIENCE_S) == 0
    assert "The gate is green." in hive_mind("facts", "list").out


def test_a_chat_excludes_nobody_while_it_waits_for_the_next_line_and_sees_what_others_write(hive_mind: HiveMind) -> None:
    """The writer's lock is its only while it writes; as long as a person thinks, hooks and editors go on."""
    with begun(hive_mind, "chat", PYTHONUNBUFFERED="1") as chat:
        assert chat.stdin
        assert chat.stdout

        def said(line: str, until: str) -> None:
            chat.stdin.write(f"{line}\n".encode())  # type: ignore[union-attr]
            chat.stdin.flush()  # type: ignore[union-attr]
            assert any(until.encode() in shown for shown in chat.stdout or ())

        said("The ferry leaves at nine.", "1 new")
        learn = ("learn", "-", "--source", "gate")
        learning = done(hive_mind, learn, "The gate is green.")
        assert (learning.code, WAITING in learning.err) == (0, False), learning
        said("/facts gate", "The gate is green.")
        said("Which colour has the gate?", "green")
        learning = done(hive_mind, learn, "The gate is locked.")
        assert (learning.code, WAITING in learning.err) == (0, False), learning
        said("The kettle is blue.", "1 new")
        chat.stdin.close()
        assert chat.wait(PATIENCE_S) == 0
    assert hive_mind("facts", "list", "--count", "-o", "json").json["count"] == 4


def test_a_reader_changes_no_byte_of_a_memory(hive_mind: HiveMind) -> None:
    learned(hive_mind)
    record = next(hive_mind.home.rglob("memory.sqlite"))
    before = record.read_bytes()
    for arguments in READERS:
        assert hive_mind(*arguments).code == 0
    assert record.read_bytes() == before
