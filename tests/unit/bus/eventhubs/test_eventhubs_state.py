"""What is kept beside a hub.

Partitions of names, and places in them, without a broker.
"""

import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus.eventhubs.inbox import ConsumerName, ConsumerState, Dead, Position, Stop, Watermark, partition_of
from hive_mind.errors import BackendError


def letter(number: int, name: str = "bob") -> Dead:
    return Dead(0, name, number, 3, f"reason {number}", 1_700_000_000_000 + number, bytes([number]))


def test_positions_are_kept_by_hub_hive_and_name(tmp_path: Path) -> None:
    state = ConsumerState(tmp_path, "here/hive")
    bob, cid, other = ConsumerName("hive", "bob"), ConsumerName("hive", "cid"), ConsumerName("other", "bob")
    state.write([(bob, Stop(1, Position(7, (3, 5)))), (cid, Stop(2, Position(1)))])
    state.write([(other, Stop(0, Position(9))), (cid, Stop(3, Position(2)))])
    state.close()

    again = ConsumerState(tmp_path, "here/hive")
    assert again.positions("hive") == {"bob": Stop(1, Position(7, (3, 5))), "cid": Stop(3, Position(2))}
    assert again.positions("other") == {"bob": Stop(0, Position(9))}
    again.close()
    elsewhere = ConsumerState(tmp_path, "there/hive")
    assert elsewhere.positions("hive") == {}
    elsewhere.close()


def test_dead_letters_that_an_earlier_version_kept_are_found(tmp_path: Path) -> None:
    for number in range(3):
        kept_formerly(tmp_path, "hive", letter(number))
    kept_formerly(tmp_path, "hive", letter(9, "cid"))
    kept_formerly(tmp_path, "other", letter(4))

    again = ConsumerState(tmp_path, "hub")
    kept = again.dead("hive", 10)
    assert [replace(dead, id=0) for dead in kept] == [letter(0), letter(1), letter(2), letter(9, "cid")]
    assert again.dead_counts("hive") == {"bob": 3, "cid": 1}
    assert again.forget("hive", [kept[1].id, kept[1].id, 4242]) == 1
    assert again.dead("hive", 2) == [kept[0], kept[2]]
    again.close()


def test_of_a_dead_letter_that_is_dropped_no_byte_stays(tmp_path: Path) -> None:
    for number in range(20):
        kept_formerly(tmp_path, "hive", replace(letter(number), data=b"Ada Lovelace" * 300))
    state = ConsumerState(tmp_path, "hub")
    assert any(b"Lovelace" in path.read_bytes() for path in tmp_path.iterdir())

    assert state.forget("hive", [dead.id for dead in state.dead("hive", 100)]) == 20

    assert not any(b"Lovelace" in path.read_bytes() for path in tmp_path.iterdir())
    state.close()


def test_two_processes_may_have_the_file_open(tmp_path: Path) -> None:
    one, two = ConsumerState(tmp_path, "hub"), ConsumerState(tmp_path, "hub")
    one.write([(ConsumerName("hive", "bob"), Stop(1, Position(7)))])
    two.write([(ConsumerName("hive", "cid"), Stop(2, Position(8)))])

    assert one.positions("hive") == {"bob": Stop(1, Position(7)), "cid": Stop(2, Position(8))}
    one.close()
    two.close()


def kept_formerly(folder: Path, hive: str, dead: Dead) -> None:
    """As an earlier version wrote it."""
    ConsumerState(folder, "hub").close()
    row = ("hub", hive, dead.name, dead.number, dead.attempts, dead.reason, dead.at_ms, dead.data)
    with closing(sqlite3.connect(folder / "eventhubs.sqlite")) as connection, connection:
        statement = "INSERT INTO dead (hub, hive, name, number, attempts, reason, at_ms, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        connection.execute(statement, row)


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    ConsumerState(tmp_path / "new", "hub").close()
    assert (tmp_path / "new" / "eventhubs.sqlite").stat().st_mode & 0o077 == 0


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BackendError, match="file"):
        ConsumerState(tmp_path / "file", "hub")


@pytest.mark.parametrize(("name", "partition"), [("agent-0", 0), ("agent-7", 3), ("shard-12", 0), ("a1-b10", 2), ("3", 3)])
def test_a_name_that_ends_in_a_number_is_dealt_out_by_it(name: str, partition: int) -> None:
    assert partition_of(name, 4) == partition


def test_names_without_a_number_have_a_partition_that_never_changes() -> None:
    # Members of other versions must compute the same, so these are part of the format.
    assert [partition_of(name, 32) for name in ("bob", "Ines", "日本", "v2-beta")] == [0, 5, 12, 3]


def test_names_without_a_number_are_spread() -> None:
    letters = "abcdefghijklmnop"
    assert min(Counter(partition_of(a + b, 4) for a in letters for b in letters).values()) > 40


def test_what_is_done_out_of_order_is_not_repeated_and_what_is_open_is() -> None:
    mark = Watermark(Position(5))
    for number in range(5, 10):
        assert mark.begin(number)
    for number in (9, 7, 5):
        mark.finish(number)
    assert mark.position() == Position(10, (6, 8))

    again = Watermark(mark.position())
    assert again.next == 6
    assert [number for number in range(6, 12) if again.begin(number)] == [6, 8, 10, 11]


def test_what_means_nothing_to_a_name_does_not_hold_it_up() -> None:
    mark = Watermark(Position(0))
    mark.skip(0)
    mark.begin(1)
    mark.skip(2)
    mark.finish(1)

    assert mark.position() == Position(3)


def test_what_was_open_and_is_kept_no_longer_is_given_up() -> None:
    mark = Watermark(Position(10, (2, 4)))
    assert mark.begin(4)
    assert mark.position() == Position(10, (4,))
    assert mark.next == 10


def test_what_was_open_and_interests_nobody_now_is_done() -> None:
    mark = Watermark(Position(10, (2, 4)))
    mark.skip(2)
    assert mark.position() == Position(10, (4,))


@given(st.lists(st.sampled_from("read skip finish restart".split()), max_size=60), st.integers(0, 10_000))
def test_whatever_happens_each_number_is_dealt_with_until_it_is_done_and_never_after(steps: list[str], seed: int) -> None:
    rng = random.Random(seed)
    mark, read, done, held = Watermark(Position(0)), 0, set[int](), set[int]()
    for step in steps:
        if step in {"read", "skip"}:
            number = max(mark.next, read)
            read = number + 1
            if step == "skip" and number not in held:
                mark.skip(number)
                done.add(number)
            elif mark.begin(number):
                assert number not in done
                held.add(number)
        elif step == "finish" and held:
            number = rng.choice(sorted(held))
            held.discard(number)
            mark.finish(number)
            done.add(number)
        elif step == "restart":
            mark = Watermark(mark.position())
            read, held = mark.next, set()
        position = mark.position()
        assert done == set(range(position.next)) - set(position.open)
