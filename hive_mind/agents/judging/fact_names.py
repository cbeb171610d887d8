"""A fact as those who judge it see it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id


def names_of(fact: Fact, agent: str) -> Mapping[str, Any]:
    """What the conditions of rules see of a fact, as `result`."""
    return {
        "text": fact.content,
        "concept": fact.concept,
        "confidence": fact.confidence,
        "sources": list(fact.sources),
        "speaker": fact.speaker,
        "said_at": fact.said_at,
        "before": fact.before,
        "entities": list(fact.entities),
        "labels": list(fact.labels),
        "agent": agent,
    }


def text_before(fact: Fact) -> Fact:
    """The text before a fact, as if it were one: mostly it is."""
    return dataclasses.replace(fact, id=fact_id(fact.before), content=fact.before, before="")
