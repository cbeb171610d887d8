"""What the SDK's errors mean to us, and what to do about them. Texts of the SDK are shortened: they repeat whole frames."""

from azure.servicebus import exceptions as sdk

from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendTimeout, BackendUnavailable

NAME = "servicebus"

# The service does not say how long; its documentation advises to wait at least this long.
_BUSY_RETRY_S = 10.0
_TEXT_CHARS_MAX = 200


class Missing(BackendRejected):
    """An entity that is not there."""


def translated(error: BaseException, where: str) -> BackendError:
    """`where` says what was tried, such as "topic 'hive'"."""
    match error:
        case BackendError():
            return error
        case sdk.ServiceBusServerBusyError():
            return BackendThrottled(NAME, f"{where}: the namespace is busy; send less, or later", _BUSY_RETRY_S)
        case sdk.ServiceBusQuotaExceededError():
            return BackendThrottled(NAME, f"{where} is full: let its subscriptions be read, or give it more room")
        case sdk.MessageSizeExceededError():
            return BackendRejected(NAME, f"{where} does not accept messages of this size")
        case sdk.ServiceBusAuthenticationError() | sdk.ServiceBusAuthorizationError():
            return BackendRejected(
                NAME, f"{where}: access denied; check the key's name, the key, and that it has the rights Send and Listen"
            )
        case sdk.MessagingEntityNotFoundError():
            return Missing(NAME, f"{where} does not exist")
        case sdk.MessagingEntityDisabledError():
            return BackendRejected(NAME, f"{where} is disabled; enable it")
        case sdk.OperationTimeoutError() | TimeoutError():
            return BackendTimeout(NAME, f"{where}: no answer in time")
        case _:
            return BackendUnavailable(NAME, f"{where}: {short(error)}")


def short(error: BaseException) -> str:
    """One line of an error."""
    return (" ".join(str(error).split()) or type(error).__name__)[:_TEXT_CHARS_MAX]
