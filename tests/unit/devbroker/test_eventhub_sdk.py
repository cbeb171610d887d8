"""The real azure-eventhub clients against the broker, unchanged but for how often they look whether a link is open.

`tests/contract` tries wrong credentials, missing hubs, throttling, sends in doubt and cut connections with them.
"""

import gc
import ssl
import threading
import time
import uuid
from collections.abc import Iterator

import pytest

from hive_mind.devbroker import BrokerSettings, BrokerThread

pytest.importorskip("azure.eventhub")

from azure.core.credentials import AccessToken
from azure.eventhub import EventData, EventHubConsumerClient, EventHubProducerClient, TransportType
from azure.eventhub.exceptions import AuthenticationError

from tests.servers.azure_pace import hasten
from tests.servers.certificates import make_certificates

WAIT_S = 20

hasten()

# The clients leave the socket of a connection that was cut to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerThread]:
    with BrokerThread() as running:
        yield running


@pytest.fixture
def hub(broker) -> str:
    name = f"hub-{uuid.uuid4().hex[:8]}"
    broker.add_hub(name, 4)
    return name


def producer(broker, hub, **options) -> EventHubProducerClient:
    options = {"retry_backoff_factor": 0.05} | options
    return EventHubProducerClient.from_connection_string(broker.connection_string(), eventhub_name=hub, **options)


def received(broker, hub, count, partition, position="-1", **options) -> list[EventData]:
    """At least so many events of a partition."""
    events, is_enough = [], threading.Event()
    client = EventHubConsumerClient.from_connection_string(broker.connection_string(), "$Default", eventhub_name=hub)

    def on_event(_, event):
        events.append(event)
        if len(events) >= count:
            is_enough.set()

    named = {"partition_id": partition, "starting_position": position, "prefetch": 1, **options}
    thread = threading.Thread(target=client.receive, args=(on_event,), kwargs=named)
    thread.start()
    try:
        assert is_enough.wait(WAIT_S), f"{len(events)} of {count} events came"
    finally:
        client.close()
        thread.join(WAIT_S)
    assert not thread.is_alive()
    return events


def test_events_come_in_order_with_everything_their_sender_gave_them(broker, hub):
    with producer(broker, hub) as client:
        for number in range(20):
            event = EventData(f"event {number}")
            event.correlation_id, event.message_id = f"c{number}", f"m{number}"
            event.properties = {"kind": "question", "number": number}
            client.send_event(event, partition_id="2")
        place = client.get_partition_properties("2")
        assert client.get_eventhub_properties()["partition_ids"] == ["0", "1", "2", "3"]

    events = received(broker, hub, 20, "2")

    assert [event.body_as_str() for event in events] == [f"event {number}" for number in range(20)]
    assert [event.sequence_number for event in events] == list(range(20))
    assert (events[3].correlation_id, events[3].message_id) == ("c3", "m3")
    assert events[3].properties == {b"kind": b"question", b"number": 3}
    assert place["last_enqueued_sequence_number"] == 19
    assert str(place["last_enqueued_offset"]) == str(events[-1].offset)


def test_large_batches_arrive_whole(broker, hub):
    with producer(broker, hub) as client:
        batch = client.create_batch(partition_id="1")
        for number in range(9):
            batch.add(EventData(bytes([number]) * 100_000))
        client.send_batch(batch)

    events = received(broker, hub, 9, "1")
    assert [next(event.body) for event in events] == [bytes([number]) * 100_000 for number in range(9)]


class Credential:
    """What azure-identity gives, without asking anybody."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_token(self, *_scopes, **_options) -> AccessToken:
        return AccessToken(self._token, int(time.time()) + 3600)


def test_over_tls_with_a_credential_the_way_is_that_of_production(tmp_path):
    made = make_certificates(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.certificate, made.key)
    with BrokerThread(tls=context, settings=BrokerSettings(jwt="header.body.signature")) as broker:
        broker.add_hub("hub", 2)
        named = {
            "fully_qualified_namespace": "127.0.0.1",
            "custom_endpoint_address": f"sb://127.0.0.1:{broker.port}",
            "transport_type": TransportType.Amqp,
            "connection_verify": str(made.certificate),
        }
        with EventHubProducerClient(eventhub_name="hub", credential=Credential("header.body.signature"), **named) as client:
            client.send_event(EventData("x"), partition_id="0")
            assert client.get_partition_properties("0")["last_enqueued_sequence_number"] == 0
        refused = EventHubProducerClient(eventhub_name="hub", credential=Credential("header.body.other"), retry_total=0, **named)
        with refused, pytest.raises(AuthenticationError):
            refused.send_event(EventData("x"))
