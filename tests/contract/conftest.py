"""Brokers for the tests of buses, started once for a file."""

from collections.abc import Callable, Iterator

import pytest

from hive_mind import backends
from tests.contract.bus_builders import Scenario, harness_of, run
from tests.contract.buses.base import BaseHarness
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
def with_bus(broker: BaseHarness) -> Callable[[Scenario], None]:
    return lambda scenario: run(scenario, broker)


@pytest.fixture(scope="module")
def started_redis() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def server(started_redis: RedisServer) -> RedisServer:
    """A Redis server with nothing in it."""
    started_redis.do("FLUSHALL")
    return started_redis
