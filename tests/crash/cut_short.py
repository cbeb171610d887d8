"""Runs a command that is killed before one of its steps: `python -m tests.crash.cut_short STEP FOLDER COMMAND …`.

A step is whatever changes the names or begins a file below the folder. Ends by itself where the command has fewer steps.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NAMING = ("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.symlink", "os.truncate", "sqlite3.connect")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def killed_before(step: int, folder: Path) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook that kills this process before its so many-th step."""
    left = step

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in _NAMING and not (event == "open" and int(arguments[2] or 0) & _WRITING):
            return
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes | os.PathLike) else ""
        if Path(path).is_absolute() and not path.startswith(str(folder)):
            return
        if (left := left - 1) < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


def main(step: int, folder: Path, command: list[str]) -> None:
    from hive_mind.__main__ import main as begin

    sys.argv = ["hive-mind", *command]
    sys.addaudithook(killed_before(step, folder))
    begin()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
