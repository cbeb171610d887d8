"""Programs in processes that begin as copies of one that has loaded the package: to start Python and to load it takes a second.

`Forked` is used like `subprocess.Popen`, `run` like `subprocess.run`, `begin` like that of `control.processes.children`, and
`forked_async` has what asyncio has. A copy starts its own workers in the same way. A test of how Python starts, or of the
environment that the system shows of a process, takes those instead. As a program, `python -m tests.servers.forked` is copied.
"""

import atexit
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.servers.children import Child, lasting

_ROOT = Path(__file__).parents[2]
_LOADED = (
    *("hive_mind.public", "hive_mind.cli.app", "hive_mind.cli.agent", "hive_mind.runtime.workers.process", "pydantic"),
    *("hive_mind.control.platforms.local", "tests.servers.forked_async", "hive_mind.console.app", "hive_mind.bus.redis"),
    *("hive_mind.cli.fleet", "hive_mind.control.controller"),
    *(f"hive_mind.{kind}.{name}" for kind in ("store", "journal", "ledger") for name in ("memory", "sqlite")),
    *("hive_mind.embed.none", "hive_mind.ann.quantised"),
)
# What takes as long again, and few need: by a word of the command line, or a variable.
_LOADED_LATER = {
    "mcp": "hive_mind.mcp.server",
    "tests.servers.mcp_server": "mcp.server",
    "HIVE_MIND_BUS_CREDENTIAL": "hive_mind.bus.servicebus",
    "HIVE_MIND_SEARCHES_CREDENTIAL": "hive_mind.bus.eventhubs",
    **dict.fromkeys(("run", "agent", "HIVE_MIND_LLM"), "hive_mind.llm.providers"),
}
_REQUEST_BYTES_MAX = 1 << 20
_END = b"end"
_STARTING = threading.Lock()
_BEGUN: list[tuple[socket.socket, int]] = []
_BLOCKS: list[None] = []
_BEFORE: list[Any] = []
_SEEN: set[str] = set()
"""Modules that were run as programs."""
_SHOWN_MAX = 2000
"""Room for the arguments that the system shows of a copy."""


class Forked(Child):
    """A process that runs `python …`: -m MODULE, -c CODE, or a file, and arguments."""

    def _execute_child(self, args: Sequence[object], *given: Any) -> None:
        """What the standard library does by `exec`."""
        folder, environment, pipes = given[4] or Path.cwd(), given[5] or os.environ, given[9:15]
        streams = [theirs if theirs >= 0 else own for own, theirs in enumerate((pipes[0], pipes[3], pipes[5]))]
        is_session, umask = given[20], given[19]
        request = json.dumps([list(map(str, args)), str(folder), dict(environment), is_session, umask])
        ours, status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A descriptor: a process that is lost sight of may keep it to our end, which a socket would warn of.
        self.status = ours.detach()
        with status:
            with _STARTING:
                requests = _template()
            socket.send_fds(requests, [request.encode()], [*streams, status.fileno(), requests.fileno()])
        self._close_pipe_fds(*pipes)
        self.pid = int(os.read(self.status, 16))
        self._child_created = True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self.status], [], [], 0)[0]:
            return 0, 0
        try:
            return self.pid, int(os.read(self.status, 16) or signal.SIGKILL.value)
        finally:
            os.close(self.status)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                ended, status = self._try_wait(os.WNOHANG)
                if ended:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


class _Outliving(Forked):
    def __del__(self) -> None:
        """That it is lost sight of deserves no warning."""
        super().__del__(_warn=lambda *_, **__: None)  # type: ignore[call-arg]


def begin(command: Sequence[str], *, sees: Mapping[str, str], where: Path, says: int) -> Forked:
    """A program that runs on without us."""
    how = {"stdin": subprocess.DEVNULL, "stdout": says, "stderr": says, "start_new_session": True, "umask": 0o077}
    try:
        return _Outliving(command, env=sees, cwd=where, **how)
    finally:
        os.close(says)


@contextmanager
def workers_as_copies() -> Iterator[None]:
    """Workers that this process starts meanwhile begin as copies. Blocks may overlap: the last one puts back what there was."""
    local: Any = import_module("hive_mind.control.platforms.local")
    if not _BLOCKS:
        _BEFORE.append(local.begin)
        local.begin = begin
    _BLOCKS.append(None)
    try:
        yield
    finally:
        _BLOCKS.pop()
        if not _BLOCKS:
            local.begin = _BEFORE.pop()


def run(command: Sequence[object], timeout: float, *, check: bool = False, **how: Any) -> "subprocess.CompletedProcess[Any]":
    """What it printed and how it ended."""
    with Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
    ended = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        ended.check_returncode()
    return ended


def stop() -> None:
    """Wait for the process that was copied and all of its copies, so that what they used of the processor is known."""
    if _BEGUN:
        requests, pid = _BEGUN.pop()
        # Not by closing: copies that still run have this end, too.
        requests.send(_END)
        requests.close()
        os.waitpid(pid, 0)


def _template() -> socket.socket:
    """Where requests go, to a process that ends when this one and all copies have ended. A copy got it with its request."""
    if not _BEGUN:
        _BEGUN.append(_begun())
    return _BEGUN[0][0]


