"""Messages that no member can read: a fleet of processes counts and names them, and an operator looks at them and drops them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import pytest
import redis as client

from hive_mind.bus.codec import ENVELOPE_BYTES_MAX, VERSION
from hive_mind.bus.redis import keys
from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.broker import BrokerSettings
from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.sampled import thorough
from tests.servers.redis_server import RedisServer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

FLEET = manifest_of("""\
  topology: flat
  agents: [{{name: ada}}, {{name: bob}}]
  bus: {bus}
""")
PARTITIONS = 4
Send = Callable[[bytes], None]
FOREIGN = (bytes([VERSION]) + b"no envelope", bytes([VERSION + 1]) + b"of tomorrow", b'{"of": "another program"}')


@contextmanager
def over_redis() -> Iterator[tuple[str, Send]]:
    with RedisServer() as server, client.Redis.from_url(server.url) as to:
        yield f'"{server.url}"', lambda body: cast(None, to.xadd(keys.inbox("harbour", "bob"), {keys.BODY: body}))


@contextmanager
def over_service_bus() -> Iterator[tuple[str, Send]]:
    from azure.servicebus import ServiceBusClient, ServiceBusMessage

    from hive_mind.bus.servicebus.account import subscription_of

    with BrokerThread(settings=BrokerSettings(auto_partitions=PARTITIONS)) as broker, ExitStack() as stack:
        to = stack.enter_context(ServiceBusClient.from_connection_string(broker.connection_string()))

        def send(body: bytes) -> None:
            with to.get_topic_sender("hive", keep_alive=0) as sender:
                target = {"target": subscription_of("harbour", "bob")}
                sender.send_messages(ServiceBusMessage(body, application_properties=target))

        here = f"127.0.0.1:{broker.port}"
        yield f'{{url: "servicebus://{here}/hive", searches: "eventhubs://{here}/searches"}}', send


@contextmanager
def over_event_hubs() -> Iterator[tuple[str, Send]]:
    from azure.eventhub import EventData, EventHubProducerClient

    from hive_mind.bus.eventhubs.clients import Event, pack
    from hive_mind.bus.eventhubs.inbox import partition_of

    with BrokerThread(settings=BrokerSettings(auto_partitions=PARTITIONS)) as broker, ExitStack() as stack:
        to = EventHubProducerClient.from_connection_string(broker.connection_string(), eventhub_name="hive")
        stack.enter_context(to)

        def send(body: bytes) -> None:
            event = EventData(body if body.startswith(b"{") else pack(Event("harbour", body)))
            to.send_event(event, partition_id=str(partition_of("bob", PARTITIONS)))

        here = f"127.0.0.1:{broker.port}"
        yield f'{{url: "eventhubs://{here}/hive", searches: "servicebus://{here}/searches"}}', send


def messages(fleet: HiveMind) -> dict[str, Any]:
    conditions = fleet("status", "-o", "json").json["conditions"]
    return next(cast(dict[str, Any], one) for one in conditions if one["type"] == "Messages")


def set_aside(fleet: HiveMind) -> dict[str, int]:
    """By what is wrong with them, of all nodes."""
    processes = fleet("status", "-o", "json").json["processes"]
    counts = [node["set_aside"] for one in processes for node in one["nodes"]]
    return {what: sum(some.get(what, 0) for some in counts) for some in counts for what in some}


@pytest.mark.parametrize("over", [over_redis, thorough(over_service_bus), over_event_hubs])
def test_what_nobody_can_read_is_counted_shown_and_looked_at_by_the_name_of_the_fleet(
    fleet: HiveMind, over: Callable[[], Any]
) -> None:
    with over() as (bus, send):
        fleet.applies(FLEET.format(bus=bus), fleet.home.parent)
        assert messages(fleet)["status"] == "True"

        too_large = [bytes([VERSION]) * (ENVELOPE_BYTES_MAX + 1)] if over is over_redis else []
        for body in (*FOREIGN, *too_large):
            send(body)

        wait_until(
            lambda: sum(set_aside(fleet).values()) >= len(FOREIGN) + len(too_large), lambda: fleet("status", "-o", "json").out
        )
        counts, condition, table = set_aside(fleet), messages(fleet), fleet("status")
        assert {"unreadable (malformed)", "unreadable (of another version)"} <= counts.keys()
        assert ("unreadable (too large)" in counts) == bool(too_large)
        assert ("unreadable (of another program)" in counts) == (over is over_event_hubs)
        assert (condition["status"], condition["reason"]) == ("False", "SetAside")
        assert "bob set aside 1 unreadable (malformed)" in condition["message"]
        assert "events dlq --fleet" in table.out
        assert (table.code, "Degraded" in table.out) == (1, True)

        # What is of no hive is nobody's letter.
        kept = len(FOREIGN) + len(too_large) - (over is over_event_hubs)
        letters = fleet("events", "dlq", "--fleet", "harbour", "-o", "json").json
        # Names that read the same partition of a hub each have them.
        bobs = [letter["id"] for letter in letters if letter["name"] == "bob"]
        assert len(bobs) == kept
        assert over is over_event_hubs or len(letters) == kept
        shown = fleet("events", "dlq", bobs[0], "--fleet", "harbour")
        assert (shown.code, "bob" in shown.out) == (0, True)
        assert fleet("events", "dlq", "--fleet", "harbour", "--hive", "other").code == 2
        if over is over_redis:
            assert fleet("rollout", "restart").code == 0
            assert (fleet("status").code, messages(fleet)["status"]) == (0, "True")
        assert fleet("delete", "--yes").code == 0
        # Nobody runs any more.
        assert fleet("events", "dlq", "--fleet", "harbour", "-o", "json").json == letters
        assert fleet("events", "dlq", bobs[0], "--fleet", "harbour").out == shown.out
        assert fleet("events", "dlq", "--drop", "--all", "--yes", "--fleet", "harbour").code == 0
        assert fleet("events", "dlq", "--fleet", "harbour", "-o", "json").json == []
