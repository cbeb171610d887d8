"""Purging a fleet: its agents' databases, its hives' journals and its folder, and nothing else.

Only what the state names is removed, and no agent that another fleet has meanwhile. The state goes last, so a purge that was
interrupted can be done again.
"""

import errno
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from hive_mind.control.neighbours import agents_of
from hive_mind.control.state import FleetFolder, fleets

# A command that looks on may still have a database open, and leave a file beside it while its folder is removed.
_TRIES = 20
_PAUSE_S = 0.1


def purge(folder: FleetFolder) -> None:
    """Remove everything. Nothing of the fleet may run. Raises `OSError`."""
    for path in [*to_purge(folder)]:
        _remove(path)
    for path in sorted(folder.path.iterdir(), key=lambda path: path.name == "state.json"):
        _remove(path)
    folder.path.rmdir()


def to_purge(folder: FleetFolder) -> Iterator[Path]:
    """What is of this fleet outside its own folder."""
    state = folder.state()
    others: set[str] = set()
    for other in fleets(folder.home):
        if other != folder.fleet:
            others |= agents_of(FleetFolder(folder.home, other))
    yield from (folder.agent(name) for name in state.agents if name not in others)
    for hive in state.hives:
        path = folder.hive(hive)
        # With what an interrupted move left beside it.
        yield from (path, path.with_name(f"{path.name}.partial"), path.with_name(f"{path.name}.replaced"))


def _remove(path: Path) -> None:
    for left in reversed(range(_TRIES)):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.ENOENT) or not left:
                raise
            time.sleep(_PAUSE_S)
