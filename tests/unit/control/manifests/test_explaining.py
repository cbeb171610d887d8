"""What can stand in a manifest is told from the models, so it can't be out of date."""

from pathlib import Path

import pytest
import yaml

from hive_mind.control.manifests import MANIFEST, HiveManifest
from hive_mind.errors import InvalidInput
from hive_mind.forms import everywhere, explained, schema_of, section_of

ROOT = Path(__file__).parents[4]


def test_defaults_shown_are_those_that_are_used():
    for path, info in everywhere(HiveManifest):
        shown = explained(path, MANIFEST).default
        if shown and section_of(info) is None and info.default is not None:
            assert yaml.safe_load(shown) == info.default or shown == info.default, path


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("", ""),
        ("spec.agents[2].name", "spec.agents.name"),
        ("replicas", "spec.topology.replicas"),
        ("gossip.periodS", "spec.gossip.periodS"),
        ("spec.Topology", "spec.topology"),
    ],
)
def test_a_place_may_be_asked_for_in_short(asked, path):
    assert explained(asked, MANIFEST).path == path


@pytest.mark.parametrize(("asked", "hint"), [("spec.gosip", "spec.gossip"), ("url", "spec.bus.url"), ("zzzz", "explain")])
def test_a_place_that_does_not_exist_is_told_with_what_was_meant(asked, hint):
    with pytest.raises(InvalidInput, match=hint):
        explained(asked, MANIFEST)


@pytest.mark.parametrize("file", sorted((ROOT / "manifests").glob("*.yaml")), ids=lambda file: file.stem)
def test_examples_fit_the_published_schema(file):
    pytest.importorskip("jsonschema").validate(yaml.safe_load(file.read_text("utf-8")), schema_of(MANIFEST))
