"""Which credential goes where, and what errors mean, without a broker."""

from dataclasses import replace
from pathlib import Path

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.eventhub.exceptions import AuthenticationError, ConnectionLostError, EventDataSendError, EventHubError
from azure.identity import DefaultAzureCredential

from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings
from hive_mind.bus.eventhubs.clients import clients_for, translated
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable, ConfigError

CLOUD = address_of("eventhubs://bees.servicebus.windows.net/comb")
LOCAL = address_of("eventhubs://127.0.0.1/comb")
STRING = "Endpoint=sb://bees.servicebus.windows.net/;SharedAccessKeyName=all;SharedAccessKey=c2VjcmV0"


def test_without_a_credential_the_cloud_is_asked_who_we_are() -> None:
    clients = clients_for(CLOUD, BusSettings())

    assert isinstance(clients.credential, DefaultAzureCredential)
    assert (clients.hub, clients.port, clients.group, clients.is_plain) == ("comb", 5671, "$Default", False)


def test_a_connection_string_gives_the_key_and_its_name() -> None:
    credential = clients_for(CLOUD, BusSettings(credential=STRING)).credential

    assert isinstance(credential, AzureNamedKeyCredential)
    assert credential.named_key == ("all", "c2VjcmV0")


def test_a_signature_is_taken_as_it_is_or_from_a_connection_string() -> None:
    signature = "SharedAccessSignature sr=bees&sig=x&se=9999999999&skn=all"
    inside = f"Endpoint=sb://bees.servicebus.windows.net/;SharedAccessSignature={signature}"
    for given in (signature, inside):
        credential = clients_for(CLOUD, BusSettings(credential=given)).credential
        assert isinstance(credential, AzureSasCredential)
        assert credential.signature == signature


def test_a_key_may_be_in_the_address() -> None:
    address = address_of("eventhubs://all:c2VjcmV0@bees.servicebus.windows.net/comb")
    credential = clients_for(address, BusSettings()).credential

    assert isinstance(credential, AzureNamedKeyCredential)
    assert credential.named_key == ("all", "c2VjcmV0")


def test_a_development_broker_needs_none_and_is_spoken_to_in_plain_text_on_this_machine_only(tmp_path: Path) -> None:
    assert clients_for(LOCAL, BusSettings()).is_plain
    assert clients_for(LOCAL, BusSettings()).port == 5672
    assert not clients_for(LOCAL, BusSettings(certificate=tmp_path)).is_plain
    development = "Endpoint=sb://127.0.0.1;SharedAccessKeyName=x;SharedAccessKey=eA==;UseDevelopmentEmulator=true"
    with pytest.raises(ConfigError, match="not on this machine"):
        clients_for(CLOUD, BusSettings(credential=development))


@pytest.mark.parametrize(
    "given", [STRING.replace("bees", "wasps"), "Endpoint=sb://;SharedAccessKey=c2VjcmV0", "c2VjcmV0"], ids=str
)
def test_what_can_not_be_meant_is_refused_without_repeating_it(given: str) -> None:
    with pytest.raises(ConfigError) as raised:
        clients_for(CLOUD, BusSettings(credential=given))

    assert "c2VjcmV0" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_secrets_are_not_shown() -> None:
    assert "c2VjcmV0" not in repr(clients_for(CLOUD, BusSettings(credential=STRING)))


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
