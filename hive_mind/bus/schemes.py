"""The buses there are, by the scheme of their URLs: the one place where a back end is registered.

Facts about a bus without importing it, and so without its packages. Addresses, manifests, network policies and help texts derive
theirs from here. The packages of a back end are an extra of its name in pyproject.toml.
"""

from dataclasses import dataclass


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


def known() -> tuple[str, ...]:
    """All that may begin the URL of a bus."""
    return tuple(begin for name, scheme in SCHEMES.items() for begin in (name, scheme.encrypted) if begin)


def backend_of(begin: str) -> str:
    """The back end of what a URL begins with; the same where no bus is called so."""
    return next((name for name, scheme in SCHEMES.items() if scheme.encrypted == begin), begin)


def scheme_of(begin: str) -> BusScheme | None:
    """The bus scheme of a URL that begins so; None where there is none."""
    return SCHEMES.get(backend_of(begin))


def in_words() -> str:
    """As a help names them: "memory:, redis://… or eventhubs://…"."""
    *urls, last = (f"{name}://…" if scheme.has_broker else f"{name}:" for name, scheme in SCHEMES.items())
    return f"{', '.join(urls)} or {last}"
