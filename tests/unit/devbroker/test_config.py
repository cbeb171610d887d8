"""Microsoft's Config.json, and where a mistake in it is said to be."""

import json

import pytest

from hive_mind.devbroker.broker import Broker
from hive_mind.devbroker.config import apply, read_config
from hive_mind.errors import InvalidInput


def config():
    """As in the emulators' own examples, with both parts."""
    rule = {"Name": "mine", "Properties": {"FilterType": "Correlation", "CorrelationFilter": {"Properties": {"target": "b"}}}}
    subscriptions = [{"Name": "a"}, {"Name": "b", "Properties": {"LockDuration": "PT1M"}, "Rules": [rule]}]
    service_bus = {
        "Name": "sbemulatorns",
        "Queues": [{"Name": "jobs", "Properties": {"LockDuration": "PT1M", "MaxDeliveryCount": 3}}],
        "Topics": [{"Name": "news", "Properties": {}, "Subscriptions": subscriptions}],
    }
    hubs = [{"Name": "events", "PartitionCount": "2", "ConsumerGroups": [{"Name": "cg1"}]}]
    return {
        "UserConfig": {
            "NamespaceConfig": [{"Type": "EventHub", "Name": "emulatorNs1", "Entities": hubs}],
            "Namespaces": [service_bus],
            "LoggingConfig": {"Type": "File"},
            "Logging": {"Type": "Console"},
        }
    }


def made(text):
    broker = Broker()
    apply(text, broker.entities)
    return broker.entities


def test_everything_the_file_names_is_made_and_the_outermost_name_may_be_left_out():
    assert made(config()["UserConfig"]).find("events") is not None
    assert made({}).find("events") is None
    there = made(config())
    assert len(there.find("events").partitions) == 2
    for path in ("jobs", "jobs/$DeadLetterQueue", "news", "news/Subscriptions/a", "news/subscriptions/B"):
        assert there.find(path) is not None, path


def wrong(path, value):
    """The configuration with one thing changed."""
    changed = config()
    *way, last = path
    place = changed["UserConfig"]
    for step in way:
        place = place[step]
    place[last] = value
    return changed


HUB = ("NamespaceConfig", 0, "Entities", 0)
TOPIC = ("Namespaces", 0, "Topics", 0)


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        (wrong(("Namespace",), []), "$.UserConfig"),
        (wrong((*HUB, "Partitions"), 4), "$.UserConfig.NamespaceConfig[0].Entities[0]"),
        (wrong((*HUB, "Name"), 4), "$.UserConfig.NamespaceConfig[0].Entities[0].Name"),
        (wrong((*HUB, "PartitionCount"), "many"), "UserConfig.NamespaceConfig[0].Entities[0]: PartitionCount"),
        (wrong((*HUB, "PartitionCount"), 0), "UserConfig.NamespaceConfig[0].Entities[0]: "),
        (wrong(("NamespaceConfig", 0, "Type"), "Kafka"), "UserConfig.NamespaceConfig[0].Type"),
        (
            wrong(("Namespaces", 0, "Queues", 0, "Properties", "LockDuration"), "soon"),
            "UserConfig.Namespaces[0].Queues[0]: ",
        ),
        (wrong(("Namespaces", 0, "Queues", 0, "Properties", "Colour"), "red"), "UserConfig.Namespaces[0].Queues[0]: "),
        (wrong((*TOPIC, "Subscriptions", 1, "Name"), "A"), "UserConfig.Namespaces[0].Topics[0].Subscriptions[1]: "),
        (
            wrong((*TOPIC, "Subscriptions", 1, "Rules", 0, "Properties", "CorrelationFilter", "Colour"), "red"),
            "Topics[0].Subscriptions[1]: ",
        ),
        (wrong((*TOPIC, "Name"), "jobs"), "UserConfig.Namespaces[0].Topics[0]: "),
    ],
)
def test_a_mistake_is_named_by_its_place(changed, place):
    with pytest.raises(InvalidInput) as caught:
        made(changed)
    assert place in str(caught.value)


def test_a_file_is_read(tmp_path):
    path = tmp_path / "Config.json"
    path.write_text(json.dumps(config()), "utf-8")
    assert made(read_config(path)).find("jobs") is not None


@pytest.mark.parametrize("content", ["", "[]", "{", "nonsense", "{" + " " * (1 << 20)])
def test_a_file_that_is_no_configuration_is_named(tmp_path, content):
    path = tmp_path / "Config.json"
    path.write_text(content, "utf-8")
    for file, named in ((path, r"Config\.json"), (tmp_path / "nowhere", "nowhere")):
        with pytest.raises(InvalidInput, match=named):
            read_config(file)
