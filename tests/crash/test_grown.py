"""Who judges a memory after a kill notices what is lost, and what is there in half."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.grown import Grown

FACTS, WRITES = 76, 40


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """One that has grown, with writes since, and the tick up to which it had grown."""
    path, work = tmp_path_factory.mktemp("memory") / "memory.sqlite", Grown(FACTS)
    grown_at = work.grow(path)

    async def write() -> None:
        store = await work.open(path)
        for number in range(1, WRITES + 1):
            await work.write(store, number)
        await store.close()

    asyncio.run(write())
    return path, grown_at


def test_a_memory_with_everything_is_as_it_should_be(memory: tuple[Path, int]) -> None:
    path, grown_at = memory
    assert Grown(FACTS).judged(path, grown_at, WRITES) == ("", WRITES)


def test_an_acknowledged_write_that_is_not_there_is_noticed(memory: tuple[Path, int]) -> None:
    path, grown_at = memory
    assert Grown(FACTS).judged(path, grown_at, WRITES + 1) == ("40 writes are there, 41 were acknowledged", WRITES)


@pytest.mark.parametrize(
    "loss",
    [
        "DELETE FROM vector WHERE seq = (SELECT max(seq) FROM vector)",
        "DELETE FROM vector WHERE seq = (SELECT min(seq) FROM vector)",
        "DELETE FROM edge WHERE seq = (SELECT max(seq) FROM edge)",
        "DELETE FROM node WHERE id = 'base 3'",
        "UPDATE node SET body = replace(body, 'Valve', 'Value') WHERE id = 'base 3'",
    ],
)
def test_a_row_that_is_missing_or_another_is_noticed(memory: tuple[Path, int], loss: str, tmp_path: Path) -> None:
    path, grown_at = memory
    copy = Path(shutil.copy(path, tmp_path))
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(loss)

    wrong, _ = Grown(FACTS).judged(copy, grown_at, WRITES)
    assert wrong
