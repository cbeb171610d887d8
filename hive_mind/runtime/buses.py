"""Opening the bus of a process: one, or two as one where questions go over another than what must not be lost."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from hive_mind import backends
from hive_mind.bus import BusSettings, Envelope, EventBus
from hive_mind.bus.address import BusAddress, address_of
from hive_mind.errors import BackendError
from hive_mind.runtime.receipts import Owed
from hive_mind.runtime.routes import Routed
from hive_mind.runtime.secrets import resolved_here
from hive_mind.runtime.settings import secret
from hive_mind.runtime.workers.config import BusConfig

# A member is expected back soon after its broker; a few attempts in vain cost nobody much.
_RECONNECT_S_MAX = 2.0
# A person waits for it.
_REACHED_WITHIN_S = 3.0


async def open_bus(url: str, state: Path | None = None, credential: str = "") -> EventBus:
    """The bus at a URL. A credential that is not in the URL is `HIVE_MIND_BUS_CREDENTIAL`, unless another one is given."""
    address = address_of(url)
    settings = BusSettings(credential=credential or secret("BUS_CREDENTIAL"), state=state, reconnect_s_max=_RECONNECT_S_MAX)
    return cast(EventBus, await backends.load("bus", address.backend).open(address, settings))


async def reach(config: BusConfig, home: Path) -> None:
    """Connect to the bus of a worker, and to that of its searches, and let go. `home`: of the credentials it refers to.

    Raises what a worker would end with.
    """
    for address, settings in _named_in(config, home):
        backend = backends.load("bus", address.backend)
        bus = cast(EventBus, await backend.open(address, settings))
        await bus.close(drain_s=0)
        if (refuse_full := getattr(backend, "refuse_full", None)) is not None:
            await refuse_full(address, settings)


async def purge(config: BusConfig, hives: Sequence[str], home: Path) -> list[str]:
    """Delete what hives left on the bus of a worker and on that of its searches. The addresses where that has to be done by hand.

    Nobody may use the hives. Raises `BackendError`.
    """
    left: list[str] = []
    for address, settings in _named_in(config, home):
        delete = getattr(backends.load("bus", address.backend), "purge", None)
        if delete is not None:
            await delete(address, settings, hives)
        elif address.backend != "memory":
            left.append(str(address))
    return left


async def scrub(
    config: BusConfig, hives: Sequence[str], names: Collection[str], home: Path, is_meant: Callable[[Envelope], bool]
) -> list[Owed]:
    """Leave nothing of what is meant on the bus of a worker and on that of its searches; where that can't be done, and why.

    `names` are those of nodes that read there.
    """
    owed: list[Owed] = []
    for address, settings in _named_in(config, home):
        clean = getattr(backends.load("bus", address.backend), "scrub", None)
        try:
            if clean is not None and (why := await clean(address, settings, hives, names, is_meant)):
                owed.append(Owed(str(address), why))
        except BackendError as error:
            owed.append(Owed(str(address), str(error)))
    return owed


def _named_in(config: BusConfig, home: Path) -> list[tuple[BusAddress, BusSettings]]:
    addresses = [(config.url, config.credential or secret("BUS_CREDENTIAL"))]
    addresses += [(config.searches, config.searches_credential or secret("SEARCHES_CREDENTIAL"))] if config.searches else []
    return [
        (
            address_of(resolved_here(url, home=home)),
            BusSettings(credential=resolved_here(credential, home=home), connect_timeout_s=_REACHED_WITHIN_S),
        )
        for url, credential in addresses
    ]


BUS, SEARCHES = "bus", "searches"
"""Endings of the folders where a process keeps what these buses don't."""


async def open_to_look(config: BusConfig, kind: str, home: Path, names: Sequence[str], state: Path | None) -> EventBus:
    """The bus of a worker, or that of its searches, for people who look at what lies there; `names` are nodes that read there.

    `state` has what the broker does not keep. Raises `ConfigError` or `BackendError`.
    """
    address, bus_settings = _named_in(config, home)[kind == SEARCHES]
    settings = replace(bus_settings, state=state, names=tuple(names))
    return cast(EventBus, await backends.load("bus", address.backend).open(address, settings))


async def open_buses(
    url: str, searches: str, folder: Path, name: str, credential: str = "", searches_credential: str = ""
) -> EventBus:
    """The bus at a URL, joined with the one for questions where there is one. `name`: whose positions are kept in `folder`."""
    durable = await open_bus(url, folder / f"{name}.{BUS}", credential)
    if not searches:
        return durable
    try:
        live = await open_bus(searches, folder / f"{name}.{SEARCHES}", searches_credential or secret("SEARCHES_CREDENTIAL"))
    except BaseException:
        await durable.close(drain_s=0)
        raise
    return Routed(durable, live)