def _begun() -> tuple[socket.socket, int]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        os.set_inheritable(theirs.fileno(), True)
        words = [sys.executable, "-P", "-m", "tests.servers.forked", str(theirs.fileno()), " " * _SHOWN_MAX]
        # The system shows this environment of every copy, also in other tests: so without settings and secrets of this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HIVE_MIND_")}
        # In a group of its own, because Ctrl-C is not meant for it.
        pid = os.posix_spawn(sys.executable, words, environment | {"PYTHONPATH": str(_ROOT)}, setpgroup=0)
    lasting(pid)
    return ours, pid


def _copied(requests: socket.socket) -> list[str]:
    """Only in a copy this returns, with the words of its command line. Beside each is a process that waits for its end."""
    signal.signal(signal.SIGCHLD, _take_note)
    while True:
        request, given, *_ = socket.recv_fds(requests, _REQUEST_BYTES_MAX, 5)
        if request in (b"", _END):
            os._exit(0)
        words, *rest = json.loads(request)
        _load(name for word, name in _LOADED_LATER.items() if word in (*words, *rest[1]))
        _load_what_it_imports(words)
        if os.fork() == 0:
            break
        for descriptor in given:
            os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    requests.close()
    status, template = (socket.socket(fileno=one) for one in given[3:])
    if copy := os.fork():
        template.close()
        _await(copy, status, given[:3])
    os.set_inheritable(template.fileno(), False)
    _BEGUN.append((template, 0))
    _take_place(words, given[:3], *rest)
    # In a group of its own by now, if it is to be.
    with status:
        status.send(str(os.getpid()).encode())
    return list(words[1:])


def _await(copy: int, status: socket.socket, streams: list[int]) -> None:
    for stream in streams:
        os.close(stream)
    ended = os.waitpid(copy, 0)[1]
    # Nobody need be there any more.
    with suppress(OSError):
        status.send(str(ended).encode())
    os._exit(0)


def _take_place(
    words: list[str], streams: list[int], folder: str, environment: dict[str, str], is_session: bool, umask: int
) -> None:
    """Be what the system sees of the program."""
    for own, stream in enumerate(streams):
        os.dup2(stream, own)
        os.close(stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    _show(words)
    if is_session:
        os.setsid()
    if umask >= 0:
        os.umask(umask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


def _take_note(*_: object) -> None:
    """Those that waited have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _show(words: list[str]) -> None:
    """Have the system show these arguments, as `setproctitle` does: in their place, and the last byte is not zero."""
    if sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    begins, ends = int(fields[45]), int(fields[46])
    shown = os.fsencode(" ".join(words))[: ends - begins - 2]
    ctypes.memmove(begins, shown.ljust(ends - begins - 1, b"\0") + b".", ends - begins)


def _be(words: list[str]) -> None:
    """What Python does with its command line. The workers and agents that it starts are copies as well."""
    import_module("hive_mind.control.platforms.local").begin = begin  # type: ignore[attr-defined]
    import_module("tests.servers.forked_async").install()
    while (option := words.pop(0)) in ("-P", "-W"):
        if option == "-W":
            warnings.simplefilter(words.pop(0))  # type: ignore[arg-type]
    if option == "-m":
        sys.argv = list(words)
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        sys.argv = ["-c", *words[1:]]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(words[0], "<string>", "exec"), main.__dict__)  # noqa: S102 - it is the test's
    else:
        sys.argv = [option, *words]
        runpy.run_path(option, run_name="__main__")


def _end(words: list[str]) -> None:
    """Be it, and do all that Python does at the end but for taking apart what is loaded: a tenth of a second of the processor."""
    code: str | int | None = 0
    try:
        _be(words)
    except SystemExit as end:
        code = end.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    # What can't be written is Python's to say.
    with suppress(OSError, ValueError):
        if code is None or isinstance(code, int):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit((code or 0) & 0xFF)
    sys.exit(code)


def _load(modules: Iterable[str]) -> None:
    """Those that can be: a back end may need a package that is not installed."""
    for name in modules:
        if name not in sys.modules:
            with suppress(ModuleNotFoundError):
                import_module(name)
    gc.collect()
    gc.freeze()


def _load_what_it_imports(words: list[str]) -> None:
    """A module that is run as a program is no import of anybody, so it is not left here itself."""
    if "-m" in words[:3] and (name := words[words.index("-m") + 1]) not in _SEEN and name.startswith(("hive_mind.", "tests.")):
        _SEEN.add(name)
        _load([name])
        sys.modules.pop(name, None)


def _compile() -> None:
    """The expressions of all that is loaded, which each copy would otherwise compile for itself."""
    gc.unfreeze()
    for one in gc.get_objects():
        if type(one).__name__ == "_Uncompiled":
            one.pattern  # noqa: B018 - this compiles it
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    # There is one of it, also in a program that begins others.
    sys.modules["tests.servers.forked"] = sys.modules["__main__"]
    _load(_LOADED)
    _compile()
    _end(_copied(socket.socket(fileno=int(sys.argv[1]))))
