"""Logs that go on and are rotated."""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import BinaryIO

import pytest

from hive_mind.control.processes import log_reading
from hive_mind.control.processes.log_reading import LINE_BYTES_MAX, follow, last_lines


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "ada.log"


def written(path: Path, *lines: str, end: str = "\n") -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + end)


def rotate(log: Path) -> None:
    for number in (2, 1, 0):
        older = log.with_name(f"{log.name}.{number}") if number else log
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))


def heard(log: Path, count: int, lines: int = 100, meanwhile: Callable[[], Awaitable[None]] | None = None) -> list[str]:
    """The first lines that a reader hears."""

    async def whole() -> list[str]:
        found: list[str] = []
        reader = follow(log, lines=lines)
        doing = None
        async with asyncio.timeout(60):
            async for line in reader:
                found.append(line)
                if doing is None and meanwhile is not None:
                    doing = asyncio.ensure_future(meanwhile())
                if len(found) == count:
                    break
            await reader.aclose()
            if doing is not None:
                await doing
        return found

    return asyncio.run(whole())


def test_the_last_lines_are_read_over_all_that_was_rotated_out(log: Path) -> None:
    for number in range(4):
        rotate(log)
        written(log, f"{number}a", f"{number}b")

    assert last_lines(log, 3) == ["2b", "3a", "3b"]
    assert last_lines(log, 100) == ["0a", "0b", "1a", "1b", "2a", "2b", "3a", "3b"]
    assert last_lines(log, 0) == []


@pytest.mark.parametrize("seed", range(20))
def test_any_number_of_last_lines_of_any_file_is_its_end(log: Path, seed: int) -> None:
    chance = random.Random(seed)
    lines = ["x" * chance.choice((0, 1, 50, 70_000)) + str(number) for number in range(chance.randrange(30))]
    log.write_text("\n".join(lines) + chance.choice(("", "\n")) if lines else "")
    count = chance.randrange(35)
    assert last_lines(log, count) == [line[:LINE_BYTES_MAX] for line in lines[-count:] if count], seed


def test_what_is_no_text_and_what_is_no_file_harms_nobody(log: Path, tmp_path: Path) -> None:
    assert last_lines(log, 5) == []
    log.write_bytes(b"\xff\xfe\r\nwell\r\n")
    assert last_lines(log, 5) == ["��", "well"]

    (tmp_path / "link").symlink_to(log)
    (tmp_path / "folder").mkdir()
    assert last_lines(tmp_path / "link", 5) == []
    assert last_lines(tmp_path / "folder", 5) == []


def test_who_follows_hears_the_last_lines_and_then_what_comes(log: Path) -> None:
    written(log, "none", "one", "two", "thr", end="")

    async def more() -> None:
        written(log, "ee")
        written(log, "fo", end="")
        await asyncio.sleep(0)
        written(log, "ur", "five")

    # A line that is not finished is heard when it is.
    assert heard(log, count=5, lines=2, meanwhile=more) == ["one", "two", "three", "four", "five"]


def test_a_log_that_begins_later_is_heard_from_its_first_line(log: Path) -> None:
    written(log.with_name(f"{log.name}.1"), "old")

    async def begin() -> None:
        written(log, "one", "two")

    assert heard(log, count=3, meanwhile=begin) == ["old", "one", "two"]


def test_a_log_that_is_emptied_is_heard_from_its_beginning(log: Path) -> None:
    written(log, "one", "two")

    async def empty() -> None:
        await asyncio.to_thread(log.write_text, "new\n")

    assert heard(log, count=3, meanwhile=empty) == ["one", "two", "new"]


def test_nothing_is_missed_and_nothing_heard_twice_while_a_log_is_rotated(log: Path) -> None:
    handler = RotatingFileHandler(log, maxBytes=2_000, backupCount=50)
    handler.emit(logging.makeLogRecord({"msg": "line 0"}))

    async def write() -> None:
        for number in range(1, 2_000):
            handler.emit(logging.makeLogRecord({"msg": f"line {number}"}))
            if number % 100 == 0:
                # So that several files are filled between two looks, and a look may fall anywhere.
                await asyncio.sleep(0.03)
        handler.close()

    assert heard(log, count=2_000, meanwhile=write) == [f"line {number}" for number in range(2_000)]


async def test_who_waits_for_a_log_uses_next_to_nothing(log: Path) -> None:
    written(log, "one")
    reader = follow(log, lines=1)
    assert await anext(reader) == "one"
    began = time.process_time()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):
            await anext(reader)
    await reader.aclose()
    assert (time.process_time() - began) < 0.3


async def test_a_reader_that_goes_away_while_a_file_is_being_opened_leaves_none_open(log: Path, monkeypatch: pytest.MonkeyPatch):
    written(log, "one")
    is_gone, opened, files = threading.Event(), log_reading._opened, list[BinaryIO]()
    going: list[Callable[[], object]] = []

    def slowly(path: Path) -> BinaryIO:
        going[0]()
        # Set long after the loop has done all that it does about a reader that was cancelled.
        threading.Timer(0.1, is_gone.set).start()
        assert is_gone.wait(60)
        files.append(opened(path))
        return files[-1]

    monkeypatch.setattr(log_reading, "_opened", slowly)
    reading = asyncio.ensure_future(anext(follow(log, lines=1)))
    going.append(partial(asyncio.get_running_loop().call_soon_threadsafe, reading.cancel))
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert [file.closed for file in files] == [True]
