"""A member whose journal has a damaged record starts all the same, says what is lost, and has it again from another one."""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hive_mind.journal.sqlite import checksum
from hive_mind.model.fact import Sharing
from hive_mind.runtime.members.member import RunningMember
from tests.unit.runtime.members.town import Town, plan
from tests.waiting import until

RUST = b"\x93rust"


def rotten(path: Path) -> None:
    """Another value than was written."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE record SET value = ? WHERE tbl = 'assertion'", (RUST,))


def written_wrongly(path: Path) -> None:
    """A value nothing can be made of, with the checksum of just that: damaged before there were any."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, key in connection.execute("SELECT tbl, key FROM record WHERE tbl = 'assertion'").fetchall():
            connection.execute("UPDATE record SET value = ?, sum = ? WHERE key = ?", (RUST, checksum(table, key, RUST), key))


def edited(path: Path) -> None:
    """Another text under the same id, with the checksum of that: by somebody who knows how."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, key, value in connection.execute("SELECT tbl, key, value FROM record WHERE tbl = 'assertion'").fetchall():
            other = value.replace(b"is red.", b"is off.")
            assert other != value
            connection.execute("UPDATE record SET value = ?, sum = ? WHERE key = ?", (other, checksum(table, key, other), key))


def held(member: RunningMember) -> int:
    return sum(len(share) for share in member.member.node.partitions.shares.values())


async def test_what_no_other_node_holds_its_agent_says_again(tmp_path: Path, town: Town) -> None:
    ann = await town.begin(plan("ann", "ann"), "sqlite")
    for number in range(3):
        await ann.agent.memory.store_fact("pump", f"Pump {number} is red.")
    await ann.close()
    rotten(tmp_path / "hives" / "hive" / "ann.sqlite")

    again = await town.begin(plan("ann", "ann"), "sqlite")
    assert held(again) == 0
    await again.memory.settle()
    assert held(again) == 3
    assert {fact.sharing for fact in await again.memory.local_get_all_facts()} == {Sharing.SHARED}
    await again.memory.settle()
    assert held(again) == 3


@pytest.mark.parametrize("damage", [rotten, written_wrongly, edited])
async def test_a_damaged_record_is_named_and_had_again_and_the_member_works(
    damage: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture, town: Town
) -> None:
    path = tmp_path / "hives" / "hive" / "ben.sqlite"
    ann, ben = [await town.begin(plan(name, "ann", "ben"), "sqlite") for name in ("ann", "ben")]
    await ann.agent.memory.store_fact("pump", "The pump is red.")
    await until(lambda: held(ben) == 1)
    await ben.close()
    damage(path)

    with caplog.at_level(logging.ERROR):
        again = await town.begin(plan("ben", "ann", "ben"), "sqlite")
    assert [message for message in caplog.messages if str(path) in message and "of table 'assertion' is damaged" in message]
    await until(lambda: held(again) == 1 and all(one.is_complete for one in again.member.node.partitions.shares.values()))
    assert [hit.fact.content for hit in await again.agent.memory.search_facts("pump")] == ["The pump is red."]
