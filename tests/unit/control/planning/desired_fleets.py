"""A federated fleet, and what should be of it after a change of its manifest."""

from tests.unit.control.manifests_drawn import REDIS, manifest_of
from tests.unit.control.simulated_fleet import SimulatedFleet

GROUPS = [{"name": "north", "domain": ["pumps"]}, {"name": "south"}]
FEDERATED = {"kind": "federated", "groups": GROUPS}
AGENTS = [{"name": "ada", "group": "north"}, {"name": "bob", "group": "south"}, {"name": "cyd", "group": "north"}]
BASE = {"topology": FEDERATED, "agents": AGENTS, "bus": {"url": REDIS}}
SHARDED = {"topology": {"kind": "sharded", "replicas": 2}}


def agents_with(**fields):
    return {"agents": [AGENTS[0] | fields, *AGENTS[1:]]}


def section(path, value, **also):
    """A spec where one field of a section is another."""
    name, _, field = path.partition(".")
    return {name: also.get(name, BASE.get(name, {})) | {field: value}} if field else {name: value}


def applied(*specs, fleet=None):
    fleet = fleet or SimulatedFleet()
    for spec in specs:
        fleet.apply(manifest_of(BASE | spec))
    return fleet


def wanted(spec, fleet=None):
    return (fleet or SimulatedFleet()).desired(manifest_of(spec))


def moves(*specs):
    fleet = SimulatedFleet()
    for spec in specs[:-1]:
        fleet.apply(manifest_of(spec))
    return "; ".join(fleet.desired(manifest_of(specs[-1])).moves)
