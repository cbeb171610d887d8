"""The defaults of document 004's constants table, and of its chapters on trust and contradictions, are ours."""

import inspect
from dataclasses import MISSING, fields

import pytest

from hive_mind.hive.policy import expiry
from hive_mind.hive.policy.expiry import ExpirySettings, FactTTL
from hive_mind.hive.policy.rights import TRUST_MAX
from hive_mind.hive.query import scatter
from hive_mind.hive.replication.gossip import GossipSettings
from hive_mind.hive.topology import federated
from hive_mind.hive.trust import contradiction
from hive_mind.hive.trust.ratings import NOBODY, beta_trust
from hive_mind.ranking import fusion, seed
from hive_mind.runtime.settings import DEFAULT_EMBEDDING_MODEL


def default(owner: type, name: str) -> object:
    """What a field has when nobody names it."""
    (found,) = (field.default for field in fields(owner) if field.name == name)
    assert found is not MISSING
    return found


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("DEFAULT_BROADCAST_THRESHOLD", default(federated.Federated, "broadcast_threshold"), 0.9),
        ("DEFAULT_SEMANTIC_WEIGHT", fusion.SEMANTIC_WEIGHT, 0.5),
        ("DEFAULT_CONFIRMATION_WEIGHT", fusion.CONFIRMATION_WEIGHT, 0.3),
        ("DEFAULT_TRUST_WEIGHT", fusion.TRUST_WEIGHT, 0.2),
        ("DEFAULT_GOSSIP_FANOUT", default(GossipSettings, "fanout"), 2),
        ("DEFAULT_GOSSIP_TOP_K", default(GossipSettings, "top_k"), 10),
        ("GOSSIP_MIN_CONFIDENCE", default(GossipSettings, "min_confidence"), 0.3),
        ("DEFAULT_CONFIDENCE_DECAY_RATE", default(ExpirySettings, "decay_per_hour"), 0.01),
        ("DEFAULT_MAX_AGE_HOURS", default(ExpirySettings, "max_age_hours"), 24.0),
        ("RRF_K", fusion.RRF_K, 60),
        ("FEDERATED_QUERY_LIMIT_MULTIPLIER", seed.LIMIT_MULTIPLIER, 10),
        ("DOMAIN_ROUTING_PRIORITY_MULTIPLIER", scatter.DOMAIN_ROUTING_PRIORITY_MULTIPLIER, 3),
        ("DEFAULT_EMBEDDING_MODEL", DEFAULT_EMBEDDING_MODEL, "BAAI/bge-base-en-v1.5"),
        ("highest trust", TRUST_MAX, 2.0),
        ("trust of an agent nobody knows", NOBODY.trust, 1.0),
        ("word overlap of a contradiction", contradiction.OVERLAP_MIN, 0.4),
    ],
)
def test_a_constant_of_the_source_is_our_default(name, ours, theirs):
    assert ours == theirs, name
    assert type(ours) is type(theirs), name


def test_forgetting_is_off_as_in_the_source():
    assert ExpirySettings().is_on is False


def test_functions_use_the_constants_when_nobody_names_others():
    def of(function: object, parameter: str) -> object:
        return inspect.signature(function).parameters[parameter].default

    assert of(fusion.hybrid_score_weighted, "semantic_weight") == fusion.SEMANTIC_WEIGHT
    assert of(fusion.hybrid_score_weighted, "confirmation_weight") == fusion.CONFIRMATION_WEIGHT
    assert of(fusion.hybrid_score_weighted, "trust_weight") == fusion.TRUST_WEIGHT
    assert of(fusion.rrf_merge, "k") == fusion.RRF_K
    assert of(expiry.decayed, "rate_per_hour") == default(ExpirySettings, "decay_per_hour")
    assert FactTTL(0) == FactTTL(0, default(ExpirySettings, "max_age_hours"), default(ExpirySettings, "decay_per_hour"))
    assert beta_trust(0, 0) == NOBODY.trust
