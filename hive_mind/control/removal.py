"""Purging a fleet: its agents' databases, its hives' journals and its folder, and nothing else; and former journals alone.

Only what the state names is removed, and no agent that another fleet has meanwhile. The state goes last, so a purge that was
interrupted can be done again.

Other fleets of the same home: an agent has one database, so it belongs to one of them.
"""

import errno
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hive_mind.control.manifests.expansion import expanded
from hive_mind.control.manifests.reading import Source
from hive_mind.control.state import FleetFolder, fleets
from hive_mind.errors import ManifestError, Problem
from hive_mind.safe_files import REPLACED, sync_folder

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
    """The paths of this fleet outside its own folder."""
    state = folder.state()
    other_agents: set[str] = set()
    for fleet in fleets(folder.home):
        if fleet != folder.fleet:
            other_agents |= agents_of(FleetFolder(folder.home, fleet))
    yield from (folder.agent(name) for name in state.agents if name not in other_agents)
    for hive in state.hives:
        path = folder.hive(hive)
        # With what an interrupted move left beside it.
        yield from (path, path.with_name(f"{path.name}.partial"), path.with_name(f"{path.name}.replaced"))


def discard_former(folder: FleetFolder) -> list[str]:
    """Delete the journals of generations whose facts have moved on; which. Done again after a kill, it removes the rest.

    The state names the next generation only once its journals were read again and say all that those of the last one said.
    """
    state = folder.state()
    in_use = {hive.id for hive in (state.hive, state.last_hive) if hive is not None}
    discarded = []
    for name in state.hives if in_use else ():
        path = folder.hive(name)
        # Nobody reads from a folder of this name, so half of it deceives nobody.
        aside = path.with_name(f"{name}{REPLACED}")
        if name in in_use or not (path.exists() or aside.exists()):
            continue
        _remove(aside)
        with suppress(FileNotFoundError):
            path.rename(aside)
        _remove(aside)
        sync_folder(path.parent)
        discarded.append(name)
    return discarded


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


def refuse_taken_names(source: Source, folder: FleetFolder) -> None:
    """Raises `ManifestError` for agents that another fleet has, whether it runs or not."""
    names = {agent.name for agent in expanded(source.manifest)}
    problems = []
    for fleet in fleets(folder.home):
        taken_names = sorted(names & agents_of(FleetFolder(folder.home, fleet))) if fleet != folder.fleet else []
        if taken_names:
            shown_names = ", ".join(taken_names[:5]) + (f" and {len(taken_names) - 5} more" if len(taken_names) > 5 else "")
            reason = f"fleet {fleet!r} has {shown_names} already: call them otherwise, purge that fleet, or use another home"
            problems.append(Problem("spec.agents", 0, reason))
    if problems:
        raise ManifestError(problems, source.name)


def agents_of(folder: FleetFolder) -> set[str]:
    """Agents that a fleet has now; all that an archive brought, as long as that was not applied."""
    state = folder.state()
    allocated = {agent for nodes in state.allocation.values() for names in nodes.values() for agent in names}
    return allocated or set(state.agents)
