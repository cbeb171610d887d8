"""A file system that takes no more: as on a full disk, or under a quota."""

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to write beyond so many bytes of any file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def disk_of(megabytes: int, place: Path) -> Iterator[Path]:
    """A disk that is mounted there."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", place]
    if subprocess.run(mount, capture_output=True, check=False, timeout=100).returncode:
        pytest.skip("only root may mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True, timeout=100)


def filled(disk: Path, *, but: int = 0) -> Path:
    """The file that takes all of the room, but so many bytes."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - but)
    return filler
