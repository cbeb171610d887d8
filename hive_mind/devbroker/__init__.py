"""A broker for development and tests that the clients of Azure Event Hubs and Service Bus take for the real one.

It speaks AMQP 1.0, checks tokens, keeps hubs, queues, topics and subscriptions in memory, and makes faults on demand. It keeps
nothing over a restart. `BrokerThread` is what a test starts; `hive-mind broker` is the same as a command.
"""

from hive_mind.devbroker.amqp.switchboard import Limits
from hive_mind.devbroker.broker import KEY, KEY_NAME, Broker, BrokerSettings
from hive_mind.devbroker.eventhub import Retention
from hive_mind.devbroker.faults import Fault
from hive_mind.devbroker.thread import BrokerThread

__all__ = ["KEY", "KEY_NAME", "Broker", "BrokerSettings", "BrokerThread", "Fault", "Limits", "Retention"]
