"""Programs that are started here and run on without us: no terminal, nothing to read, a session of their own."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hive_mind.errors import BackendUnavailable


class Child(subprocess.Popen[bytes]):
    """A process meant to outlive its starter, so losing its handle deserves no warning."""

    def __del__(self) -> None:
        """The standard library takes note of the ends of those whom it lost sight of whenever another one begins."""
        # The type stubs do not know of this argument.
        super().__del__(_warn=lambda *_, **__: None)  # type: ignore[call-arg]


def begin(command: Sequence[str], *, sees: Mapping[str, str], where: Path, says: int, holds: Sequence[int] = ()) -> Child:
    """Run it with these variables in a folder. `says` is a descriptor for what it prints, closed here; it inherits `holds`.

    Raises `BackendUnavailable` where it can't be run.
    """
    try:
        return Child(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=says,
            stderr=says,
            env=dict(sees),
            cwd=where,
            start_new_session=True,
            # What it keeps is somebody's memory: for its owner alone, whatever the shell it was started from has set.
            umask=0o077,
            pass_fds=tuple(holds),
        )
    except OSError as error:
        raise BackendUnavailable(command[0], f"it can't be started: {error}") from error
    finally:
        os.close(says)
