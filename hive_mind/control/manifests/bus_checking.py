"""Contradictions about buses: their URLs, and whether they reach every process. Pure."""

from collections.abc import Iterator

from hive_mind.bus.address import CONNECTION_STRING, BusAddress, address_of, is_connection_string, scheme_of, schemes
from hive_mind.control.manifests import Bus, HiveManifest
from hive_mind.control.manifests.expansion import number_of_agents
from hive_mind.counted import did_you_mean
from hive_mind.errors import InvalidInput
from hive_mind.forms import Finding, Path
from hive_mind.hive.topology.spec import is_shared

_BUS: Path = ("spec", "bus")
_PLATFORM: Path = ("spec", "platform")
_TOPOLOGY: Path = ("spec", "topology", "kind")
# In every cloud of Azure's; an emulator elsewhere may well be both.
_AZURE = ".servicebus."


def bus_findings(manifest: HiveManifest) -> Iterator[Finding]:
    bus = manifest.spec.bus
    yield from _url_findings(bus.url, (*_BUS, "url"))
    yield from _url_findings(bus.searches, (*_BUS, "searches"))
    for key in ("searches", "credential"):
        if getattr(bus, key) and not bus.url:
            yield Finding((*_BUS, key), "belongs to a bus, and url is missing; add it", ((*_BUS, "url"),))
    if bus.searches_credential and not bus.searches:
        path = (*_BUS, "searchesCredential")
        yield Finding(path, "belongs to a bus for questions, and searches is missing; add it", ((*_BUS, "searches"),))
    if bus.searches.startswith("memory") and not bus.url.startswith("memory"):
        yield Finding((*_BUS, "searches"), "memory: does not leave its process; name a bus that all share, or leave it out")
    yield from _one_namespace(bus)
    yield from _reach(manifest)


def is_in_cloud(manifest: HiveManifest) -> bool:
    return manifest.spec.platform.kind in ("kubernetes", "containerapps")


def is_one_process(manifest: HiveManifest) -> bool:
    spec = manifest.spec
    is_alike = len({tuple(sorted(agent.env.items())) for agent in spec.agents}) <= 1
    return spec.platform.kind == "inprocess" or (is_alike and number_of_agents(manifest) <= spec.platform.agents_per_process)


def is_elsewhere(url: str) -> bool:
    """Whether a bus can be reached from other machines, as far as its URL says."""
    address = _address(url) if url and not url.startswith("${") else None
    return address is not None and bool(address.host) and not address.is_loopback


def _url_findings(url: str, path: Path) -> Iterator[Finding]:
    if not url or url.startswith("${"):
        return
    address = _address(url)
    if is_connection_string(url):
        yield Finding(path, CONNECTION_STRING)
        return
    if address is None:
        yield Finding(path, "is no URL of a bus; write it like redis://127.0.0.1:6379")
        return
    name = url.partition(":")[0].lower()
    scheme = scheme_of(name)
    if scheme is None:
        scheme_names = schemes()
        suggestion = did_you_mean(name, scheme_names, f"known are {', '.join(scheme_names)}")
        yield Finding(path, f"there is no bus {name[:30]}; {suggestion}")
    elif scheme.has_broker and not address.host:
        yield Finding(path, f"names no host; write it like {scheme.example}")
    elif scheme.encrypted and not (address.is_encrypted or address.is_loopback or "${" in address.host):
        yield Finding(path, f"{address.host} is not this machine and the URL is not encrypted; use {scheme.encrypted}://")


def _address(url: str) -> BusAddress | None:
    try:
        return address_of(url)
    except InvalidInput:
        return None


def _one_namespace(bus: Bus) -> Iterator[Finding]:
    """Service Bus and Event Hubs share a domain of Azure, so a name in it is that of one of them."""
    address, bus_address = (_address(url) if url else None for url in (bus.url, bus.searches))
    if address is None or bus_address is None or {address.backend, bus_address.backend} != {"servicebus", "eventhubs"}:
        return
    if address.host.lower() == bus_address.host.lower() and _AZURE in address.host.lower():
        message = f"{bus_address.host} can't be a namespace of both Service Bus and Event Hubs; name another one for one of them"
        yield Finding((*_BUS, "searches"), message, ((*_BUS, "url"),))


def _reach(manifest: HiveManifest) -> Iterator[Finding]:
    """Several processes need a bus that all of them can reach."""
    bus, kind = manifest.spec.bus, manifest.spec.platform.kind
    if not is_shared(manifest.spec.topology.kind):
        return
    rests_on = (_TOPOLOGY, _PLATFORM, ("spec", "agents"), (*_BUS, "url"))
    address = _address(bus.url) if bus.url else None
    is_memory = address is not None and address.backend == "memory"
    if is_in_cloud(manifest):
        if not bus.url or is_memory:
            yield Finding(_BUS, f"containers of {kind} need a bus that all of them reach; name one, such as rediss://…", rests_on)
        elif address is not None and address.is_loopback:
            yield Finding((*_BUS, "url"), f"{address.host} is each container itself; name the bus by its own host", rests_on)
    elif kind == "compose" and address is not None and address.is_loopback:
        message = f"{address.host} is each container itself; leave the bus out, and they get a Redis of their own"
        yield Finding((*_BUS, "url"), message, rests_on)
    elif is_memory and not is_one_process(manifest):
        message = "memory: joins one process; raise platform.agentsPerProcess, or name a bus such as redis://…"
        yield Finding((*_BUS, "url"), message, rests_on)
