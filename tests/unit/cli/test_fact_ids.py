"""Facts called by the beginning of their ids."""

import asyncio

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.memory.fact_called import fact_called
from hive_mind.model.fact import Fact, FactList


class _Facts:
    """Facts by id, as the part of a memory that is asked here."""

    def __init__(self, *ids: str) -> None:
        self._facts = {id_: Fact(id_, f"fact {id_}", "", 0.8, ("test",), 0) for id_ in ids}

    async def facts_with_prefix(self, prefix: str) -> list[Fact]:
        return [fact for id_, fact in self._facts.items() if id_.startswith(prefix)]


ONE, TWIN, OTHER = "aaaaaa1" + "0" * 25, "aaaaaa2" + "0" * 25, "bbbbbb1" + "0" * 25


def called(given: str) -> str:
    return asyncio.run(fact_called(_Facts(ONE, TWIN, OTHER), given)).id


@pytest.mark.parametrize("given", [OTHER, "bbbbbb", " BBBBBB1 "])
def test_a_fact_is_found_by_its_id_and_by_a_beginning_that_is_its_own(given):
    assert called(given) == OTHER


def test_a_beginning_of_several_ids_names_them():
    with pytest.raises(InvalidInput, match=f"is ambiguous.*{ONE}.*{TWIN}"):
        called("aaaaaa")


def test_an_id_that_a_silent_member_may_have_is_not_said_to_be_nobodys():
    class _Reached(_Facts):
        async def facts_with_prefix(self, prefix: str) -> FactList:
            return FactList(await super().facts_with_prefix(prefix), 0.75)

    with pytest.raises(InvalidInput, match=r"in the 75% of the hive that answered: it may be with a member .* hive-mind status"):
        asyncio.run(fact_called(_Reached(ONE), OTHER))
    assert asyncio.run(fact_called(_Reached(ONE), ONE)).id == ONE
