"""A process that changes credentials until it is killed, beside others that do.

`python -m tests.crash.credentials_writer FOLDER set NAME` sets NAME-0 to NAME-9 round and round and prints "ACK n" once its n-th
value is durable; `… FOLDER rotate NAME` changes the key again and again and prints "ACK n" after each.
`… FOLDER cut CHANGE` makes one change over and over, each time killed one line of code later, until it survives, and prints what
is there each time.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from hive_mind.credentials import CredentialStore
from tests.unit.credentials.stores import revealed, store_in

NAMES = 10


def value(name: str, number: int) -> str:
    """Of very different lengths, so that a write takes more or less long."""
    return f"{name}.{number}|" * (1 + number * 37 % 200)


def name_of(name: str, number: int) -> str:
    return f"{name}-{number % NAMES}"


CHANGES: dict[str, Callable[[CredentialStore], object]] = {
    "set": lambda store: store.set("second", "sw0rdfish-9"),
    "replace": lambda store: store.set("first", "sw0rdfish-9"),
    "delete": lambda store: store.delete("first"),
    "rotate": lambda store: store.rotate(),
}
OURS = ("/hive_mind/credentials/", "/hive_mind/sqlite/", "/hive_mind/safe_files.py")


def killed_at(line: int) -> Callable[[FrameType, str, Any], Any]:
    """Traces the code that changes files, and kills this process before its so many-th line."""
    left = line

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        del argument
        if not any(part in frame.f_code.co_filename for part in OURS):
            return None
        if event == "line" and (left := left - 1) < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def cut(folder: Path, change: str) -> None:
    for line in count():
        # To remove a half takes lines, too: where each life had one to remove, the last lines would never be reached.
        for half in folder.rglob("*.part") if line % 2 else ():
            half.unlink()
        if (child := os.fork()) == 0:
            sys.settrace(killed_at(line))
            CHANGES[change](store_in(folder))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        os.write(1, json.dumps([status, revealed(store_in(folder))]).encode() + b"\n")
        if status == 0:
            return


def main(folder: Path, what: str, name: str) -> None:
    if what == "cut":
        cut(folder, name)
        return
    store = store_in(folder)
    for number in count():
        if what == "rotate":
            store.rotate()
        else:
            store.set(name_of(name, number), value(name, number))
        os.write(1, f"ACK {number}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
