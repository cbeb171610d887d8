"""Whom a Service Bus address and a credential name, and what is refused before anything is sent."""

from pathlib import Path

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings
from hive_mind.bus.servicebus.account import Account, account_of
from hive_mind.errors import ConfigError

LOCAL = "servicebus://127.0.0.1:5672/hive"
CLOUD = "servicebus://bees.servicebus.windows.net"
KEY = "SharedAccessKeyName=worker;SharedAccessKey=c2VjcmV0LWhvbmV5="


def account(url: str, credential: str = "", certificate: Path | None = None) -> Account:
    return account_of(address_of(url), BusSettings(credential=credential, certificate=certificate))


def test_a_development_broker_is_spoken_to_plainly_and_the_cloud_never() -> None:
    local, cloud = account(LOCAL, KEY), account(CLOUD, KEY)

    assert (local.is_encrypted, local.port, local.topic) == (False, 5672, "hive")
    assert (cloud.is_encrypted, cloud.port, cloud.topic) == (True, 5671, "hive")
    assert (local.is_cloud, cloud.is_cloud) == (False, True)


def test_a_certificate_or_a_word_makes_the_own_machine_encrypted_too(tmp_path: Path) -> None:
    assert account(LOCAL, KEY, tmp_path / "certificate.pem").is_encrypted
    assert account(f"{LOCAL}?tls=true", KEY).is_encrypted


def test_a_key_comes_from_a_connection_string_or_from_the_address() -> None:
    for made in (
        account(LOCAL, f"Endpoint=sb://localhost:5672/;{KEY}"),
        account("servicebus://worker:c2VjcmV0LWhvbmV5%3D@[::1]"),
    ):
        assert isinstance(made.credential, AzureNamedKeyCredential)
        assert tuple(made.credential.named_key) == ("worker", "c2VjcmV0LWhvbmV5=")


@pytest.mark.parametrize(
    "given",
    ["SharedAccessSignature sr=x&sig=y", "Endpoint=sb://localhost;SharedAccessSignature=SharedAccessSignature sr=x&sig=y"],
)
def test_a_signature_is_a_credential_too(given: str) -> None:
    made = account(LOCAL, given)

    assert isinstance(made.credential, AzureSasCredential)
    assert made.credential.signature == "SharedAccessSignature sr=x&sig=y"


@pytest.mark.parametrize(
    ("url", "credential", "says"),
    [
        ("servicebus:///hive", KEY, "NAMESPACE"),
        (CLOUD, f"Endpoint=sb://others.servicebus.windows.net/;{KEY}", "others.servicebus.windows.net"),
        (CLOUD, f"Endpoint=sb://127.0.0.1/;{KEY}", "127.0.0.1"),
        ("servicebus://bees.example.org", f"Endpoint=sb://bees.example.org;{KEY};UseDevelopmentEmulator=true", "unencrypted"),
        ("servicebus://bees.example.org?tls=false", KEY, "TLS"),
        (LOCAL, f"Endpoint=sb://127.0.0.1;{KEY};EntityPath=orders", "orders"),
        (LOCAL, "hunter2", "not a connection string"),
    ],
)
def test_what_can_not_be_meant_is_refused_with_the_reason_and_without_the_secret(url: str, credential: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        account(url, credential)

    assert "c2VjcmV0" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_account_does_not_show_its_secret() -> None:
    assert "c2VjcmV0" not in repr(account(LOCAL, KEY))
