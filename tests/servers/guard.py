"""Nothing is left behind by a test that is killed itself."""

import subprocess
from signal import Signals

from tests.servers.children import Child


class Guard:
    """A shell that sends a process a signal as soon as this program is gone, however it ended; until `release`."""

    def __init__(self, pid: int, how: Signals) -> None:
        # Its standard input ends with this program. In a session of its own, because Ctrl-C is not meant for it.
        command = f"read _; kill -{how.value} {pid}"
        self._shell = Child(["sh", "-c", command], stdin=subprocess.PIPE, start_new_session=True)

    def release(self) -> None:
        """Leave the process alone. Before its number can belong to another one."""
        self._shell.kill()
        self._shell.communicate()
