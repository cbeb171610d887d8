"""Another file in the place of a database, whose former file and log are kept beside it under another name.

The other one is whole and on disk before a note says what is to happen. From then on it happens: the next opening, even after a
kill or a power failure, carries out what is left. Until then nothing has changed. So one of both is always there.
"""

import logging
import os
import shutil
from pathlib import Path

import msgspec

from hive_mind.errors import DatabaseUnreadable
from hive_mind.model.decoding import json_decoder
from hive_mind.replacing import replacing, sync_file, sync_folder, write_whole

_log = logging.getLogger(__name__)

KEPT = ("before", "damaged")
"""Words by which former files are called: after a restoration, after a repair."""


class _Replacement(msgspec.Struct, frozen=True):
    """By their names in the folder: the file that takes the place, and where the former one goes."""

    made: str
    kept: str


def replace_database(path: Path, made: Path, word: str) -> Path | None:
    """Put `made`, a closed database, in the place of the one at `path`, which this process owns. Where the former one is now."""
    sync_file(made)
    kept_path = free_name(path, word)
    write_whole(_note(path), msgspec.json.encode(_Replacement(made.name, kept_path.name)))
    _carry_out(path)
    return kept_path if kept_path.exists() or log_path(kept_path).exists() else None


def is_half_replaced(path: Path) -> bool:
    """Whether somebody was killed while replacing this database, so that `mend` has something to do."""
    path = path.resolve()
    return _note(path).exists()


def mend(path: Path) -> None:
    """Carry out what a killed process has left to do. Only for the owner of the file. Raises `DatabaseUnreadable`, `OSError`."""
    path = path.resolve()
    if _note(path).exists():
        _log.warning("%s: its replacement was interrupted, and is finished now", path)
        _carry_out(path)


def _carry_out(path: Path) -> None:
    """Do what the note says. Each step may have been done before."""
    try:
        planned = json_decoder(_Replacement)(_note(path).read_bytes())
    except msgspec.DecodeError as error:
        advice = f"move {_note(path).name} away, and look at what is there: hive-mind doctor"
        problem = f"{path} was being replaced, and the note on it is damaged. Nothing was changed; {advice}"
        raise DatabaseUnreadable("sqlite", problem) from error
    made_path, kept_path = path.with_name(planned.made), path.with_name(planned.kept)
    if made_path.exists():
        for source, target in ((log_path(path), log_path(kept_path)), (path, kept_path)):
            if source.exists() and not target.exists():
                _link(source, target)
        sync_folder(path.parent)
    elif not path.exists():
        where = f"its former file is {kept_path}" if kept_path.exists() else "there was none before"
        raise DatabaseUnreadable("sqlite", f"{path} is missing, and so is what was to take its place, {made_path.name}; {where}")
    # Before the file: with another one's log it would be neither. And nobody has opened the new one yet.
    for log_file in (log_path(path), path.with_name(f"{path.name}-shm")):
        log_file.unlink(missing_ok=True)
    sync_folder(path.parent)
    if made_path.exists():
        made_path.replace(path)
        sync_folder(path.parent)
    _note(path).unlink()
    # Else the note could come back, and take the log of later writes away.
    sync_folder(path.parent)


def free_name(path: Path, word: str) -> Path:
    """Beside the file, the first of `name.word-1`, `name.word-2`, … that is not taken."""
    return next(free for n in range(1, 1_000_000) if not (free := path.with_name(f"{path.name}.{word}-{n}")).exists())


def log_path(path: Path) -> Path:
    """SQLite's write-ahead log of a file."""
    return path.with_name(path.name + "-wal")


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        # Not every file system has a second name for a file.
        with replacing(target) as copy:
            shutil.copyfile(source, copy)


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.replacing")
