"""What is named and not held, among more ids than fit the part of them that stays in RAM."""

from random import Random

import pytest

from hive_mind.memory import transfer
from hive_mind.memory.transfer import NamedIds


def test_the_first_that_are_missing_are_told_in_the_order_in_which_they_were_named(monkeypatch: pytest.MonkeyPatch):
    # So that 4,000 go to disk as 400,000 would.
    monkeypatch.setattr(transfer, "_IN_RAM_BYTES", transfer._IN_RAM_BYTES // 100)
    chance = Random(0)
    ids = [f"{chance.getrandbits(128):032x}" for _ in range(4_000)]
    held, absent = ids[:-700], ids[-700:]
    named = [*chance.sample(held, 2_000), *absent, *absent[:5]]
    chance.shuffle(named)

    missing = set(absent)
    first = list(dict.fromkeys(id for id in named if id in missing))

    with NamedIds() as found:
        for id in held[:2_000]:
            found.hold(id)
        for id in named:
            found.name(id)
        for id in held[2_000:]:
            found.hold(id)
        assert found.missing(10) == (first[:10], 700)


def test_of_nothing_nothing_is_missing():
    with NamedIds() as found:
        assert found.missing(10) == ([], 0)
