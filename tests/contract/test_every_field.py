"""Every field of a manifest, changed, is seen in what runs; and nothing is left to do afterwards."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from hive_mind.control.controller import HiveController, fleets
from hive_mind.control.manifests import HiveManifest
from hive_mind.control.platforms import kubernetes
from hive_mind.forms import everywhere, section_of
from tests.contract import field_probes, field_processes, field_runs, field_servers
from tests.contract.field_fleets import PATIENCE_S, VARIABLES, Story, Told, source_of, told
from tests.unit.control.cloud import IMAGE, configs_of, fleet
from tests.unit.control.cloud import source_of as cloud_source

STORIES: tuple[Story, ...] = (*(*field_probes.STORIES, *field_runs.STORIES), *(*field_servers.STORIES, *field_processes.STORIES))
SEEN = {field: story for story in STORIES for field in story.sights}


def marked(story: Story) -> list[pytest.MarkDecorator]:
    """Real processes take seconds to start."""
    return [pytest.mark.slow] if story.platform == "local" else []


FIELDS = [pytest.param(field, id=field, marks=marked(story)) for field, story in SEEN.items()]

# What only a cloud can look at: the platform, or a part of an agent, and the text that has to be in what is rendered.
CLOUD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "metadata.labels": ({"labels": {"owner": "harbour"}}, {"labels": {"owner": "lighthouse"}}, "owner: lighthouse"),
    "spec.agents.resources.cpu": ({"cpu": 0.5}, {"cpu": 0.75}, "cpu: 750m"),
    "spec.platform.image": ({"image": IMAGE}, {"image": "registry.example.com/other:2"}, "registry.example.com/other:2"),
    "spec.platform.namespace": ({"namespace": "north"}, {"namespace": "south"}, "namespace: south"),
    "spec.platform.storage": ({"storage": "ephemeral"}, {"storage": "persistent"}, "volumeClaimTemplates"),
    "spec.platform.storageGb": ({"storageGb": 3}, {"storageGb": 7}, "storage: 7Gi"),
    "spec.platform.keys": ({"keys": "issued"}, {"keys": "given"}, "create secret generic works-agent-1-key"),
    "spec.platform.autoscaling": ({"autoscaling": False}, {"autoscaling": True}, "ScaledObject"),
}
# Fields with one value: another one is another form of manifest.
CONSTANT = ("apiVersion", "kind")
# What becomes another field when the manifest is read, what no process is told, and what is told to others on another platform.
UNNAMED = ("spec.ruleFiles", "spec.retrieval.config", "spec.platform.stopTimeoutS", *field_processes.PLACE.sights)
# Another name is another fleet; see below.
NAME = "metadata.name"

Tell = Callable[[Story], Told]


@pytest.fixture(scope="module")
def tell(tmp_path_factory: pytest.TempPathFactory) -> Tell:
    """Plays each story once, and then tells it again."""
    known: dict[str, Told | Exception] = {}

    def once(story: Story) -> Told:
        if story.name not in known:
            with pytest.MonkeyPatch.context() as patch:
                for name, value in VARIABLES.items():
                    patch.setenv(name, value)
                try:
                    known[story.name] = told(story, tmp_path_factory.mktemp(story.name))
                except Exception as error:  # noqa: BLE001 - told to every field of the story
                    known[story.name] = error
        found = known[story.name]
        if isinstance(found, Exception):
            raise found
        return found

    return once


def test_no_field_is_without_a_probe() -> None:
    leaves = {path for path, info in everywhere(HiveManifest) if section_of(info) is None}
    assert leaves == {*SEEN, *CLOUD, *CONSTANT, NAME}


def test_no_field_is_looked_at_twice() -> None:
    assert len(SEEN) == sum(len(story.sights) for story in STORIES)


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_field_is_seen_in_what_runs(field: str, tell: Tell) -> None:
    story = SEEN[field]
    sight = story.sights[field]
    assert tell(story).seen[field] == (sight.before, sight.after)
    assert sight.before != sight.after


@pytest.mark.parametrize("field", FIELDS)
def test_a_story_changes_the_fields_it_is_about(field: str, tell: Tell) -> None:
    before, after = (
        values_at(source.manifest.model_dump(by_alias=True), field.split(".")) for source in tell(SEEN[field]).sources
    )
    assert before != after


@pytest.mark.parametrize("field", [one for one, story in SEEN.items() if story.platform == "inprocess" and one not in UNNAMED])
def test_a_plan_names_what_changes(field: str, tell: Tell) -> None:
    """Or what it is a part of. Of a hive that moves, and of several processes: `tests/unit/control/planning`."""
    actions = tell(SEEN[field]).outcomes[1].actions
    named = {re.sub(r"\[[^]]*\]", "", change.path) for action in actions for change in action.changes}
    assert any(f"{field}.".startswith(f"{path}.") for path in named) or actions[0].kind == "move"


@pytest.mark.parametrize("story", [pytest.param(story, id=story.name, marks=marked(story)) for story in STORIES])
def test_it_converges_and_then_nothing_is_left_to_do(story: Story, tell: Tell) -> None:
    found = tell(story)
    assert [outcome.problems for outcome in found.outcomes] == [(), ()]
    assert [plan.actions for plan in found.plans] == [(), ()]


@pytest.mark.parametrize("field", CLOUD)
def test_a_changed_field_of_a_cloud_is_seen_in_what_is_rendered(field: str) -> None:
    before, after, shown = CLOUD[field]
    old, new = (rendered(field, given) for given in (before, after))
    assert shown in new
    assert shown not in old


async def test_another_name_is_another_fleet(tmp_path: Path) -> None:
    for fleet_name, agent in (("north", "ada"), ("south", "bob")):
        source = source_of({"agents": [{"name": agent}], "platform": "inprocess"}, tmp_path, fleet_name)
        async with HiveController.open(tmp_path / "home", fleet_name) as controller:
            assert (await controller.apply(source, timeout_s=PATIENCE_S)).problems == ()
            running = (await controller.observe())[fleet_name]
            assert running.status is not None
            assert running.status.hive == fleet_name
    assert fleets(tmp_path / "home") == ("north", "south")


@pytest.mark.parametrize("field", CONSTANT)
def test_a_constant_has_one_value(field: str) -> None:
    assert len(get_args(dict(everywhere(HiveManifest))[field].annotation)) == 1


def values_at(value: Any, path: list[str]) -> list[Any]:
    """What stands at a path, in every part of a list."""
    if isinstance(value, list):
        return [found for one in value for found in values_at(one, path)]
    return values_at(value[path[0]], path[1:]) if path else [value]


def rendered(field: str, given: dict[str, Any]) -> str:
    """All objects of Kubernetes, as text."""
    manifest = fleet()
    match field.split("."):
        case ["metadata", _]:
            manifest["metadata"] |= given
        case ["spec", "platform", _]:
            manifest["spec"]["platform"] |= given
        case _:
            manifest["spec"]["agents"][0]["resources"] = given
    source = cloud_source(manifest)
    return "\n".join(kubernetes.render(source, configs_of(source)).values())
