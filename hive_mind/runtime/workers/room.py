"""How much room the disks have on which a process keeps its files."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Room(msgspec.Struct, frozen=True):
    """Of one disk, as far as this user may fill it. `files_left` is -1 where a file system sets no limit."""

    path: str
    free_bytes: int
    total_bytes: int
    files_left: int = -1


def rooms(folders: Iterable[Path]) -> tuple[Room, ...]:
    """Each disk once, under the first folder that is on it. A folder that is not there yet counts as the nearest above it."""
    found: dict[int, Room] = {}
    for folder in folders:
        try:
            there = next(one for one in (folder, *folder.parents) if one.exists())
            device, told = there.stat().st_dev, os.statvfs(there)
        except (OSError, StopIteration):
            # A write there reports what is wrong; it is no matter of free space.
            continue
        left = told.f_favail if told.f_files else -1
        found.setdefault(device, Room(str(folder), told.f_bavail * told.f_frsize, told.f_blocks * told.f_frsize, left))
    return tuple(found.values())
