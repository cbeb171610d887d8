"""What a Service Bus address names, and what is refused before anything is sent. Credentials: `test_azure_credential`."""

from pathlib import Path

import pytest

from hive_mind.bus import BusSettings
from hive_mind.bus.address import address_of
from hive_mind.bus.servicebus.account import Account, account_of
from hive_mind.errors import ConfigError

LOCAL = "servicebus://127.0.0.1:5672/hive"
KEY = "SharedAccessKeyName=worker;SharedAccessKey=c2VjcmV0LWhvbmV5="


def account(url: str, credential: str = "", certificate: Path | None = None) -> Account:
    return account_of(address_of(url), BusSettings(credential=credential, certificate=certificate))


def test_a_development_broker_is_spoken_to_plainly_without_a_certificate_or_a_word_and_the_cloud_never(tmp_path: Path) -> None:
    local, cloud = account(LOCAL, KEY), account("servicebus://bees.servicebus.windows.net", KEY)
    assert (local.is_encrypted, local.port, local.topic) == (False, 5672, "hive")
    assert (cloud.is_encrypted, cloud.port, cloud.topic) == (True, 5671, "hive")
    assert (local.is_cloud, cloud.is_cloud) == (False, True)
    assert account(LOCAL, KEY, tmp_path / "certificate.pem").is_encrypted
    assert account(f"{LOCAL}?tls=true", KEY).is_encrypted


@pytest.mark.parametrize(
    ("url", "credential", "says"),
    [
        ("servicebus:///hive", KEY, "NAMESPACE"),
        ("servicebus://bees.example.org?tls=false", KEY, "TLS"),
        (LOCAL, f"Endpoint=sb://127.0.0.1;{KEY};EntityPath=orders", "orders"),
    ],
)
def test_what_can_not_be_meant_is_refused_with_the_reason(url: str, credential: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        account(url, credential)
