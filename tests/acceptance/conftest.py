"""What acceptance tests share."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.control.platforms import local
from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.retrieval_example import indexed_example
from tests.servers.forked import begin
from tests.servers.forked_async import installed
from tests.servers.home_guard import HomeGuard
from tests.servers.redis_server import RedisServer, redis_program


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers, agents and servers are copies of a process that has loaded the package."""
    monkeypatch.setattr(local, "begin", begin)
    with installed():
        yield


@pytest.fixture(scope="module")
def module_workers() -> Iterator[None]:
    """The same for the tests of a file that share what they start."""
    with pytest.MonkeyPatch.context() as patch, installed():
        patch.setattr(local, "begin", begin)
        yield


@pytest.fixture
def hive_mind(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / "home")


@pytest.fixture
def guarded(hive_mind: HiveMind, tmp_path: Path) -> Iterator[HiveMind]:
    """One of whose homes no process is left, also where the test is killed: for commands that start some."""
    guard = HomeGuard(tmp_path)
    yield hive_mind
    guard.release()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A file worth learning."""
    file = tmp_path / "notes.txt"
    file.write_text("The ferry to Corrin leaves at nine. Pump D4 cools the transformers. Pump D40 drains the tunnel.\n")
    return file


@pytest.fixture(scope="session")
def retrieval_example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that is indexed. Not to be changed."""
    return indexed_example(tmp_path_factory.mktemp("example") / "home")


@pytest.fixture
def retrieval(hive_mind: HiveMind, retrieval_example: Path) -> HiveMind:
    """A home with a copy of it."""
    shutil.copytree(retrieval_example, hive_mind.home / "retrieval")
    return hive_mind


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def command(guarded: HiveMind) -> HiveMind:
    """For fleets over a server of their own."""
    redis_program()
    return guarded


@pytest.fixture
def fleet(guarded: HiveMind) -> HiveMind:
    """For fleets. Its processes are killed afterwards: one whose broker is gone already would wait for it."""
    return guarded
