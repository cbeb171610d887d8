"""Managing entities: in the cloud through the management API, given the right; elsewhere the broker's operator does it.

The development broker makes subscriptions when they are asked for, Microsoft's emulator has them in its Config.json.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from azure.core.exceptions import AzureError, ResourceExistsError
from azure.servicebus.aio.management import ServiceBusAdministrationClient
from azure.servicebus.management import CorrelationRuleFilter

from hive_mind.bus.servicebus.account import NAME, Account, Missing, short
from hive_mind.bus.servicebus.messages import TARGET, target_of_all
from hive_mind.errors import BackendRejected

_log = logging.getLogger(__name__)

# The longest allowed: fewer renewals, and a crashed receiver delays its messages by no more than this.
_LOCK = timedelta(minutes=5)
# Far more than a subscriber's own `attempts_max`: its dead letters say why, the broker's do not.
_DELIVERIES_MAX = 100
_DEFAULT_RULE = "$Default"

Counts = dict[str, tuple[int | None, int | None]]
"""Numbers of waiting and of dead messages, by subscription."""


class AdminClient:
    """Of one topic."""

    def __init__(self, account: Account) -> None:
        self._account = account

    async def make(self, path: str) -> bool:
        """Make a subscription and its two rules; False where that is not for us to do."""
        if not self._account.is_cloud:
            return False
        topic = self._account.topic
        try:
            async with self._client() as client:
                try:
                    await client.create_subscription(topic, path, lock_duration=_LOCK, max_delivery_count=_DELIVERIES_MAX)
                except ResourceExistsError:
                    return True
                # First the rules, then away with the one that lets everything pass: better too much for a moment than too little.
                for name, target in (("own", path), ("everyone", target_of_all(path))):
                    await client.create_rule(topic, path, name, filter=CorrelationRuleFilter(properties={TARGET: target}))
                await client.delete_rule(topic, path, _DEFAULT_RULE)
        except AzureError as error:
            _log.info("subscription %s could not be made: %s", path, short(error))
            return False
        return True

    async def counts(self) -> Counts:
        """Of all subscriptions; nothing where nobody tells us."""
        if not self._account.is_cloud:
            return {}
        try:
            async with self._client() as client:
                return {
                    str(properties.name): (properties.active_message_count, properties.dead_letter_message_count)
                    async for properties in client.list_subscriptions_runtime_properties(self._account.topic)
                }
        except AzureError as error:
            _log.debug("subscriptions can't be listed: %s", short(error))
            return {}

    def advised(self, error: Missing, path: str = "") -> BackendRejected:
        """An error that says how to make what is missing."""
        topic = self._account.topic
        if not self._account.is_cloud:
            advice = "start the broker as `hive-mind broker --auto-create`, or add it to the broker's Config.json"
        else:
            namespace = self._account.host.partition(".")[0]
            advice = f"az servicebus topic create --namespace-name {namespace} --name {topic} --enable-duplicate-detection"
        rules = ""
        if path:
            rules = (
                f"; the subscription {path!r} needs two correlation rules, {TARGET} = {path!r} and {TARGET} = "
                f"{target_of_all(path)!r}"
            )
            if self._account.is_cloud:
                advice = "give this identity the right Manage (Azure Service Bus Data Owner) and it is made, or make it yourself"
        return BackendRejected(NAME, f"{str(error).removeprefix(f'{NAME}: ')}: {advice}{rules}")

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[ServiceBusAdministrationClient]:
        async with ServiceBusAdministrationClient(self._account.host, self._account.credential) as client:  # type: ignore[arg-type]
            yield client
