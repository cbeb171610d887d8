"""How long Service Bus is told to keep a message.

Names on Service Bus: short, of few characters, blind to upper case, and still those of one node.
"""

import re
from datetime import timedelta

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind.bus import Key
from hive_mind.bus.servicebus.account import (
    label_of,
    message_id_of,
    messages_of,
    name_of,
    subscription_of,
    target_of,
    target_of_all,
)
from tests.contract.bus_builders import envelope

DAY_S = 86_400.0

NAMES = st.text(min_size=1, max_size=60) | st.from_regex(r"[a-zA-Z0-9._-]{1,30}", fullmatch=True)


def test_what_is_brief_is_kept_for_a_minute_and_all_else_for_as_long_as_was_set() -> None:
    lasting = envelope("word")
    brief = msgspec.structs.replace(lasting, is_brief=True)

    kept = [one.time_to_live for some in (lasting, brief) for one in messages_of(some, b"", DAY_S)]
    short = [one.time_to_live for some in (lasting, brief) for one in messages_of(some, b"", 10.0)]

    assert kept == [timedelta(days=1), timedelta(seconds=60)]
    assert short == [timedelta(seconds=10)] * 2


@given(hive=NAMES, name=NAMES)
@example(hive="x" * 24, name="y" * 24)
@example(hive="İ" * 9, name="-")
def test_any_two_names_make_a_subscription_that_service_bus_takes(hive: str, name: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?", subscription_of(hive, name))
    assert len(subscription_of(hive, name)) <= 50


@given(one=NAMES, other=NAMES)
@example(one="Bob", other="bob")
@example(one="a.b", other="ab")
def test_different_names_have_different_labels(one: str, other: str) -> None:
    assert (label_of(one) == label_of(other)) == (one == other)


@given(name=NAMES)
def test_nobody_can_be_called_like_the_label_of_somebody_else(name: str) -> None:
    label = label_of(name)
    assert label == name or label_of(label) != label


def test_a_simple_name_stays_readable() -> None:
    assert subscription_of("ward-7", "node_3") == "ward-7.node_3"


def test_everyone_of_a_hive_has_one_target_and_another_hive_another() -> None:
    assert target_of("hive", "*") == target_of_all(subscription_of("hive", "bob")) == "hive.*"
    assert target_of("other", "*") != target_of("hive", "*")
    assert target_of("hive", "bob") == subscription_of("hive", "bob")


@pytest.mark.parametrize(("path", "name"), [("hive.bob", "bob"), ("hives.bob", None), ("hive", None), ("other", None)])
def test_a_subscription_tells_its_node_to_its_own_hive_alone(path: str, name: str | None) -> None:
    assert name_of("hive", path) == name


@given(sender=NAMES, id=NAMES, target=NAMES)
@example(sender="s" * 200, id="1", target="t")
def test_a_message_id_fits_and_is_always_the_same(sender: str, id: str, target: str) -> None:
    made = message_id_of("hive", Key(sender, id, ""), target)
    assert len(made) <= 128
    assert made == message_id_of("hive", Key(sender, id, ""), target)
    assert made != message_id_of("hive", Key(sender, id + "x", ""), target)
    assert made != message_id_of("other", Key(sender, id, ""), target)
