"""Where a hub is, and what errors mean, without a broker. Credentials: `test_azure_credential`.

The bytes of an event.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from azure.eventhub.exceptions import AuthenticationError, ConnectionLostError, EventDataSendError, EventHubError
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus import BusSettings
from hive_mind.bus.address import address_of
from hive_mind.bus.eventhubs.clients import AROUND_BYTES, Event, clients_for, pack, translated, unpack
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable, ConfigError

CLOUD = address_of("eventhubs://bees.servicebus.windows.net/comb")
LOCAL = address_of("eventhubs://127.0.0.1/comb")


def test_a_development_broker_needs_none_and_is_spoken_to_in_plain_text_on_this_machine_only(tmp_path: Path) -> None:
    assert clients_for(LOCAL, BusSettings()).is_plain
    assert clients_for(LOCAL, BusSettings()).port == 5672
    assert not clients_for(LOCAL, BusSettings(certificate=tmp_path)).is_plain
    cloud = clients_for(CLOUD, BusSettings())
    assert (cloud.hub, cloud.port, cloud.group, cloud.is_plain) == ("comb", 5671, "$Default", False)


def test_an_address_without_a_host_is_refused() -> None:
    with pytest.raises(ConfigError, match="eventhubs://NAMESPACE"):
        clients_for(replace(CLOUD, host=""), BusSettings())


def failed(kind: type[EventHubError], condition: str) -> EventHubError:
    error = kind("what happened\nand details")
    error.error = condition
    return error


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (failed(EventDataSendError, "server-busy"), BackendThrottled),
        (failed(EventDataSendError, "unauthorized-access"), BackendRejected),
        (failed(ConnectionLostError, "not-found"), BackendRejected),
        (failed(ConnectionLostError, "resource-limit-exceeded"), BackendRejected),
        (failed(AuthenticationError, "client-error"), BackendRejected),
        (failed(ConnectionLostError, "link:detach-forced"), BackendUnavailable),
        (OSError("no route"), BackendUnavailable),
    ],
)
def test_errors_of_the_sdk_are_ours(error: Exception, ours: type[BackendError]) -> None:
    assert type(translated(error)) is ours
    assert "details" not in str(translated(error))


@given(st.text(max_size=256), st.binary(max_size=300))
def test_what_is_packed_comes_out_as_it_was_and_needs_the_room_that_is_set_aside(hive: str, data: bytes) -> None:
    packed = pack(Event(hive, data))
    assert unpack(packed) == Event(hive, data)
    assert len(packed) - len(data) < AROUND_BYTES


@given(st.binary(max_size=40))
def test_bytes_of_others_are_nothing(data: bytes) -> None:
    assert unpack(data) is None


@given(st.integers(0, 10))
def test_a_frame_that_was_cut_is_nothing(length: int) -> None:
    assert unpack(pack(Event("hive", b"data"))[:length]) is None
