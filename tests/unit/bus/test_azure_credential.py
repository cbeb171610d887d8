"""What both Azure buses take for a credential, and what they refuse before anything is sent."""

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

from hive_mind.bus import BusSettings
from hive_mind.bus.address import DEVELOPMENT_KEY, address_of
from hive_mind.bus.eventhubs.clients import clients_for
from hive_mind.bus.servicebus.account import account_of
from hive_mind.devbroker.broker import KEY, KEY_NAME
from hive_mind.errors import ConfigError

BUSES: dict[str, Callable[..., Any]] = {"eventhubs": clients_for, "servicebus": account_of}

CLOUD = "bees.servicebus.windows.net"
SHARED = "c2VjcmV0LWhvbmV5="
NAMED = f"SharedAccessKeyName=worker;SharedAccessKey={SHARED}"
SIGNATURE = "SharedAccessSignature sr=x&sig=y"


@pytest.fixture(params=BUSES)
def credential(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """What is made of an address without its scheme, and of a credential."""
    kind = request.param

    def made(where: str, given: str = "") -> Any:
        whole = BUSES[kind](address_of(f"{kind}://{where}"), BusSettings(credential=given))
        assert SHARED not in repr(whole)
        return whole.credential

    return made


@pytest.mark.parametrize(
    ("where", "given"),
    [
        (CLOUD, f"Endpoint=sb://{CLOUD}/;{NAMED}"),
        ("127.0.0.1:5672/hive", f" Endpoint=sb://localhost:5672/;{NAMED}\n"),
        ("worker:c2VjcmV0LWhvbmV5%3D@[::1]", ""),
        (f"worker@{CLOUD}", SHARED),
    ],
)
def test_a_key_is_in_a_connection_string_or_named_in_the_address(credential: Callable[..., Any], where: str, given: str) -> None:
    made = credential(where, given)
    assert isinstance(made, AzureNamedKeyCredential)
    assert tuple(made.named_key) == ("worker", SHARED)


@pytest.mark.parametrize("given", [SIGNATURE, f"Endpoint=sb://{CLOUD};SharedAccessSignature={SIGNATURE}"])
def test_a_signature_is_a_credential_too(credential: Callable[..., Any], given: str) -> None:
    made = credential(CLOUD, given)
    assert isinstance(made, AzureSasCredential)
    assert made.signature == SIGNATURE


@pytest.mark.parametrize(
    ("where", "given", "says"),
    [
        (CLOUD, f"Endpoint=sb://others.servicebus.windows.net/;{NAMED}", "others.servicebus.windows.net"),
        (CLOUD, f"Endpoint=sb://127.0.0.1/;{NAMED}", "127.0.0.1"),
        (CLOUD, f"Endpoint=sb://127.0.0.1/;{NAMED};UseDevelopmentEmulator=true", "not on this machine"),
        ("bees.example.org", f"Endpoint=sb://bees.example.org;{NAMED};UseDevelopmentEmulator=true", "unencrypted"),
        (CLOUD, f"Endpoint=sb://{CLOUD};SharedAccessKey={SHARED}", "no key"),
        (CLOUD, SHARED, "not a connection string"),
        ("bees.example.org/hive", "", r"bees\.example\.org.* needs a credential: .*HIVE_MIND_BUS_CREDENTIAL"),
    ],
)
def test_what_can_not_be_meant_is_refused_with_the_reason_and_without_the_secret(
    credential: Callable[..., Any], where: str, given: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        credential(where, given)
    assert SHARED not in str(caught.value)
    assert caught.value.__cause__ is None


def test_without_one_the_development_broker_gets_the_key_that_it_prints_and_the_cloud_the_identity_of_this_machine(
    credential: Callable[..., Any],
) -> None:
    assert tuple(credential("127.0.0.1/hive").named_key) == DEVELOPMENT_KEY == (KEY_NAME, KEY)
    assert type(credential(f"{CLOUD}/hive")).__name__ == "DefaultAzureCredential"
