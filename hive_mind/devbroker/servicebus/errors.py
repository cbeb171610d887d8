"""The errors of Service Bus, in the service's words where its SDKs depend on them."""

from hive_mind.devbroker.amqp.error import NOT_ALLOWED, RESOURCE_LIMIT, AmqpError

ARGUMENT = "com.microsoft:argument-error"


def message_lock_lost() -> AmqpError:
    """The token locks nothing, or no longer."""
    return AmqpError("com.microsoft:message-lock-lost", "the lock expired, or the message was settled already; receive it again")


def quota_reached(what: str) -> AmqpError:
    """The sender has to wait until receivers made room."""
    return AmqpError(RESOURCE_LIMIT, f"com.microsoft:quota-exceeded: {what}; receive messages, also dead ones, to make room")


def wrong_argument(what: str) -> AmqpError:
    """A request or a message that can't be taken as it is."""
    return AmqpError(ARGUMENT, what)


def not_allowed(what: str) -> AmqpError:
    """A request that does not go with this kind of entity."""
    return AmqpError(NOT_ALLOWED, what)
