"""Without a credential both Azure buses do the same: a public key here, the machine's identity in the cloud."""

from collections.abc import Callable

import pytest
from azure.core.credentials import AzureNamedKeyCredential

from hive_mind.bus.address import DEVELOPMENT_KEY, address_of
from hive_mind.bus.base import BusSettings
from hive_mind.bus.eventhubs.clients import clients_for
from hive_mind.bus.servicebus.account import account_of
from hive_mind.devbroker.broker import KEY, KEY_NAME
from hive_mind.errors import ConfigError

CREDENTIALS: dict[str, Callable[[str], object]] = {
    "eventhubs": lambda url: clients_for(address_of(url), BusSettings()).credential,
    "servicebus": lambda url: account_of(address_of(url), BusSettings()).credential,
}


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_the_development_broker_on_this_machine_gets_the_key_that_it_prints(kind: str) -> None:
    credential = CREDENTIALS[kind](f"{kind}://127.0.0.1/hive")

    assert isinstance(credential, AzureNamedKeyCredential)
    assert tuple(credential.named_key) == DEVELOPMENT_KEY == (KEY_NAME, KEY)


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_the_cloud_gets_the_identity_of_this_machine(kind: str) -> None:
    assert type(CREDENTIALS[kind](f"{kind}://bees.servicebus.windows.net/hive")).__name__ == "DefaultAzureCredential"


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_broker_elsewhere_is_not_reached_without_one(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"bees\.example\.org.* needs a credential: .*HIVE_MIND_BUS_CREDENTIAL"):
        CREDENTIALS[kind](f"{kind}://bees.example.org/hive")
