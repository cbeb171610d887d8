"""Which entity a path leads to, and what is made when it leads nowhere yet."""

import pytest

from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.entity import split
from hive_mind.devbroker.broker import Broker, BrokerSettings
from hive_mind.devbroker.config import Entities
from hive_mind.devbroker.eventhub import EventHub
from hive_mind.errors import InvalidInput
from tests.unit.devbroker.peers import with_peer
from tests.unit.devbroker.values import section


def entities(auto_partitions=0) -> Entities:
    return Broker(BrokerSettings(auto_partitions=auto_partitions)).entities


def test_a_hub_is_found_by_all_its_paths():
    there = entities()
    hub = there.add_hub("Events", 2)
    assert there.find("events") is there.find("EVENTS/Partitions/1") is there.find("events/ConsumerGroups/x/Partitions/0") is hub
    assert there.find("events/Partitions") is None


def test_where_a_hub_and_a_topic_have_one_name_the_client_counts():
    there = entities()
    hub, topic = there.add_hub("hive"), there.namespace.add_topic("hive")
    assert there.find("hive", is_hub=True) is hub
    assert there.find("hive", is_hub=False) is there.find("hive") is topic
    assert there.find("hive/Partitions/0") is hub


@pytest.mark.parametrize(
    ("name", "partitions"), [("", 4), ("a/b", 4), ("-a", 4), ("hub", 0), ("hub", 5000), ("TAKEN", 4), ("x" * 300, 4)]
)
def test_a_hub_that_can_not_be_is_refused(name, partitions):
    there = entities()
    there.add_hub("taken")
    with pytest.raises(InvalidInput):
        there.add_hub(name, partitions)


def test_nothing_is_made_unless_it_was_allowed():
    assert entities().make("hive/Subscriptions/a", is_hub=False) is None


@pytest.mark.parametrize("path", ["hive", "hive/Partitions/1", "hive/ConsumerGroups/any/Partitions/1"])
def test_a_hub_is_made_for_a_client_that_asks_for_one(path):
    hub = entities(auto_partitions=3).make(path, is_hub=True)
    assert isinstance(hub, EventHub)
    assert (hub.name, len(hub.partitions)) == ("hive", 3)


@pytest.mark.parametrize(
    "path", ["", "a/b/c", "../x", "hive/Subscriptions/", "hive/Subscriptions/a/b", "-", "x" * 300, "a b/Partitions/0"]
)
def test_a_path_of_no_known_form_makes_nothing(path):
    there = entities(auto_partitions=4)
    assert there.make(path, is_hub=False) is None
    assert there.make(path, is_hub=True) is None


def test_no_more_is_made_than_memory_allows():
    there = entities(auto_partitions=1)
    made = [there.make(f"hub{number}", is_hub=True) for number in range(1100)]
    assert [hub is not None for hub in made] == [True] * 1000 + [False] * 100


@with_peer(auto_partitions=4)
async def test_a_subscription_that_is_made_gets_what_is_for_its_name_and_for_everyone(peer):
    peer.attach_receiver(0, "hive/Subscriptions/ada")
    peer.attach_sender(1, "hive")
    for target in ("ada", "bob", "*", None):
        peer.transfer(1, section(0x74, {} if target is None else {"target": target}) + section(0x75, b"x"))
    await peer.turn()

    got = [split(heard.payload).application_map["target"] for heard in peer.heard(amqp.TRANSFER)]
    assert got == ["ada", "*"]


@pytest.mark.parametrize(
    ("agent", "is_hub"), [("azsdk-python-eventhubs/5.15.1", True), ("azsdk-python-servicebus/7.15.0", False)]
)
@with_peer(auto_partitions=4, is_open=False)
async def test_a_name_alone_is_a_hub_to_a_client_of_hubs_and_else_a_topic(peer, agent, is_hub):
    peer.open(agent=agent)
    peer.begin()
    peer.attach_sender(0, "one")
    assert isinstance(peer.broker.entities.find("one"), EventHub) is is_hub
    assert peer.heard(amqp.ATTACH)[0].fields[6] is not None


@with_peer(auto_partitions=4)
async def test_a_name_that_is_asked_about_as_a_hub_is_one_though_the_client_does_not_say_what_it_is(peer):
    peer.attach_sender(0, "$management")
    peer.attach_receiver(1, "$management", reply_to="me")
    peer.request(0, {"operation": "READ", "name": "one", "type": "com.microsoft:eventhub"})
    await peer.turn()
    assert isinstance(peer.broker.entities.find("one"), EventHub)


@with_peer(auto_partitions=4, needs_token=True)
async def test_nothing_is_made_for_who_has_no_token(peer):
    peer.attach_sender(0, "one")
    assert peer.heard(amqp.DETACH)[0].error(2) == "amqp:unauthorized-access"
    assert peer.broker.entities.find("one") is None
