"""The folder of a run: results and conversations as files, and the agent's own memory beside them.

A file is whole before the step that names it. Names are plain names in the folder; links are not followed.

`adapt.md` is a file that several write at once: an agent's runs, in this process and in others, and people with an editor.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import Any

from hive_mind.errors import InvalidInput
from hive_mind.file_lock import lock
from hive_mind.private import private_folder
from hive_mind.replacing import BEGUN, PART, replacing, sync_file, write_whole
from hive_mind.runs import files
from hive_mind.runs.files import ADAPT, ADAPT_CHARACTERS_MAX, outputs_in


class AgentMemory:
    """`seed`: what it begins with. Raises `OSError` where the disk fails."""

    def __init__(self, path: Path, seed: str) -> None:
        self.path, self._seed = path, seed
        self._shown: str | None = None
        """All of it, as a prompt had it last."""

    def shown(self, *, may_seed: bool) -> str:
        """The part for a prompt; "" where there is none and none may be made."""
        if may_seed and not self.path.exists():
            self.change(lambda now: now or self._seed)
        if not self.path.exists():
            return ""
        text = _decoded(self.path)
        self._shown = text if len(text) <= ADAPT_CHARACTERS_MAX else None
        return text[:ADAPT_CHARACTERS_MAX]

    def change(self, change: Callable[[str], str]) -> None:
        """Replace its text by what `change` makes of it; asked again where somebody wrote meanwhile. Durable when it returns.

        Raises `InvalidInput` where it is not UTF-8, and what `change` raises; it is then as it was.
        """
        with self._turn():
            while True:
                before = self._bytes()
                try:
                    text = before.decode()
                except UnicodeDecodeError:
                    raise InvalidInput(f"{ADAPT} is not UTF-8; save it as UTF-8") from None
                after = change(text)
                if after == text or self._replaced(before, after.encode("utf-8", "replace")):
                    break
            if self._shown == text:
                self._shown = after

    def replace(self, text: str) -> None:
        """Replace all of it, after reading all of it. Raises `InvalidInput` where somebody wrote since, and as `edit`."""

        def replaced(now: str) -> str:
            if now not in (self._shown, self._seed, ""):
                raise InvalidInput(
                    f"you have not seen all of {ADAPT} as it is now: look at it with load_data, or change a part by edit_data"
                )
            return text

        self.edit(replaced)

    def edit(self, change: Callable[[str], str]) -> None:
        """As `change`, by a run: it adds no outputs, which are its own until it is accepted. Raises `InvalidInput`."""

        def edited(now: str) -> str:
            after = change(now)
            if outputs_in(after) - outputs_in(now):
                raise InvalidInput(f"{ADAPT} has the outputs of runs that were accepted: write what you learned under ## Rules")
            return after

        self.change(edited)

    def _replaced(self, before: bytes, body: bytes) -> bool:
        """False, and the file as it was, where somebody else wrote before this could be there."""
        with suppress(_OthersWroteError), replacing(self.path) as unfinished:
            unfinished.write_bytes(body)
            sync_file(unfinished)
            if self._bytes() != before:
                raise _OthersWroteError
            return True
        return False

    def _bytes(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Alone among the runs of this agent. The system ends it when its holder dies."""
        descriptor = os.open(private_folder(self.path.parent) / f".{self.path.name}.turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(descriptor)
            yield
        finally:
            os.close(descriptor)


class _OthersWroteError(Exception):
    """Meanwhile."""


_FILE_BYTES_MAX = 50_000_000


class RunFiles:
    """Of one run. Without a folder nothing is kept, and what is too long for a conversation is cut."""

    def __init__(self, folder: Path | None, memory: Path | None = None, identity: str = "", *, may_remember: bool = True) -> None:
        self.folder, self._may_remember = folder, may_remember
        self._memory = AgentMemory(memory, files.adapt_seeded(identity)) if memory else None

    def keep_result(self, tool: str, number: int, text: str) -> str:
        """The name of the file that has it now; "" where there is no folder."""
        if self.folder is None or tool in files.NEVER_SAVED:
            return ""
        name = files.file_of(tool, number)
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
            file_names = ", ".join((*self.data_files(), *self.conversations())) or "none"
            raise InvalidInput(f"there is no file {name!r}; files: {file_names}")
        return _decoded(path)

    def data_files(self) -> list[str]:
        """Results and what was saved, in the order of their numbers."""
        names = [name for name in self._names() if not name.startswith("conversation_") and name != ADAPT]
        return sorted(names, key=lambda name: (files.number_of(name) or 1 << 30, name))

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
                self._memory.change(lambda now: reduce(lambda text, pair: files.with_output(text, *pair), outputs.items(), now))

    def _memory_if(self, name: str) -> AgentMemory | None:
        if name != ADAPT or self._memory is None:
            return None
        if not self._may_remember:
            raise InvalidInput(f"{ADAPT} belongs to the agent: a sub-agent reads it only")
        return self._memory

    def _path(self, name: str) -> Path:
        if self.folder is None:
            raise InvalidInput("this run keeps no files")
        if not files.is_plain_name(name):
            raise InvalidInput(f"{name!r} is not the plain name of a file in the run's folder")
        return self.folder / name

    def _names(self) -> list[str]:
        paths = self.folder.iterdir() if self.folder is not None and self.folder.is_dir() else ()
        return [path.name for path in paths if path.is_file() and not path.is_symlink() and not path.name.startswith(BEGUN)]


def _decoded(path: Path) -> str:
    """With its own line ends: text mode would change them."""
    return path.read_bytes().decode("utf-8", "replace")
