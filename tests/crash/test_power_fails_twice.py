"""What a torn write left in the log lies under the next one; if the power fails again there, nobody takes it for damage."""

import shutil
from pathlib import Path

from hive_mind.hive.effects import Put
from hive_mind.journal import sqlite
from hive_mind.journal.sqlite import FORMAT

FRAME_BYTES = FORMAT.page_bytes + 24


def wide(name: str, pages: int) -> list[Put]:
    """A write of at least so many pages."""
    return [Put("dots", f"{name}{n}".encode(), name.encode() * FORMAT.page_bytes) for n in range(pages)]


async def left(path: Path, *writes: list[Put]) -> tuple[Path, list[int]]:
    """The files as they are while the journal is still open, and how long the log was before the first and after each write."""
    journal, log, lengths = await sqlite.open(path), path.with_name(path.name + "-wal"), list[int]()
    lengths.append(log.stat().st_size if log.exists() else 0)
    for write in writes:
        await journal.write(write)
        lengths.append(log.stat().st_size)
    copied = path.parent.with_name(path.parent.name + "+") / path.name
    shutil.copytree(path.parent, copied.parent)
    await journal.close()
    return copied, lengths


def overwritten(path: Path, begins: int, replacement: bytes) -> None:
    with path.with_name(path.name + "-wal").open("r+b") as log:
        log.seek(begins)
        log.write(replacement)


async def kept(path: Path) -> set[bytes]:
    journal = await sqlite.open(path)
    found = {put.key for put in await journal.load()}
    await journal.close()
    return found


async def test_a_write_torn_over_the_rest_of_another_torn_write_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    first, (_, begins, _) = await left(tmp_path / "a" / "node.sqlite", [Put("dots", b"kept", b"")], wide("a", 10))
    # Of the second write its first frame is lost.
    overwritten(first, begins, bytes(FRAME_BYTES))
    torn = first.with_name(first.name + "-wal").read_bytes()
    second, _ = await left(first, [Put("dots", b"also kept", b"")], wide("c", 30))
    # Of the last one, all that lies where the torn one was.
    begins += 4 * FRAME_BYTES
    overwritten(second, begins, torn[begins:])

    assert (await kept(second)) == {b"kept", b"also kept"}
