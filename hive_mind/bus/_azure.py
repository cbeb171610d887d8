"""By what Azure's brokers let somebody in, the same for Service Bus and Event Hubs. No error repeats what is secret."""

from collections.abc import Iterable, Mapping
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

from hive_mind.bus.address import DEVELOPMENT_KEY, BusAddress, is_connection_string, refuse_without_credential
from hive_mind.errors import InvalidInput

_SIGNATURE = "SharedAccessSignature "


def credential_of(address: BusAddress, credential: str, entity: str = "") -> AzureNamedKeyCredential | AzureSasCredential | None:
    """A key or a signature; None: the identity that is signed in. `given` is a signature, a connection string, or the key
    named in the address. Raises `InvalidInput` for an impossible one, such as a connection string for another `entity`."""
    credential = credential.strip()
    if credential.startswith(_SIGNATURE):
        return AzureSasCredential(credential)
    if is_connection_string(credential):
        parts = {
            name.strip().lower(): value.strip() for name, _, value in (part.partition("=") for part in credential.split(";"))
        }
        if parts.get("usedevelopmentemulator", "").lower() == "true" and not address.is_loopback:
            raise InvalidInput(f"{address} is not on this machine: UseDevelopmentEmulator would send facts unencrypted")
        _refuse_elsewhere(address, parts.get("endpoint", ""))
        if entity and parts.get("entitypath", entity) != entity:
            raise InvalidInput(f"the connection string is for the entity {parts['entitypath']!r}, the address names {entity!r}")
        if signature := parts.get("sharedaccesssignature"):
            return AzureSasCredential(signature)
        if (name := parts.get("sharedaccesskeyname")) and (key := parts.get("sharedaccesskey")):
            return AzureNamedKeyCredential(name, key)
        raise InvalidInput("the connection string has no key: it needs SharedAccessKeyName=…;SharedAccessKey=…; copy it again")
    if address.user and (credential or address.password):
        return AzureNamedKeyCredential(address.user, credential or address.password)
    if credential:
        raise InvalidInput(
            "the credential is not a connection string, which has the parts Endpoint=…;SharedAccessKeyName=…;SharedAccessKey=…, "
            "nor a SharedAccessSignature, nor a key whose name is in the address"
        )
    refuse_without_credential(address)
    return AzureNamedKeyCredential(*DEVELOPMENT_KEY) if address.is_loopback else None


def bytes_of(body: Any) -> bytes:
    """The bytes of a message; those of another program may have none, or some value instead."""
    if not isinstance(body, Iterable) or isinstance(body, bytes | str | Mapping):
        return b""
    try:
        return b"".join(body)
    except TypeError:
        return b""


def _refuse_elsewhere(address: BusAddress, endpoint: str) -> None:
    host = endpoint.partition("//")[2].partition("/")[0].rpartition("@")[2]
    its_host = host.partition(":")[0].lower() if not host.startswith("[") else host
    is_here = BusAddress(address.backend, host=its_host).is_loopback and address.is_loopback
    if endpoint and its_host != address.host.lower() and not is_here:
        raise InvalidInput(
            f"the connection string is for {its_host!r}, the address names {address.host!r}: use one of them in both"
        )
