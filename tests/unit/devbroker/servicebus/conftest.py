"""One broker for all tests of a file, and a client for each test."""

import uuid
from collections.abc import Iterator

import pytest

from hive_mind.devbroker import BrokerThread


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerThread]:
    with BrokerThread() as broker:
        yield broker


@pytest.fixture
def client(broker):
    from tests.unit.devbroker.servicebus.sdk import Handlers  # only where the client's package is installed

    client = Handlers(broker.connection_string())
    yield client
    client.close()


@pytest.fixture
def queue_of(broker):
    """Makes queues with the properties it is given."""

    def make(**properties) -> str:
        name = f"q-{uuid.uuid4().hex[:8]}"
        broker.add_queue(name, **properties)
        return name

    return make
