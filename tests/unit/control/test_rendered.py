import json
from collections.abc import Mapping
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
from hive_mind.runtime.workers.config import WorkerConfig
from tests.unit.control.cloud import fleet, source_of

BUS = "servicebus://works.servicebus.windows.net/hive-events"
PLATFORMS = {"kubernetes": kubernetes, "containerapps": containerapps}


def wanted(kind: str, state: FleetState, **spec: Any) -> Desired:
    source = source_of(fleet(kind, bus=BUS, **spec))
    return desired(source.manifest, str(source.folder), HOME, state, {}, run=RUN)


def files_of(kind: str, platform: Any, state: FleetState, **spec: Any) -> dict[str, str]:
    found: dict[str, str] = platform.render(source_of(fleet(kind, bus=BUS, **spec)), wanted(kind, state, **spec).processes)
    return found


def joining(processes: Mapping[str, WorkerConfig]) -> set[str]:
    return {node.name for config in processes.values() for node in config.nodes if node.is_joining}


@pytest.mark.parametrize(("kind", "platform"), PLATFORMS.items(), ids=PLATFORMS)
def test_what_is_rendered_again_is_the_same_and_who_comes_later_or_back_joins_the_hive_that_others_founded(
    kind: str, platform: Any
):
    assert remembered(platform.configs_in({})) == FleetState()
    first = files_of(kind, platform, FleetState())
    before = platform.configs_in(first)
    assert files_of(kind, platform, remembered(before)) == first

    now = wanted(kind, remembered(before), agents=[{"name": "agent-{n}", "count": 4}])
    assert now.moves == ()
    assert all(config.hive == before["agent-1"].hive for config in now.processes.values())
    assert joining(now.processes) == {"agent-4"}
    # A founder that was taken away.
    two = {name: config for name, config in before.items() if name != "agent-3"}
    assert joining(wanted(kind, remembered(two)).processes) == {"agent-3"}
    assert wanted(kind, remembered(before), topology="flat").moves


async def test_who_renders_into_the_same_folder_gets_the_same_hub(tmp_path):
    bus = {"url": BUS, "searches": "eventhubs://works-hubs.servicebus.windows.net/searches"}
    for count in (3, 4):
        source = source_of(fleet("containerapps", bus=bus, agents=[{"name": "agent-{n}", "count": count}]))
        await render_into(source, tmp_path, tmp_path / "home")
    assert json.loads((tmp_path / "parameters.json").read_text("utf-8"))["parameters"]["partitions"]["value"] == 3


@pytest.mark.parametrize(("platform", "name"), [(kubernetes, "kustomization.yaml"), (containerapps, "parameters.json")])
@pytest.mark.parametrize("text", ["resources: [gone.yaml]", "{", "[1]", '"x"'])
def test_files_of_somebody_else_are_refused(platform: ModuleType, name: str, text: str):
    with pytest.raises(InvalidInput, match="empty folder"):
        platform.configs_in({name: text})
