"""Where inputs come from: a list, a file, an open stream, or a queue that somebody fills."""

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.goal_seeking import lines_of, listed


def gathered(source: AsyncIterator[Any]) -> list[Any]:
    async def all_of() -> list[Any]:
        return [one async for one in source]

    return asyncio.run(all_of())


def test_a_list_gives_what_it_has() -> None:
    assert gathered(listed([1, 2])) == [1, 2]
    assert gathered(listed([])) == []


def test_a_file_gives_each_line_that_says_something_however_it_is_encoded(tmp_path: Path) -> None:
    path = tmp_path / "inputs.txt"
    path.write_bytes(b"one\r\n\n   \n  two \xff\nthree")
    assert gathered(lines_of(path)) == ["one", "two \ufffd", "three"]


async def test_a_file_is_closed_also_by_somebody_who_reads_only_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "inputs.txt"
    path.write_text("one\ntwo\n")
    source = lines_of(path)
    found = await anext(source)
    await source.aclose()
    assert found == "one"


def test_an_open_stream_stays_its_owners() -> None:
    stream = io.StringIO("one\ntwo\n")
    assert gathered(lines_of(stream)) == ["one", "two"]
    assert not stream.closed


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        gathered(lines_of(tmp_path / "nothing"))
