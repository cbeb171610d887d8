"""A broker in a thread: start, use, stop, and start again."""

import gc
import socket
import threading

import psutil
import pytest

from hive_mind.devbroker import BrokerSettings, BrokerThread
from hive_mind.devbroker.amqp.connection import AMQP_HEADER
from hive_mind.devbroker.amqp.entity import Message
from hive_mind.errors import InvalidInput
from tests.unit.devbroker.hostility import reading
from tests.unit.devbroker.values import section
from tests.waiting import wait_until


def connected(broker) -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", broker.port), timeout=5)
    wire.sendall(AMQP_HEADER)
    assert wire.recv(8) == AMQP_HEADER
    return wire


def is_reset_or_over(wire) -> bool:
    try:
        return not wire.recv(1)
    except ConnectionResetError:
        return True


def is_stuck(broker) -> bool:
    """Whether the client has stopped reading, so that the broker can't write."""
    return any(connection._output._is_paused for connection in broker._connections)


def test_fifty_starts_and_stops_leave_no_thread_and_no_file():
    process = psutil.Process()
    with BrokerThread():
        pass
    files, threads = process.num_fds(), threading.active_count()
    for _ in range(50):
        with BrokerThread() as broker:
            wire = connected(broker)
        wire.close()

    # Whoever else of this process was about to let go of something may need a moment.
    def nothing_is_left() -> bool:
        gc.collect()
        return process.num_fds() <= files and threading.active_count() <= threads

    wait_until(nothing_is_left)


def test_a_stopped_broker_ends_its_connections_and_its_port():
    with BrokerThread() as broker:
        wire = connected(broker)
    with wire:
        while wire.recv(1000):
            pass
    with pytest.raises(ConnectionRefusedError):
        connected(broker)


def test_a_client_that_does_not_read_does_not_keep_a_broker_from_stopping():
    with BrokerThread(settings=BrokerSettings(needs_token=False)) as broker:
        broker.add_hub("hub", 1)
        partition = broker.broker.entities.find("hub").partitions[0]
        for _ in range(50):
            broker.call(partition.append, Message(body=section(0x75, b"x" * 900_000)), None, 0.0)
        wire = connected(broker)
        wire.sendall(b"".join(reading("hub/ConsumerGroups/$Default/Partitions/0")))
        wait_until(lambda: broker.call(is_stuck, broker.broker))
        broker.stop()
        assert broker.broker.connections == 0
    wire.close()


def test_a_killed_broker_says_nothing():
    broker = BrokerThread()
    broker.start()
    with connected(broker) as wire:
        broker.stop(is_graceful=False)
        assert is_reset_or_over(wire)
    broker.stop()


def test_a_broker_starts_again_at_its_port_with_nothing_kept():
    broker = BrokerThread({"NamespaceConfig": [{"Name": "ns", "Entities": [{"Name": "from-config"}]}]})
    with broker:
        broker.add_hub("added")
        port = broker.port
    with broker:
        assert broker.port == port
        assert broker.broker.entities.find("from-config") is not None
        assert broker.broker.entities.find("added") is None


def test_connections_can_be_cut():
    with BrokerThread() as broker:
        wires = [connected(broker) for _ in range(3)]
        assert broker.drop_connections() == 3
        for wire in wires:
            assert is_reset_or_over(wire)
            wire.close()
        assert broker.stats()["connections"] == 3


def test_a_port_that_is_taken_and_a_wrong_configuration_are_told_to_who_starts():
    with BrokerThread() as broker, pytest.raises(OSError, match="in use"):
        BrokerThread(port=broker.port).start()
    with pytest.raises(InvalidInput, match="Colour"):
        BrokerThread({"UserConfig": {"Colour": "red"}}).start()


def test_errors_in_calls_reach_the_caller():
    with BrokerThread() as broker:
        broker.add_topic("news")
        broker.add_subscription("news", "ada", LockDuration="PT5S")
        broker.add_queue("jobs", MaxDeliveryCount=3)
        with pytest.raises(InvalidInput):
            broker.add_queue("jobs")
        with pytest.raises(InvalidInput):
            broker.inject("send", "*", "explode")


def test_the_connection_string_leads_to_the_broker():
    with BrokerThread(settings=BrokerSettings(key_name="name", key="secret")) as broker:
        expected = f"Endpoint=sb://127.0.0.1:{broker.port};SharedAccessKeyName=name;SharedAccessKey=secret;"

        assert broker.connection_string("hub") == expected + "UseDevelopmentEmulator=true;EntityPath=hub;"
        assert broker.connection_string(is_emulator=False) == expected


def test_the_key_is_not_shown():
    assert "secret" not in repr(BrokerSettings(key="secret", jwt="secret"))
