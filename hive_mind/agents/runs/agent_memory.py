"""An agent's `adapt.md` as a file that several write at once: its runs, in this process and in others, and people with an editor.

Runs take turns by a lock beside it. An editor knows no lock, so what is read is compared once more before it is replaced, and
a writer that replaces all of it must have read all of it: otherwise a note of a person would be gone without a word.

Files that are there as a whole or not at all, whatever is killed and however full the disk is.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.file_lock import lock
from hive_mind.private import private_folder
from hive_mind.replacing import replacing, sync_file
from hive_mind.runs.adapt import CHARACTERS_MAX, FILE, outputs_in


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
        # With its own line ends: text mode would change them.
        text = self.path.read_bytes().decode("utf-8", "replace")
        self._shown = text if len(text) <= CHARACTERS_MAX else None
        return text[:CHARACTERS_MAX]

    def change(self, change: Callable[[str], str]) -> None:
        """Replace its text by what `change` makes of it; asked again where somebody wrote meanwhile. Durable when it returns.

        Raises `InvalidInput` where it is not UTF-8, and what `change` raises; it is then as it was.
        """
        with self._turn():
            while True:
                before = self._bytes()
                text = _strictly(before)
                after = change(text)
                if after == text or write_whole(self.path, after.encode("utf-8", "replace"), self._is_still(before)):
                    break
            if self._shown == text:
                self._shown = after

    def replace(self, text: str) -> None:
        """Replace all of it, after reading all of it. Raises `InvalidInput` where somebody wrote since, and as `edit`."""

        def replaced(now: str) -> str:
            if now not in (self._shown, self._seed, ""):
                raise InvalidInput(
                    f"you have not seen all of {FILE} as it is now: look at it with load_data, or change a part by edit_data"
                )
            return text

        self.edit(replaced)

    def edit(self, change: Callable[[str], str]) -> None:
        """As `change`, by a run: it adds no outputs, which are its own until it is accepted. Raises `InvalidInput`."""

        def edited(now: str) -> str:
            after = change(now)
            if outputs_in(after) - outputs_in(now):
                raise InvalidInput(f"{FILE} has the outputs of runs that were accepted: write what you learned under ## Rules")
            return after

        self.change(edited)

    def _is_still(self, before: bytes) -> Callable[[], bool]:
        return lambda: self._bytes() == before

    def _bytes(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Alone among the runs of this agent. The system ends it when its holder dies."""
        descriptor = os.open(private_folder(self.path.parent) / f".{self.path.name}.turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                lock(descriptor)
            yield
        finally:
            os.close(descriptor)


def _strictly(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{FILE} is not UTF-8; save it as UTF-8") from None


def write_whole(path: Path, body: bytes, is_wanted: Callable[[], bool] = lambda: True) -> bool:
    """Durable when it returns. False, and the file as it was, where it is not wanted any more once it could be there.

    Raises `OSError`.
    """
    private_folder(path.parent)
    try:
        with replacing(path) as unfinished:
            unfinished.write_bytes(body)
            sync_file(unfinished)
            if not is_wanted():
                raise _UnwantedError
    except _UnwantedError:
        return False
    return True


class _UnwantedError(Exception):
    """Somebody else wrote meanwhile."""
