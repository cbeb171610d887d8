"""Files of a fleet: names that can't leave their folder, and folders for their owner alone.

A configuration names databases and tells how to reach a worker.
"""

from pathlib import Path

from hive_mind import safe_files
from hive_mind.errors import InvalidInput
from hive_mind.regex import regex

_NAME = regex(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}")


def checked_name(name: str, of: str = "name") -> str:
    """The name, if it may become part of a path. Raises `InvalidInput`."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{of} {name[:70]!r} can't be used: take 1 to 64 letters, digits, '.', '_' and '-', and begin with a letter or digit"
        )
    return name


def private_folder(path: Path) -> Path:
    """The folder, made where it is missing, for its owner alone. Raises `InvalidInput` where it can't be."""
    try:
        safe_files.private_folder(path)
    except OSError as error:
        raise InvalidInput(
            f"{path} can't be made: {error.strerror}; give --home (or HIVE_MIND_HOME) a folder where you may write"
        ) from error
    return path
