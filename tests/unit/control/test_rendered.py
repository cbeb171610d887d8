import json
from types import ModuleType
from typing import Any

import pytest

from hive_mind.cli.fleet.apply import render_into
from hive_mind.control.planning.desired import Desired, desired
from hive_mind.control.platforms import containerapps, kubernetes
from hive_mind.control.platforms.in_containers import HOME, RUN
from hive_mind.control.remembering import remembered
from hive_mind.control.state import FleetState
from hive_mind.errors import InvalidInput
from tests.unit.control.cloud import fleet, source_of

BUS = "servicebus://works.servicebus.windows.net/hive-events"
PLATFORMS = {"kubernetes": kubernetes, "containerapps": containerapps}


def wanted(kind: str, state: FleetState, **spec: Any) -> Desired:
    source = source_of(fleet(kind, bus=BUS, **spec))
    return desired(source.manifest, str(source.folder), HOME, state, {}, run=RUN)


def files_of(kind: str, platform: Any, state: FleetState, **spec: Any) -> dict[str, str]:
    found: dict[str, str] = platform.render(source_of(fleet(kind, bus=BUS, **spec)), wanted(kind, state, **spec).processes)
    return found


@pytest.mark.parametrize(("kind", "platform"), PLATFORMS.items(), ids=PLATFORMS)
def test_what_is_rendered_again_is_the_same(kind: str, platform: Any):
    first = files_of(kind, platform, FleetState())
    assert files_of(kind, platform, remembered(platform.configs_in(first))) == first


@pytest.mark.parametrize(("kind", "platform"), PLATFORMS.items(), ids=PLATFORMS)
def test_who_comes_later_joins_the_hive_that_the_others_founded(kind: str, platform: Any):
    before = platform.configs_in(files_of(kind, platform, FleetState()))
    now = wanted(kind, remembered(before), agents=[{"name": "agent-{n}", "count": 4}])

    assert now.moves == ()
    assert all(config.hive == before["agent-1"].hive for config in now.processes.values())
    joining = {node.name for config in now.processes.values() for node in config.nodes if node.is_joining}
    assert joining == {"agent-4"}


def test_a_founder_that_was_taken_away_and_comes_back_joins():
    three = kubernetes.configs_in(files_of("kubernetes", kubernetes, FleetState()))
    two = {name: config for name, config in three.items() if name != "agent-3"}
    again = wanted("kubernetes", remembered(two))
    joining = {node.name for config in again.processes.values() for node in config.nodes if node.is_joining}
    assert joining == {"agent-3"}


def test_another_topology_is_told_as_a_move():
    before = kubernetes.configs_in(files_of("kubernetes", kubernetes, FleetState()))
    assert wanted("kubernetes", remembered(before), topology="flat").moves


async def test_who_renders_into_the_same_folder_gets_the_same_hub(tmp_path):
    bus = {"url": BUS, "searches": "eventhubs://works-hubs.servicebus.windows.net/searches"}
    for count in (3, 4):
        source = source_of(fleet("containerapps", bus=bus, agents=[{"name": "agent-{n}", "count": count}]))
        await render_into(source, tmp_path, tmp_path / "home")
    assert json.loads((tmp_path / "parameters.json").read_text("utf-8"))["parameters"]["partitions"]["value"] == 3


def test_an_empty_folder_remembers_nothing():
    assert remembered(kubernetes.configs_in({})) == remembered(containerapps.configs_in({})) == FleetState()


@pytest.mark.parametrize(("platform", "name"), [(kubernetes, "kustomization.yaml"), (containerapps, "parameters.json")])
@pytest.mark.parametrize("text", ["resources: [gone.yaml]", "{", "[1]", '"x"'])
def test_files_of_somebody_else_are_refused(platform: ModuleType, name: str, text: str):
    with pytest.raises(InvalidInput, match="empty folder"):
        platform.configs_in({name: text})
