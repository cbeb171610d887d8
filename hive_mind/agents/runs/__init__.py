"""Driving a run: what it wants is done, its steps are kept; tools of a memory, of files and of the fleet."""

from functools import cache
from importlib.resources import files

from hive_mind.errors import InvalidInput
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.worker_file import worker_of

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
def worker_called(name: str) -> WorkerSpec:
    """One of them. Raises `InvalidInput`."""
    return worker_of(text_of(name), name)
