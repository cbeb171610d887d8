"""The folder of a run: results and conversations as files, and the agent's own memory beside them.

A file is whole before the step that names it. Names are plain names in the folder; links are not followed.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hive_mind.agents.runs.agent_memory import AgentMemory, write_whole
from hive_mind.errors import InvalidInput
from hive_mind.replacing import BEGUN, PART
from hive_mind.runs import adapt, pointers

_FILE_BYTES_MAX = 50_000_000


class RunFiles:
    """Of one run. Without a folder nothing is kept, and what is too long for a conversation is cut."""

    def __init__(self, folder: Path | None, memory: Path | None = None, identity: str = "", *, may_remember: bool = True) -> None:
        self.folder, self._may_remember = folder, may_remember
        self._memory = AgentMemory(memory, adapt.seeded(identity)) if memory else None

    def keep_result(self, tool: str, number: int, text: str) -> str:
        """The name of the file that has it now; "" where there is no folder."""
        if self.folder is None or tool in pointers.NEVER_SAVED:
            return ""
        name = pointers.file_of(tool, number)
        self.write(name, text)
        return name

    def write(self, name: str, text: str) -> None:
        """All of it or nothing, durable. Raises `InvalidInput` for a name that leads out of the folder, and `OSError`."""
        if memory := self._memory_if(name):
            memory.replace(text)
            return
        path, body = self._path(name), text.encode("utf-8", "replace")
        if len(body) > _FILE_BYTES_MAX:
            raise InvalidInput(f"{name} would have {len(body):,} bytes: at most {_FILE_BYTES_MAX:,}")
        write_whole(path, body)

    def change(self, name: str, change: Callable[[str], str]) -> None:
        """Replace what a file has by what `change` makes of it, beside other writers. Raises like `read` and `write`."""
        if memory := self._memory_if(name):
            self.adapt()
            memory.edit(change)
        else:
            self.write(name, change(self.read(name)))

    def remove_halves(self) -> None:
        """Remove files that a killed process had not written to their end. Raises `OSError`."""
        for half in self.folder.glob(f"{BEGUN}*{PART}") if self.folder is not None else ():
            half.unlink(missing_ok=True)

    def read(self, name: str) -> str:
        """All of it. Raises `InvalidInput` for a file that is not there, with the names of those that are."""
        if memory := self._memory_if(name):
            self.adapt()
            return _decoded(memory.path)
        path = self._path(name)
        if path.is_symlink() or not path.is_file():
            there = ", ".join((*self.data_files(), *self.conversations())) or "none"
            raise InvalidInput(f"there is no file {name!r}; files: {there}")
        return _decoded(path)

    def data_files(self) -> list[str]:
        """Results and what was saved, in the order of their numbers."""
        names = [name for name in self._names() if not name.startswith("conversation_") and name != adapt.FILE]
        return sorted(names, key=lambda name: (pointers.number_of(name) or 1 << 30, name))

    def conversations(self) -> list[str]:
        """The former conversations, the oldest first."""
        names = [name for name in self._names() if name.startswith("conversation_")]
        return sorted(names, key=lambda name: (len(name), name))

    def adapt(self) -> str:
        """The agent's memory, seeded when it is asked for the first time; "" where there is none."""
        return self._memory.shown(may_seed=self._may_remember) if self._memory else ""

    def remember_outputs(self, outputs: Mapping[str, Any]) -> None:
        """Their lines in the agent's memory, unless somebody wrote there what this program can't write back."""
        if self._memory is not None and self._may_remember:
            self.adapt()
            with suppress(InvalidInput):
                self._memory.change(partial(_with_all, outputs))

    def _memory_if(self, name: str) -> AgentMemory | None:
        if name != adapt.FILE or self._memory is None:
            return None
        if not self._may_remember:
            raise InvalidInput(f"{adapt.FILE} belongs to the agent: a sub-agent reads it only")
        return self._memory

    def _path(self, name: str) -> Path:
        if self.folder is None:
            raise InvalidInput("this run keeps no files")
        if not pointers.is_plain_name(name):
            raise InvalidInput(f"{name!r} is not the plain name of a file in the run's folder")
        return self.folder / name

    def _names(self) -> list[str]:
        if self.folder is None or not self.folder.is_dir():
            return []
        return [one.name for one in self.folder.iterdir() if _is_own(one)]


def _is_own(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.name.startswith(BEGUN)


def _with_all(outputs: Mapping[str, Any], now: str) -> str:
    for key, value in outputs.items():
        now = adapt.with_output(now, key, value)
    return now


def _decoded(path: Path) -> str:
    """With its own line ends: text mode would change them."""
    return path.read_bytes().decode("utf-8", "replace")
