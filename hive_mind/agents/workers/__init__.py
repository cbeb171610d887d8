"""Workers that come with the program: files like those people write."""

from functools import cache
from importlib.resources import files

from hive_mind.errors import InvalidInput
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.worker_file import worker_of


def bundled() -> list[str]:
    return sorted(file.name.removesuffix(".yaml") for file in files(__name__).iterdir() if file.name.endswith(".yaml"))


def text_of(name: str) -> str:
    """The file of one. Raises `InvalidInput` where there is none."""
    if name not in bundled():
        raise InvalidInput(f"there is no worker {name!r}: give a file, or one of {', '.join(bundled())}")
    return files(__name__).joinpath(f"{name}.yaml").read_text("utf-8")


@cache
def worker_called(name: str) -> WorkerSpec:
    """One of them. Raises `InvalidInput`."""
    return worker_of(text_of(name), name)
