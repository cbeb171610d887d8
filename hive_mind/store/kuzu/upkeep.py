"""What a database file needs besides reading and writing: to be created whole, room, its log written back, its memory returned.

Functions that touch the disk and decide nothing; when they are due is decided in `database`.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from hive_mind.errors import BackendError
from hive_mind.store.kuzu.engine import Engine, EngineError
from hive_mind.store.kuzu.lock import log_path

# What Kuzu may leave beside a file it was creating.
_SUFFIXES = ("", ".wal", ".shadow", ".tmp")

# Others write to the same disk between the look and the write; and no disk is better for being filled to its last block.
_SPARE_BYTES = 1 << 20


def create(path: Path, open_engine_at: Callable[[Path], Engine]) -> None:
    """A complete new database at `path`, or nothing: it is made under another name and then renamed.

    So a process killed while creating leaves no half a file that the next one would have to judge.
    """
    unborn = path.with_name(path.name + ".new")
    for suffix in _SUFFIXES:
        unborn.with_name(unborn.name + suffix).unlink(missing_ok=True)
    engine = open_engine_at(unborn)
    try:
        write_back(engine, unborn)
    finally:
        engine.close()
    unborn.rename(path)
    _sync_folder(path.parent)


def refuse_without_room(path: Path, more_bytes: int) -> None:
    """Raises `BackendError` where the disk has no room for so much more log.

    Kuzu ends the whole process when it closes a database whose log met the end of the disk.
    """
    try:
        disk = shutil.disk_usage(path.parent)
    except OSError:
        # Whether it can be written at all is for the write to find out.
        return
    # Some file systems say nothing about their size.
    if disk.total and disk.free < more_bytes + _SPARE_BYTES:
        told = f"{disk.free >> 10:,} KB are free on its disk, and this needs {(more_bytes + _SPARE_BYTES) >> 10:,}"
        raise BackendError("kuzu", f"{path}: {told}; nothing was written: make room, then write again")


def write_back(engine: Engine, path: Path) -> None:
    """Checkpoint. The engine must not be asked for another one: close it. Raises `EngineError` if the log stayed."""
    engine.run_once("CHECKPOINT")
    if log_bytes(path):
        raise EngineError("the log is still there after the checkpoint")


def log_bytes(path: Path) -> int:
    """The length of a database's log; 0 when it has none."""
    try:
        return log_path(path).stat().st_size
    except FileNotFoundError:
        return 0


def return_freed_memory() -> None:
    """Give freed memory back to the system: 25 MB of each closed database otherwise stay with the process. glibc only."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
