"""An index from which much was taken is rebuilt, at once or a few documents at a time."""

import pytest

from hive_mind.ranking.index import Compacting, FactIndex


def add(index: FactIndex, id: str) -> None:
    index.add(id, {id: 1.0})


def compacting(again=add, empty_each: int = 1, size: int = 500) -> Compacting[FactIndex]:
    made = Compacting(FactIndex, again, empty_each)
    for number in range(size):
        made.current.add(str(number), {str(number): 1.0})
    return made


def take_out(part: Compacting[FactIndex], count: int) -> None:
    for id in list(part.current)[:count]:
        for side in part.sides:
            side.remove(id, [id])
        part.emptied()


def test_it_is_rebuilt_when_more_places_are_empty_than_there_are_documents_and_some():
    part = compacting(size=700)
    former = part.current
    take_out(part, 478)
    part.renew()
    assert part.current is former
    take_out(part, 1)
    part.renew()
    assert part.current is not former
    assert list(part.current) == [str(number) for number in range(479, 700)]
    assert [part.current.position(id) for id in part.current] == list(range(221))


def test_one_that_changes_back_and_forth_may_have_more_empty_places():
    part = compacting(empty_each=4, size=700)
    former = part.current
    take_out(part, 611)
    assert not part.renew()
    assert part.current is former
    take_out(part, 1)
    part.renew()
    assert len(part.current) == 88
    assert part.current is not former


def test_a_few_at_a_time_it_has_what_came_and_not_what_went_meanwhile():
    part = compacting()
    take_out(part, 400)
    assert part.renew(30)
    for side in part.sides:
        side.add("new", {"new": 1.0})
    take_out(part, 60)
    while part.renew(30):
        pass
    assert len(part.sides) == 1
    assert sorted(part.current) == sorted([*map(str, range(460, 500)), "new"])


def test_a_rebuild_that_fails_changes_nothing():
    def again(index: FactIndex, id: str) -> None:
        raise MemoryError(f"no room for {id} beside {len(index)}")

    part = compacting(again)
    take_out(part, 400)
    with pytest.raises(MemoryError):
        part.renew(10)
    assert (part.sides, len(part.current)) == ((part.current,), 100)
