"""Facts called by the beginning of their ids."""

import asyncio

import pytest

from hive_mind.cli.facts.facts_asked import fact_called
from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Fact


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


@pytest.mark.parametrize("given", ["cccccc", "c" * 32])
def test_an_id_nobody_has_says_where_ids_are_shown(given):
    with pytest.raises(InvalidInput, match="facts list"):
        called(given)


@pytest.mark.parametrize("given", ["aaaaa", "", "xyzxyz", "a" * 33])
def test_what_can_not_be_an_id_is_refused(given):
    with pytest.raises(InvalidInput, match="6 or more"):
        called(given)
