"""Files that are there as a whole or not at all, whatever is killed and however full the disk is."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hive_mind.private import private_folder

BEGUN = "."
"""how the name of one begins that is not whole yet"""
PART = ".part"
"""and how it ends"""
_NAME_MAX = 40


def write_whole(path: Path, body: bytes, is_wanted: Callable[[], bool] = lambda: True) -> bool:
    """Durable when it returns. False, and the file as it was, where it is not wanted any more once it could be there.

    Raises `OSError`.
    """
    private_folder(path.parent)
    descriptor, waiting = tempfile.mkstemp(dir=path.parent, prefix=f"{BEGUN}{path.name[:_NAME_MAX]}.", suffix=PART)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        if is_wanted():
            Path(waiting).replace(path)
            return True
        Path(waiting).unlink()
    except BaseException:
        Path(waiting).unlink(missing_ok=True)
        raise
    return False
