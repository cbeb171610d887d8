"""What a fact says is declared once: every field that travels is carried, bounded and looked through."""

from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.policy.admission import malformed
from hive_mind.memory.gate.promotion import decide
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.memory.intake import new_fact
from hive_mind.memory.sharing.conversion import statement_of
from hive_mind.memory.transfer.transfer import line_of, record_of
from hive_mind.model.content import Candidate
from hive_mind.model.evidence import FIELDS, LISTS, Assertion, Stamp, Statement, said_of
from hive_mind.model.fact import Fact
from tests.builders import fact, said

CONFIDED = "password: hunter0Xy!2024"
LONG = "a" * 100_000


def with_text(one: Any, field: str, text: str) -> Any:
    changed = {field: (text,) if field in LISTS else text}
    return msgspec.structs.replace(one, **changed) if isinstance(one, msgspec.Struct) else replace(one, **changed)


def test_facts_candidates_and_statements_say_the_same() -> None:
    assert set(Statement.__struct_fields__) - set(FIELDS) == {"model", "vector"}
    assert all(set(FIELDS) <= {field.name for field in fields(kind)} for kind in (Fact, Candidate))


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_travels_is_looked_through_carried_and_bounded(field: str) -> None:
    told = with_text(fact("The pump is red."), field, CONFIDED)
    statement = statement_of(told, "", None)

    assert not decide(told, PromotionSettings()).is_shared
    assert said_of(statement) == said_of(told)
    assert said_of(record_of(line_of(replace(told, id=""))))[field] == said_of(told)[field]
    too_long = Assertion("", "ann", "file", 0.9, Stamp(1), with_text(statement, field, LONG))
    assert "at most" in malformed(too_long)
    with pytest.raises(InvalidInput, match="at most"):
        new_fact(with_text(said(), field, LONG), "file", 0)
