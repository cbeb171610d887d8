"""The address of a bus: a URL such as `redis://127.0.0.1:6379/0`; its scheme names the back end. Here is each scheme there is.

A password in it is kept apart at once, so that an address can be shown to anybody.

The one place where a back end is registered: facts about a bus without importing it, and so without its packages. Manifests,
network policies and help texts derive theirs from here. The packages of a back end are an extra of its name in pyproject.toml.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from hive_mind.errors import InvalidInput
from hive_mind.regex import regex


@dataclass(frozen=True, slots=True)
class BusScheme:
    """A scheme is the name of the module that `backends` loads."""

    example: str
    """A URL as a person writes it."""
    ports: tuple[int, ...] = ()
    """Where its broker is reached unless the URL says otherwise: first that of the messages, which a URL can replace."""
    encrypted: str = ""
    """The scheme of the same over TLS, where the address decides that."""

    @property
    def has_broker(self) -> bool:
        return bool(self.ports)


_TOKENS_AND_MANAGEMENT = 443

SCHEMES = {
    "memory": BusScheme("memory:"),
    "redis": BusScheme("redis://127.0.0.1:6379", (6379,), encrypted="rediss"),
    "servicebus": BusScheme("servicebus://NAMESPACE.servicebus.windows.net/TOPIC", (5671, _TOKENS_AND_MANAGEMENT)),
    "eventhubs": BusScheme("eventhubs://NAMESPACE.servicebus.windows.net/HUB", (5671, _TOKENS_AND_MANAGEMENT)),
}


def schemes() -> tuple[str, ...]:
    return tuple(begin for name, scheme in SCHEMES.items() for begin in (name, scheme.encrypted) if begin)


def backend_of(begin: str) -> str:
    """The back end of what a URL begins with; the same where no bus is called so."""
    return next((name for name, scheme in SCHEMES.items() if scheme.encrypted == begin), begin)


def scheme_of(begin: str) -> BusScheme | None:
    return SCHEMES.get(backend_of(begin))


def in_words() -> str:
    """As a help names them: "memory:, redis://… or eventhubs://…"."""
    *urls, last = (f"{name}://…" if scheme.has_broker else f"{name}:" for name, scheme in SCHEMES.items())
    return f"{', '.join(urls)} or {last}"


# The name and the key that brokers for development are delivered with, Microsoft's and ours. It is printed in their documentation
# and guards nothing, and they take connections from this machine only: so an address there may do without a credential.
DEVELOPMENT_KEY = ("RootManageSharedAccessKey", "SAS_KEY_VALUE")

AZURE = ".servicebus.windows.net"
"""How the hosts of Service Bus and Event Hubs end in the cloud."""

# Characters that end the part of a URL with the password. The rest would be taken for a path, and shown.
_QUOTED = ": in a password write %2F for /, %3F for ?, %23 for # and %40 for @"


@dataclass(frozen=True, slots=True)
class BusAddress:
    """The parts of a URL. `options` are those behind the `?`."""

    backend: str
    host: str = ""
    port: int | None = None
    path: str = ""
    """Without the first slash."""
    user: str = ""
    password: str = field(default="", repr=False)
    is_encrypted: bool = False
    options: tuple[tuple[str, str], ...] = ()

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def option(self, name: str, default: str = "") -> str:
        """The value of an option; of several, the last."""
        return dict(self.options).get(name, default)

    def __str__(self) -> str:
        scheme = SCHEMES[self.backend].encrypted if self.is_encrypted else self.backend
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{scheme}://{host}{port}" + (f"/{self.path}" if self.path else "")


_CONNECTION_STRING = regex(r"\bEndpoint\s*=\s*sb:|\bSharedAccess(?:Key|Signature)\w*\s*=", re.IGNORECASE)

CONNECTION_STRING = (
    "is a connection string, not a URL: put it into HIVE_MIND_BUS_CREDENTIAL (in a manifest: bus.credential, by reference), "
    "and name the bus servicebus://NAMESPACE.servicebus.windows.net/TOPIC or eventhubs://…/HUB"
)


def is_connection_string(text: str) -> bool:
    return _CONNECTION_STRING.search(text) is not None


def address_of(url: str) -> BusAddress:
    """The address a URL names; "memory" alone is one too. Raises `InvalidInput`, which never repeats what may be a secret."""
    if is_connection_string(url):
        raise InvalidInput(f"this {CONNECTION_STRING}")
    try:
        parts = urlsplit(url if ":" in url else f"{url}:")
        port = parts.port
    except ValueError as error:
        raise InvalidInput(
            f"a bus is named by a URL such as redis://127.0.0.1:6379/0; this one can't be read{_QUOTED}"
        ) from error
    if parts.fragment or "@" in parts.path or ("@" in parts.query and "@" not in parts.netloc):
        raise InvalidInput(f"a bus is named by a URL such as redis://127.0.0.1:6379/0; this one is incomplete{_QUOTED}")
    if not parts.scheme:
        raise InvalidInput("a bus is named by a URL such as redis://127.0.0.1:6379/0; this one has no scheme")
    backend = backend_of(parts.scheme)
    return BusAddress(
        backend=backend,
        host=parts.hostname or "",
        port=port,
        path=unquote(parts.path).strip("/"),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        is_encrypted=parts.scheme != backend,
        options=tuple(parse_qsl(parts.query, keep_blank_values=True)),
    )


def refuse_plaintext(address: BusAddress) -> None:
    """Raises `InvalidInput` for an address off this machine that is not encrypted: facts and passwords would be readable."""
    if not (address.is_encrypted or address.is_loopback):
        scheme = SCHEMES[address.backend].encrypted
        raise InvalidInput(f"{address} is not on this machine and not encrypted: use {f'{scheme}://' if scheme else 'TLS'}")


def refuse_without_credential(address: BusAddress) -> None:
    """Raises `InvalidInput` unless it is Azure's own cloud, which knows machines, or a broker on this one."""
    if not (address.host.endswith(AZURE) or address.is_loopback):
        raise InvalidInput(
            f"{address} needs a credential: the connection string of a key, in HIVE_MIND_BUS_CREDENTIAL; "
            "without one only Azure itself can be asked, with the identity that is signed in"
        )
