"""A fleet's own Redis server: it is there when it is needed, keeps what it holds, and lets in nobody else."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL, SIGSTOP
from typing import NamedTuple

import psutil
import pytest

from hive_mind import backends
from hive_mind.control.processes import private_redis
from hive_mind.control.processes.private_redis import RedisFiles
from hive_mind.errors import BackendNotInstalled, BackendRejected, BackendTimeout, BackendUnavailable, ConfigError
from hive_mind.runtime.buses import open_bus
from hive_mind.runtime.process_identity import use_of
from tests.servers.guard import Guard
from tests.servers.redis_server import redis_program

PATIENCE_S = 90.0


class State(NamedTuple):
    """A server as it was found: `pid` is 0 where it does not run, `port` where it never did."""

    pid: int
    port: int
    memory_bytes: int


def state(folder: Path) -> State:
    files = RedisFiles(folder / "redis")
    found = files.running()
    return State(found.pid, files.port, use_of(found).memory_bytes) if found else State(0, files.port, 0)


def password(folder: Path) -> str:
    return RedisFiles(folder / "redis").password.decode()


pytest.importorskip("redis")


class Place:
    """A fleet's folder whose server is gone when the test is, however that ends."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder, self.program = folder, program
        self._guards: dict[int, Guard] = {}

    async def ensure(self) -> int:
        found = await private_redis.ensure(self.folder, program=self.program, timeout_s=PATIENCE_S)
        self.watch()
        return found

    async def stop(self) -> None:
        await private_redis.stop(self.folder, timeout_s=PATIENCE_S)

    async def do(self, *words: str) -> bytes:
        """A command, with the password."""
        reader, writer = await asyncio.open_connection("127.0.0.1", state(self.folder).port)
        writer.write(f"AUTH {password(self.folder)}\r\n{' '.join(words)}\r\n".encode())
        assert await reader.readline() == b"+OK\r\n"
        said = await reader.readline()
        if said.startswith(b"$"):
            said = await reader.readline()
        writer.close()
        return said.strip()

    def kill(self) -> int:
        """As if its power went."""
        pid = state(self.folder).pid
        found = psutil.Process(pid)
        found.kill()
        found.wait(PATIENCE_S)
        return pid

    def watch(self) -> None:
        pid = state(self.folder).pid
        if pid and pid not in self._guards:
            self._guards[pid] = Guard(pid, SIGKILL)

    def close(self) -> None:
        self.watch()
        for guard in self._guards.values():
            guard.release()
        if state(self.folder).pid:
            self.kill()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "fleets" / "town", redis_program())
    yield made
    made.close()


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Somebody else who took the port, and hears what he is told."""
    with socket.create_server(("127.0.0.1", port)) as taken:
        yield taken


async def test_it_is_started_once_answers_with_its_password_and_forgets_nothing_silently(place: Place) -> None:
    assert state(place.folder) == State(0, 0, 0)

    first = await place.ensure()
    pid = state(place.folder).pid

    assert first == state(place.folder).port
    assert await place.do("PING") == b"+PONG"
    assert await place.ensure() == first
    assert state(place.folder).pid == pid
    assert state(place.folder).memory_bytes > 1 << 20
    bus = await open_bus(f"redis://127.0.0.1:{first}", None, password(place.folder))
    assert (bus.capabilities.is_durable, bus.capabilities.survives_restart) == (True, True)
    await bus.close(drain_s=0)

    told = {}
    for name in ("appendonly", "appendfsync", "maxmemory-policy"):
        reader, writer = await asyncio.open_connection("127.0.0.1", first)
        writer.write(f"AUTH {password(place.folder)}\r\nCONFIG GET {name}\r\n".encode())
        told[name] = [await reader.readline() for _ in range(6)][-1].strip()
        writer.close()
    assert told == {"appendonly": b"yes", "appendfsync": b"everysec", "maxmemory-policy": b"noeviction"}


async def test_it_listens_on_this_machine_only_and_keeps_its_password_to_itself(place: Place) -> None:
    await place.ensure()
    secret = password(place.folder)

    process = psutil.Process(state(place.folder).pid)
    assert {one.laddr.ip for one in process.net_connections() if one.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
    assert secret not in f"{process.cmdline()}{process.environ()}"
    folder, files = place.folder / "redis", ("password", "redis.conf", "lock", "server.json", "log")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {name: (folder / name).stat().st_mode & 0o777 for name in files} == dict.fromkeys(files, 0o600)
    reader, writer = await asyncio.open_connection("127.0.0.1", state(place.folder).port)
    writer.write(b"PING\r\n")
    assert b"NOAUTH" in await reader.readline()
    writer.close()


@pytest.mark.parametrize("is_killed", [True, False])
async def test_one_that_was_killed_or_stopped_comes_back_over_its_data_at_the_same_place(place: Place, is_killed: bool) -> None:
    await place.stop()
    config = await place.ensure()
    former = state(place.folder).pid
    assert await place.do("SET", "pump", "red") == b"+OK"

    if is_killed:
        place.kill()
    else:
        await place.stop()
        await place.stop()
    assert state(place.folder) == State(0, state(place.folder).port, 0)

    assert await place.ensure() == config
    assert state(place.folder).pid != former
    assert await place.do("GET", "pump") == b"red"


async def test_where_somebody_took_its_port_it_moves_and_has_another_password(place: Place) -> None:
    port, secret = await place.ensure(), password(place.folder)
    await place.do("SET", "pump", "red")
    await place.stop()

    with listening(port):
        moved = await place.ensure()

    assert port != moved == state(place.folder).port
    assert password(place.folder) != secret
    assert await place.do("GET", "pump") == b"red"


async def test_where_somebody_takes_its_port_at_the_last_moment_it_moves_too(place: Place, monkeypatch: pytest.MonkeyPatch):
    looks = [True]
    look = private_redis._is_free
    monkeypatch.setattr(private_redis, "_is_free", lambda port: looks.pop() if looks else look(port))

    (place.folder / "redis").mkdir(parents=True)
    with listening(0) as taken:
        port = taken.getsockname()[1]
        (place.folder / "redis" / "port").write_text(str(port))
        await place.ensure()

    assert looks == []
    assert state(place.folder).port != port


async def test_one_whose_starter_died_before_it_could_note_it_is_found_again(place: Place) -> None:
    await place.ensure()
    pid = state(place.folder).pid
    (place.folder / "redis" / "server.json").unlink()

    await place.ensure()

    assert state(place.folder).pid == pid
    (place.folder / "redis" / "server.json").unlink()
    await place.stop()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_many_at_once_start_one(place: Place) -> None:
    assert len(set(await asyncio.gather(*(place.ensure() for _ in range(5))))) == 1
    folder = str(place.folder / "redis")
    assert [one.pid for one in psutil.process_iter() if _cwd(one) == folder] == [state(place.folder).pid]


async def test_somebody_who_has_its_number_by_now_is_left_alone(place: Place) -> None:
    await place.ensure()
    place.kill()
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    stranger = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE)
    began = psutil.Process(stranger.pid).create_time()
    (place.folder / "redis" / "server.json").write_text(f"[{stranger.pid},{began - 50.0}]")
    (place.folder / "redis" / "pid").write_text(f"{stranger.pid}\n")

    await place.stop()
    assert state(place.folder).pid == 0
    await place.ensure()

    assert stranger.returncode is None
    assert state(place.folder).pid != stranger.pid
    stranger.kill()
    await stranger.wait()


async def test_one_that_hangs_is_told_and_ended_when_its_time_is_over(place: Place) -> None:
    await place.ensure()
    psutil.Process(state(place.folder).pid).send_signal(SIGSTOP)

    with pytest.raises(BackendTimeout, match="does not answer"):
        await private_redis.ensure(place.folder, program=place.program, timeout_s=0.1)
    await private_redis.stop(place.folder, timeout_s=PATIENCE_S)

    assert state(place.folder).pid == 0


async def test_one_whose_password_is_gone_says_what_to_do(place: Place) -> None:
    await place.ensure()
    (place.folder / "redis" / "password").unlink()

    with pytest.raises(BackendRejected, match="another password"):
        await place.ensure()

    await place.stop()
    await place.ensure()
    assert await place.do("PING") == b"+PONG"


async def test_a_program_that_ends_at_once_is_told_with_its_last_words(place: Place, tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\necho no such luck\nexit 1\n")
    broken.chmod(0o700)
    with pytest.raises(BackendUnavailable, match="no such luck"):
        await private_redis.ensure(place.folder, program=str(broken))


async def test_without_a_server_or_the_extra_one_clear_message_says_what_to_do(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(kind: str, name: str) -> None:
        raise BackendNotInstalled(kind, name, "redis")

    with monkeypatch.context() as patched:
        patched.setenv("PATH", "/nowhere")
        patched.setattr("importlib.util.find_spec", lambda _: None)
        with pytest.raises(ConfigError, match=r"install it .* or raise spec.platform.agentsPerProcess"):
            await private_redis.ensure(place.folder)
    assert not place.folder.exists()
    monkeypatch.setattr(backends, "load", missing)
    with pytest.raises(BackendNotInstalled, match=r"install .*\[redis\]"):
        await private_redis.ensure(place.folder)


def _cwd(one: psutil.Process) -> str:
    try:
        return one.cwd() if one.pid != os.getpid() and one.status() != psutil.STATUS_ZOMBIE else ""
    except psutil.Error:
        return ""


async def test_of_a_folder_that_was_deleted_the_server_is_ended_and_of_another_none(place: Place, tmp_path: Path) -> None:
    await place.ensure()
    pid, other = state(place.folder).pid, tmp_path / "fleets" / "tow"
    private_redis.end_astray(other)
    shutil.rmtree(place.folder)
    assert psutil.Process(pid).is_running()

    private_redis.end_astray(place.folder)
    psutil.Process(pid).wait(PATIENCE_S)
