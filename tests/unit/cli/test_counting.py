"""Lists say that there is more, and one of something is one."""

import pytest

from hive_mind.counted import counted


@pytest.mark.parametrize(("number", "said"), [(0, "0 facts"), (1, "1 fact"), (2, "2 facts"), (2000, "2,000 facts")])
def test_one_is_one_and_all_else_are_several(number: int, said: str) -> None:
    assert counted(number, "fact") == said


def test_a_verb_follows_its_number() -> None:
    assert (counted(1, "fact has", "facts have"), counted(2, "fact has", "facts have")) == ("1 fact has", "2 facts have")
