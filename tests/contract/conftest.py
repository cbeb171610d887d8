"""Brokers for the tests of buses, started once for a file; and what lives in the loop of a test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.hive.topology.spec import TopologyName
from tests.builders import BagOfWords, Home
from tests.contract.bus_builders import Scenario, harness_of, no_thread_left, opened, run
from tests.contract.buses.base import BaseHarness
from tests.contract.fleets import HOMES, SHARING, Leaping, home_for
from tests.contract.platforms import opened_ground, with_fakes
from tests.contract.redis_builders import buses_of
from tests.loops import InLoop
from tests.servers.redis_server import RedisServer


@pytest.fixture(scope="module", params=backends.known("bus"))
def started_broker(request: pytest.FixtureRequest) -> Iterator[BaseHarness]:
    harness = harness_of(request.param)
    harness.start()
    yield harness
    harness.stop()


@pytest.fixture
def broker(started_broker: BaseHarness) -> Iterator[BaseHarness]:
    yield started_broker
    started_broker.reset()


@pytest.fixture
def world(broker: BaseHarness) -> Iterator[InLoop]:
    """A hive of its own on the broker, which leaves no thread behind."""
    with no_thread_left():
        yield InLoop(lambda: opened(broker))


@pytest.fixture
def with_bus(broker: BaseHarness) -> Callable[[Scenario], None]:
    return lambda scenario: run(scenario, broker)


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return home_for(request.param, tmp_path)


@pytest.fixture(params=SHARING)
def topology(request: pytest.FixtureRequest) -> TopologyName:
    return request.param


@pytest.fixture
def memory(home: Home) -> InLoop:
    """That of an agent, at the home that a file's fixture gives."""
    return InLoop(lambda: home.memory(BagOfWords()))


@pytest.fixture
def ground(tmp_path: Path) -> InLoop:
    return InLoop(lambda: opened_ground(with_fakes(tmp_path / "home")))


@pytest.fixture(scope="module")
def started_redis() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def server(started_redis: RedisServer) -> RedisServer:
    """A Redis server with nothing in it."""
    started_redis.do("FLUSHALL")
    return started_redis


@pytest.fixture
def buses(server: RedisServer) -> InLoop:
    """Over that server."""
    return InLoop(lambda: buses_of(server.url))


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def loop_of_its_own() -> tuple[type[Leaping], float]:
    """For tests that use it: one whose time leaps over every wait; what takes an hour of it fails."""
    return Leaping, 3600.0
