"""The step that puts a configuration into use, and what is put right after somebody was killed around it.

The step is the renaming of `configs/active.json`. Before it, the line that will stand in the history is kept in a note; after it,
the line is written and the note goes. So the former configuration stays active until the step, the new one is from then on, and
the next command writes the line that is missing, or drops the note of a change that never happened. All under the lock.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hive_mind.retrieval import history
from hive_mind.retrieval.active import Active
from hive_mind.retrieval.configuration import RetrievalConfig
from hive_mind.retrieval.history import Entry
from hive_mind.retrieval.workspace import Workspace
from hive_mind.retrieval.writing import write_whole


def activate(workspace: Workspace, entry: Entry) -> None:
    """The change itself. Before the second step the former configuration is in use, from then on the new one."""
    note = _note(workspace)
    write_whole(note, history.encoded(entry))
    active = Active(
        config=entry.config, deployed=entry.configuration, at=entry.at, by=entry.by, why=entry.why, forced=entry.forced
    )
    write_whole(workspace.active_file, active.model_dump_json(indent=2, by_alias=True) + "\n")
    history.add(workspace.history_file, entry)
    note.unlink()


def recover(workspace: Workspace, now: datetime) -> None:
    """Finish what was interrupted, and write down an active configuration that came some other way."""
    note, active = _note(workspace), workspace.deployment()
    if note.exists():
        _finish(workspace, note, active)
    config = workspace.active()
    entries = history.read_history(workspace.history_file)
    if active is None or config is None or (entries and entries[-1].is_of(config)):
        return
    former = entries[-1].config if entries else ""
    at = moment(workspace, now)
    found = Entry(at, "found", config.name, active.by, active.why, plain(config), active.forced, former)
    history.add(workspace.history_file, found)


def _finish(workspace: Workspace, note: Path, active: Active | None) -> None:
    """The change in the note has happened if its configuration is in use; else it has not."""
    try:
        entry = history.decoded(note.read_bytes())
    except ValueError:
        # Not written here, as it is written whole. Whatever is in use without a line is found and written down anyway.
        note.unlink()
        return
    known = {one.at for one in history.read_history(workspace.history_file)}
    if active and active.at == entry.at and entry.at not in known:
        history.add(workspace.history_file, entry)
    note.unlink()


def moment(workspace: Workspace, now: datetime) -> str:
    """The time as an entry has it, which no other entry has."""
    taken = {one.at for one in history.read_history(workspace.history_file)}
    while (at := now.isoformat(timespec="microseconds")) in taken:
        now += timedelta(microseconds=1)
    return at


def plain(config: RetrievalConfig) -> dict[str, Any]:
    """A configuration as it stands in a file."""
    return config.model_dump(mode="json", by_alias=True)


def _note(workspace: Workspace) -> Path:
    return workspace.root / ".deploying.json"
