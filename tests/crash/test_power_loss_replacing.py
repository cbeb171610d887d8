"""Power fails at any moment while a record is replaced: the former one is there or the new one, and it goes on from there."""

import asyncio
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import DatabaseError

import pytest

from hive_mind.errors import HiveError
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from hive_mind.store import AddFact, sqlite
from tests.chance import seed_of_this_run
from tests.crash.disk_model import Disk
from tests.crash.disk_trace import Change, append_to_trace, compiled, compiler, existing, read_trace, run_traced
from tests.crash.lives import lay_out
from tests.sampled import thorough

pytestmark = pytest.mark.skipif(
    not compiler(), reason="traces what a process writes by a small library: install a C compiler (apt-get install gcc)"
)

IMAGES = 2
CALLS = {
    "restore": "from hive_mind.store.sqlite import restore; restore(Path(sys.argv[1]), Path(sys.argv[2]))",
    "repair": "from hive_mind.store.sqlite import repair; repair(Path(sys.argv[2]))",
}


def fact(number: int) -> Fact:
    content = f"Pump {number} has {number + 2} valves."
    return Fact(fact_id(content), content, "pumps", 0.9, ("notes",), 1 + number)


def learn(path: Path, *numbers: int) -> None:
    async def learned() -> None:
        store = await sqlite.open(path)
        await store.write([AddFact(fact(number)) for number in numbers])
        await store.close()

    asyncio.run(learned())


def known(path: Path) -> set[str]:
    return {one.content for one in sqlite.facts_in(path)}


@dataclass(frozen=True)
class Replaced:
    """A traced replacement: `changes` of the disk from number `began` on, and what there was to know before and after."""

    changes: Sequence[Change]
    began: int
    old: set[str]
    new: set[str]


def replaced(call: str, folder: Path) -> Replaced:
    home, copy, trace = folder / "home", folder / "copy.sqlite", folder / "trace"
    home.mkdir()
    record = home / "memory.sqlite"
    learn(record, *range(20))
    sqlite.backup(record, copy)
    learn(record, *range(20, 40))
    old = known(record)
    append_to_trace(trace, existing(home))
    began = sum(1 for _ in read_trace(trace))
    words = ["-c", f"import sys; from pathlib import Path; {CALLS[call]}", str(copy), str(record)]
    assert run_traced(compiled(folder), home, trace, words) == 0
    return Replaced(list(read_trace(trace)), began, old, known(copy) if call == "restore" else old)


def violations(what: Replaced, folder: Path, seed: int, *forgotten: str) -> list[str]:
    """What is wrong in histories in which the power fails after each change."""
    rng, disk, record, found = (
        random.Random(seed),
        Disk(forgets=frozenset(forgotten)),
        folder / "look" / "memory.sqlite",
        list[str](),
    )
    for at, change in enumerate(what.changes):
        disk.follow(change)
        is_done = at == len(what.changes) - 1
        for number in range(0 if at < what.began else 5 * IMAGES if is_done else IMAGES):
            lay_out(record.parent, disk.after_power_failure(rng), rng)
            try:
                facts = known(record)
                if facts not in ((what.new,) if is_done else (what.old, what.new)):
                    found.append(f"{len(facts)} facts are there after {at}/{number}: {change.what} {change.text}")
                learn(record, 99)
                if known(record) != facts | {fact(99).content}:
                    found.append(f"it does not go on after {at}/{number}: {change.what} {change.text}")
            except (HiveError, DatabaseError) as error:
                found.append(f"{error} after {at}/{number}: {change.what} {change.text}")
            finally:
                shutil.rmtree(record.parent)
    return found


@pytest.mark.parametrize("call", ["restore", thorough("repair")])
def test_power_fails_while_a_record_is_replaced_and_the_former_one_is_there_or_the_new_one(call: str, tmp_path: Path) -> None:
    what = replaced(call, tmp_path)
    assert len(what.changes) - what.began > 10
    assert violations(what, tmp_path, seed := seed_of_this_run()) == [], seed


@pytest.mark.thorough
@pytest.mark.parametrize("forgotten", ["file", "folder"])
def test_a_sync_that_is_forgotten_while_a_record_is_replaced_is_noticed(forgotten: str, tmp_path: Path) -> None:
    assert violations(replaced("restore", tmp_path), tmp_path, seed_of_this_run(), forgotten)
