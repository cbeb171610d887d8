"""Driving a run: what it wants is done, its steps are kept. Tools of a memory, of files, of the fleet; bundled workers."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.runs.spec import WorkerSpec

_FOLDER = files("hive_mind.agents").joinpath("workers")


def bundled() -> list[str]:
    """Workers that come with the program: files like those people write."""
    return sorted(file.name.removesuffix(".yaml") for file in _FOLDER.iterdir() if file.name.endswith(".yaml"))


def text_of(name: str) -> str:
    """The file of one. Raises `InvalidInput` where there is none."""
    if name not in bundled():
        raise InvalidInput(f"there is no worker {name!r}: give a file, or one of {', '.join(bundled())}")
    return _FOLDER.joinpath(f"{name}.yaml").read_text("utf-8")


@cache
def worker_called(name: str) -> "WorkerSpec":
    """One of them. Raises `InvalidInput`."""
    # A run or none may follow: an idle process does without it.
    from hive_mind.runs.worker_file import worker_of

    return worker_of(text_of(name), name)
