"""What is typed comes line by line, and nobody has to press Enter before a process can end."""

import asyncio
import os
import sys

import pytest

from hive_mind.cli.retrieval.tune import Keyboard


@pytest.fixture
def typing(monkeypatch):
    """The end of a pipe that is standard input."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "wb", buffering=0) as typed:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield typed
        # Whatever still waits gets a line before its pipe is closed.
        if not typed.closed:
            typed.write(b"\n")


async def test_lines_come_one_by_one_whatever_blocks_they_arrive_in(typing, capsys):
    keyboard = Keyboard()
    typing.write(b"one\ntwo\nth")
    first = [await keyboard.ask("first: "), await keyboard.ask("second: ")]
    typing.write("rée\n".encode())
    assert ([*first, await keyboard.ask("third: ")]) == ["one", "two", "thrée"]
    assert capsys.readouterr().err == "first: second: third: "


async def test_the_end_is_told_and_what_stands_before_it_is_a_line(typing):
    keyboard = Keyboard()
    typing.write(b"last")
    typing.close()
    last = await keyboard.ask("")
    with pytest.raises(EOFError):
        await keyboard.ask("")
    assert last == "last"


@pytest.mark.usefixtures("typing")
async def test_waiting_can_be_given_up():
    waiting = asyncio.create_task(Keyboard().ask(""))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
