"""Lives of a file under trace: made, closed, killed, opened again; or going on with what a power failure left.

Each life is one trace file, complete in itself, of several processes one after the other.
"""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.crash.disk_model import Disk, Image
from tests.crash.disk_trace import Change, append_to_trace, existing, read_trace, run_traced
from tests.crash.traced_writer import ACKNOWLEDGED

Sessions = Sequence[tuple[int, str]]
"""How many writes each process makes, and how it ends: "close", "die" at any change, "unsynced": all written, nothing synced."""

FIRST: Sessions = (
    (12, "close"), (30, "die"), (18, "close"), (9, "unsynced"), (3, "unsynced"), (20, "die"), (1, "die"), (14, "close"),
)  # fmt: skip
SHORT: Sessions = ((12, "close"), (30, "die"), (9, "unsynced"), (20, "die"), (14, "close"))
AFTER_POWER_FAILURE: Sessions = ((2, "unsynced"), (1, "die"), (6, "die"), (9, "unsynced"), (12, "close"))
_KILLED = -9


class Left(NamedTuple):
    """What a power failure left, and how many writes are in it."""

    image: Image
    writes: int


def live(library: Path, folder: Path, kind: str, seed: int, sessions: Sessions, left: Left | None = None) -> Path:
    """Run the processes, over what is `left` of an earlier life if that is given; the trace. Fails where it lacks something."""
    home, trace = folder / "home", folder / f"{kind}-{seed}.trace"
    lay_out(home, left.image if left else {})
    # Only behind the first mark the power may fail: before it is what was there.
    append_to_trace(trace, [*existing(home), Change("M", 0, 0, f"{ACKNOWLEDGED} {left.writes if left else 0}", b"")])
    for number, (writes, end) in enumerate(sessions):
        command = ["-m", "tests.crash.traced_writer", kind, str(home), f"{seed}{number}", str(writes), end]
        code = run_traced(library, home, trace, command)
        assert code == (0 if end == "close" else _KILLED), f"the writer ended with {code}: {' '.join(command)}"
    disk = Disk()
    for change in read_trace(trace):
        disk.follow(change)
    assert disk.holds() == _files(home), f"the trace lacks a change: {trace}"
    shutil.rmtree(home)
    return trace


def lay_out(folder: Path, image: Image, rng: random.Random | None = None) -> None:
    """The files of an image. With chance, SQLite's mapped memory may have been on its way to the disk; nobody must believe it."""
    folder.mkdir()
    for path, content in image.items():
        if content is None:
            (folder / path).mkdir()
            continue
        (folder / path).write_bytes(content)
        if rng and path.endswith("-wal") and rng.random() < 0.3:
            (folder / (path.removesuffix("-wal") + "-shm")).write_bytes(rng.randbytes(32_768))


def _files(folder: Path) -> Image:
    paths = (path for path in folder.rglob("*") if not path.name.endswith("-shm"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}
