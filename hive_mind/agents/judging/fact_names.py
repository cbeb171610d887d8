"""A fact as those who judge it see it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from hive_mind.model.said import LISTS, said_of


def names_of(fact: Fact, agent: str) -> Mapping[str, Any]:
    """What the conditions of rules see of a fact, as `result`."""
    seen = said_of(fact) | {name: list(getattr(fact, name)) for name in LISTS}
    return {"text": seen.pop("content"), **seen, "confidence": fact.confidence, "sources": list(fact.sources), "agent": agent}


def text_before(fact: Fact) -> Fact:
    """The text before a fact, as if it were one: mostly it is."""
    return dataclasses.replace(fact, id=fact_id(fact.before), content=fact.before, before="")
