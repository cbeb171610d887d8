"""The deployments, with person, time and reason: `history.jsonl`, one line for each change of the active configuration, never
rewritten.

A line holds the whole configuration, so that the one in use can be had back even if its file was edited or is gone.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import ValidationError

from hive_mind.errors import InvalidInput, Problem, WorkspaceError
from hive_mind.retrieval.files.configuration import RetrievalConfig
from hive_mind.retrieval.files.writing import append_line

What = Literal["deploy", "rollback", "found"]


@dataclass(frozen=True, slots=True)
class Deployment:
    """One change. `found`: it came there some other way than by these commands. `at` is ISO 8601, and no two are the same.

    `figures` are those of the gate, `overruled` what it had against it, `results` names of files in results/.
    """

    at: str
    what: What
    config: str
    by: str
    why: str
    deployed: dict[str, Any]
    forced: bool = False
    former: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    overruled: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    @property
    def configuration(self) -> RetrievalConfig:
        """As it was deployed. Raises `InvalidInput` where this version has no such configurations any more."""
        try:
            return RetrievalConfig.model_validate(self.deployed)
        except ValidationError as error:
            message = f"this version can't read the configuration deployed at {self.at}"
            raise InvalidInput(f"{message} ({str(error).splitlines()[1]}): deploy a file of configs/") from error

    def is_of(self, config: RetrievalConfig) -> bool:
        try:
            return self.configuration == config
        except InvalidInput:
            return False


def read_history(file: Path) -> tuple[Deployment, ...]:
    """Every change, oldest first. Half a line at the end is what a crash left, and nothing.

    Raises `WorkspaceError` for a line that is no entry, `InvalidInput` where the file can't be read.
    """
    if not file.exists():
        return ()
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise InvalidInput(f"{file} can't be read ({error.strerror or error}): make it readable, or take it away") from error
    return tuple(_entry(line, number, file) for number, line in enumerate(lines, 1) if line.strip())


def add(file: Path, entry: Deployment) -> None:
    """Write a change down, durable."""
    append_line(file, encoded(entry))


def encoded(entry: Deployment) -> str:
    return msgspec.json.encode(entry).decode()


def decoded(line: bytes) -> Deployment:
    """The entry of a line. Raises `ValueError`."""
    return msgspec.json.decode(line, type=Deployment)


def in_use(entries: tuple[Deployment, ...]) -> list[Deployment]:
    """The deployments that were not rolled back, oldest first: the last one is in use, a rollback restores the one before it."""
    deployments: list[Deployment] = []
    for entry in entries:
        if entry.what == "rollback" and deployments:
            deployments.pop()
        else:
            deployments.append(entry)
    return deployments


def _entry(line: bytes, number: int, file: Path) -> Deployment:
    try:
        return decoded(line)
    except ValueError as error:
        message = f"is not an entry of the history ({error}); restore it, or remove the line"
        raise WorkspaceError([Problem("history", number, message)], str(file)) from error
