"""Every change a process makes to one folder, in order: compiled, run and read here; noted by `disk_trace.c` inside the process.

A process under trace says what it has acknowledged with `mark`. Several processes, one after the other, may go on with one trace.
"""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import hive_mind

SOURCE = Path(__file__).with_name("disk_trace.c")
_HEAD = struct.Struct("<QQIIc7x")
_COMPILE_S = 60
_RUN_S = 120


class Change(NamedTuple):
    """One record of a trace.

    `what`: C and D make a file and a folder, W writes, T sets the length (`offset`), S syncs, R renames, U removes a name, M is a
    mark. `text` is a path below the folder, two of them for R, or the mark.
    """

    what: str
    inode: int
    offset: int
    text: str
    data: bytes

    def __str__(self) -> str:
        told = {
            "C": "create",
            "D": "make folder",
            "W": "write",
            "T": "set length",
            "S": "sync",
            "R": "rename",
            "U": "remove",
            "M": "mark",
        }
        place = self.text.replace("\n", " to ") or f"inode {self.inode}"
        extent = f" at {self.offset}" if self.what in "WT" else ""
        return f"{told[self.what]} {place}{extent}" + (f", {len(self.data)} bytes" if self.data else "")


def compiler() -> str:
    """A C compiler, "" where there is none."""
    return shutil.which("cc") or shutil.which("gcc") or ""


def compiled(folder: Path) -> Path:
    """The library to preload."""
    library = folder / "disk_trace.so"
    command = [compiler(), "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, SOURCE, "-ldl", "-lpthread"]
    subprocess.run(command, check=True, timeout=_COMPILE_S)
    return library


def run_traced(library: Path, folder: Path, trace: Path, command: Sequence[str]) -> int:
    """Run Python with `command` until it ends; its exit code, negative for a signal."""
    environment = os.environ | {
        "LD_PRELOAD": str(library),
        "DISK_TRACE_ROOT": str(folder),
        "DISK_TRACE_FILE": str(trace),
        "PYTHONPATH": str(Path(hive_mind.__file__).parents[1]),
    }
    return subprocess.run([sys.executable, *command], env=environment, timeout=_RUN_S, check=False).returncode


def existing(folder: Path) -> list[Change]:
    """What leads to a folder as it is, all of it durable. Every trace begins so, be it with the empty folder."""
    changes = [Change("D", folder.stat().st_ino, 0, "", b"")]
    paths = sorted(path for path in folder.rglob("*") if not path.name.endswith("-shm"))
    for path in paths:
        name, inode = str(path.relative_to(folder)), path.stat().st_ino
        if path.is_dir():
            changes.append(Change("D", inode, 0, name, b""))
        else:
            changes += [
                Change("C", inode, 0, name, b""),
                Change("W", inode, 0, "", path.read_bytes()),
                Change("S", inode, 0, "", b""),
            ]
    return [*changes, *(Change("S", path.stat().st_ino, 0, "", b"") for path in (folder, *paths) if path.is_dir())]


def append_to_trace(trace: Path, changes: Iterable[Change]) -> None:
    """Go on with a trace by what happened otherwise."""
    with trace.open("ab") as file:
        for change in changes:
            text = change.text.encode()
            head = _HEAD.pack(change.inode, change.offset, len(text), len(change.data), change.what.encode())
            file.write(head + text + change.data)


def read_trace(trace: Path) -> Iterator[Change]:
    """Its records, in order."""
    body, at = trace.read_bytes(), 0
    while at < len(body):
        inode, offset, text_bytes, data_bytes, what = _HEAD.unpack_from(body, at)
        text_at = at + _HEAD.size
        data_at = text_at + text_bytes
        at = data_at + data_bytes
        yield Change(what.decode(), inode, offset, body[text_at:data_at].decode(), body[data_at:at])


@cache
def _preloaded() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def mark(text: str) -> None:
    """Put a mark into the trace of this process."""
    _preloaded().disk_trace_mark(text.encode())


def die_in(changes: int) -> None:
    """Have this process killed right after so many more changes."""
    _preloaded().disk_trace_die_in(changes)


def die_unsynced() -> None:
    """Have this process killed where it would sync next: all is written, nothing of it durable."""
    _preloaded().disk_trace_die_unsynced()
