"""The defaults of document 004's constants table, and of its chapters on trust and contradictions, are ours.

A default of ours may differ where it says so itself, in a comment beside it: "DEFAULT_MAX_AGE_HOURS of the source is 24.0".
"""

import inspect
from dataclasses import MISSING, fields
from types import ModuleType

import pytest

from hive_mind.hive import replication
from hive_mind.hive.policy import node_policy
from hive_mind.hive.policy.node_policy import ExpirySettings
from hive_mind.hive.query import scatter
from hive_mind.hive.topology import federated
from hive_mind.hive.trust import contradiction, trust_book
from hive_mind.ranking import pipeline, seed
from hive_mind.runtime import settings


def default(owner: type, name: str) -> object:
    """What a field has when nobody names it."""
    (found,) = (field.default for field in fields(owner) if field.name == name)
    assert found is not MISSING
    return found


def ours(module: ModuleType, where: str) -> object:
    """A constant of a module, or the default of a field of one of its classes."""
    owner, _, name = where.rpartition(".")
    if not owner:
        return getattr(module, name)
    found = getattr(module, owner)
    return default(found, name) if isinstance(found, type) else getattr(found, name)


def is_ours_or_differs_on_purpose(name: str, found: object, theirs: object, text: str) -> bool:
    """`text` is that of the module which has it."""
    return found == theirs or f"{name} of the source is {theirs!r}" in text


@pytest.mark.parametrize(
    ("name", "module", "where", "theirs"),
    [
        ("DEFAULT_BROADCAST_THRESHOLD", federated, "Federated.broadcast_threshold", 0.9),
        ("DEFAULT_SEMANTIC_WEIGHT", seed, "SEMANTIC_WEIGHT", 0.5),
        ("DEFAULT_CONFIRMATION_WEIGHT", seed, "CONFIRMATION_WEIGHT", 0.3),
        ("DEFAULT_TRUST_WEIGHT", seed, "TRUST_WEIGHT", 0.2),
        ("DEFAULT_GOSSIP_FANOUT", replication, "GossipSettings.fanout", 2),
        ("DEFAULT_GOSSIP_TOP_K", replication, "GossipSettings.top_k", 10),
        ("GOSSIP_MIN_CONFIDENCE", replication, "GossipSettings.min_confidence", 0.3),
        ("DEFAULT_CONFIDENCE_DECAY_RATE", node_policy, "ExpirySettings.decay_per_hour", 0.01),
        ("DEFAULT_MAX_AGE_HOURS", node_policy, "ExpirySettings.max_age_hours", 24.0),
        ("RRF_K", pipeline, "RRF_K", 60),
        ("FEDERATED_QUERY_LIMIT_MULTIPLIER", seed, "LIMIT_MULTIPLIER", 10),
        ("DOMAIN_ROUTING_PRIORITY_MULTIPLIER", scatter, "DOMAIN_ROUTING_PRIORITY_MULTIPLIER", 3),
        ("DEFAULT_EMBEDDING_MODEL", settings, "DEFAULT_EMBEDDING_MODEL", "BAAI/bge-base-en-v1.5"),
        ("highest trust", pipeline, "TRUST_MAX", 2.0),
        ("trust of an agent nobody knows", trust_book, "NOBODY.trust", 1.0),
        ("word overlap of a contradiction", contradiction, "OVERLAP_MIN", 0.4),
    ],
)
def test_a_constant_of_the_source_is_our_default(name, module, where, theirs):
    found = ours(module, where)
    assert type(found) is type(theirs), name
    assert is_ours_or_differs_on_purpose(name, found, theirs, inspect.getsource(module)), f"{name}: {found} for {theirs}"


def test_a_default_differs_from_the_source_where_it_says_so_and_nowhere_else():
    said = "# RATE of the source is 0.01: two days are a long time here.\nRATE_PER_HOUR = 0.02"
    assert is_ours_or_differs_on_purpose("RATE", 0.02, 0.01, said)
    assert not is_ours_or_differs_on_purpose("RATE", 0.02, 0.01, "RATE_PER_HOUR = 0.02")
    assert not is_ours_or_differs_on_purpose("RATE", 0.02, 0.03, said)


def test_forgetting_is_off_as_in_the_source():
    assert ExpirySettings().is_on is False
