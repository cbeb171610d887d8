"""A copy that can be read, of a database that can't be opened as it is; told what had to be left out.

A checkpoint that did not come to its end (a kill, too little memory) leaves the rows as they were and their index broken. So the
rows go into a new database, at the same places, and the log that was to be written back is replayed over that: nothing is lost.
Of a log that is damaged what stands before the damage is kept.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from hive_mind.store._kuzu.place import LOG, copied, part, size, unreadable
from hive_mind.store._kuzu.reader import Failed, Reader, opened

Lost = Callable[[str], None]


async def readable(path: Path, folder: Path, closed_log: int, lost: Lost) -> tuple[Reader, Path | None]:
    """A reader of a copy of `path` made in `folder`, the best there is; and another copy, where that has the older edges.

    Raises `DatabaseUnreadable`.
    """
    log = part(path, LOG)
    if closed_log > size(log):
        lost(f"its log {log.name} had {closed_log:,} bytes when it was closed and has {size(log):,}: what stood there is lost")
    copy = await asyncio.to_thread(copied, path, folder / "whole")
    copied_at = copy.stat().st_mtime_ns
    try:
        reader = await opened(copy)
    except Failed as failed:
        return await _mended(path, folder, failed, lost)
    # It may have finished a checkpoint that was almost done: then the log is in the file.
    if copy.stat().st_mtime_ns == copied_at:
        _tell_cut(log, reader, lost)
    return reader, None


def _tell_cut(log: Path, reader: Reader, lost: Lost) -> None:
    """Kuzu takes what it does not understand of a log for a write that was not finished, and cuts it off."""
    if (cut := size(log) - size(part(reader.path, LOG))) > 0:
        lost(f"the last {cut:,} of {size(log):,} bytes of its log hold no whole write: it is damaged there, or one was under way")


async def _mended(path: Path, folder: Path, why: Failed, lost: Lost) -> tuple[Reader, Path | None]:
    base, log = await asyncio.to_thread(copied, path, folder / "base", log=False), part(path, LOG)
    try:
        reader = await opened(base)
    except Failed as failed:
        raise unreadable(path, f"can't be read ({failed})") from failed
    if not size(log):
        return reader, None
    rebuilt = folder / "rebuilt"
    is_rebuilt = await _is_rebuilt(reader, rebuilt)
    await reader.close()
    mended = await _with_log(rebuilt if is_rebuilt else base, log, folder / "mended", why, lost)
    return mended, base if is_rebuilt else None


async def _is_rebuilt(reader: Reader, target: Path) -> bool:
    try:
        async for _ in reader.ask("rebuild", path=str(target)):
            pass
    except Failed:
        return False
    return True


async def _with_log(base: Path, log: Path, copy: Path, why: Failed, lost: Lost) -> Reader:
    """With as much of the log as Kuzu takes."""
    body = await asyncio.to_thread(log.read_bytes)

    async def attempt(length: int) -> Reader | None:
        await asyncio.to_thread(copied, base, copy, log=False)
        part(copy, LOG).write_bytes(body[:length])
        try:
            return await opened(copy)
        except Failed:
            return None

    if reader := await attempt(len(body)):
        _tell_cut(log, reader, lost)
        return reader
    good, bad = 0, len(body)
    while bad - good > 1:
        middle = (good + bad) // 2
        if reader := await attempt(middle):
            await reader.close()
            good = middle
        else:
            bad = middle
    lost(f"its log is damaged from byte {good:,} of {len(body):,} on ({why}): what was written after that is lost")
    reader = await attempt(good)
    if reader is None:
        raise unreadable(log, "was read once and then not again")
    return reader
