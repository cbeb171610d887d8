"""What a node refused: one bounded file, written whole or not at all, read at any time, and erased to the last byte."""

import os
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.bus import DeadLetter, Envelope, dead_letters
from hive_mind.bus.dead_letters import DeadLetterFile, Refusal, drop, files_in, hand_of, listed, refusal, send_again, unreadable
from tests.contract.bus_builders import envelope


@pytest.fixture(params=["file", "memory"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> DeadLetterFile:
    return DeadLetterFile(tmp_path / "bob.dlq") if request.param == "file" else DeadLetterFile(name="bob")


def refused(*texts: str, reason: str = "it bites") -> list[Refusal]:
    return [refusal(envelope(text), 1, reason) for text in texts]


def ids(file: DeadLetterFile) -> list[int]:
    return [int(letter.id) for letter in file.letters()]


def texts(letters: Sequence[DeadLetter]) -> list[str]:
    return [letter.envelope.message.batch if letter.envelope else letter.data.decode() for letter in letters]  # type: ignore[union-attr]


def test_what_was_refused_is_there_as_it_came_oldest_first(file: DeadLetterFile) -> None:
    assert file.letters() == []
    first = envelope("first 🐝")
    file.write([refusal(first, 3, "not now"), *refused("second"), unreadable(b"\x00no", 2, "malformed")])

    letters = file.letters()
    assert texts(letters) == ["first 🐝", "second", "\x00no"]
    assert letters[0].envelope == first
    assert [(letter.name, letter.attempts, letter.reason) for letter in letters[::2]] == [
        ("bob", 3, "not now"),
        ("bob", 2, "malformed"),
    ]
    assert texts(file.letters(limit=1)) == ["first 🐝"]


def test_the_same_message_again_is_counted_and_not_kept_twice(file: DeadLetterFile) -> None:
    one = envelope("one")
    for attempt in (1, 2, 3):
        file.write([refusal(one, attempt, f"attempt {attempt}"), unreadable(b"garbage", attempt, "malformed")])
    assert [(letter.count, letter.attempts) for letter in file.letters()] == [(3, 3), (3, 3)]


def test_of_unproven_mail_there_is_one_sample_a_sender_and_the_rest_is_counted(file: DeadLetterFile) -> None:
    forged = [envelope(f"forged {number}", sender=sender) for number in range(50) for sender in ("eve", "mallory")]
    file.write([refusal(one, 1, "unsigned", is_proven=False) for one in forged])
    assert [(texts([letter]), letter.count) for letter in file.letters()] == [(["forged 0"], 50), (["forged 0"], 50)]


def test_each_kind_has_its_bounds_and_strangers_push_out_nothing_that_was_handled_with_an_error(
    file: DeadLetterFile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dead_letters, "LETTERS_MAX", 10)
    monkeypatch.setattr(dead_letters, "LETTERS_BYTES_MAX", 2000)
    file.write(refused("honest"))
    for number in range(40):
        file.write([unreadable(bytes([number]) * 500, 1, "malformed")])
        file.write([refusal(envelope("x", sender=f"stranger {number}"), 1, "unsigned", is_proven=False)])

    kinds = [letter.envelope.sender if letter.envelope else letter.data[0] for letter in file.letters()]
    assert kinds[0] == "ann"
    assert [kind for kind in kinds if isinstance(kind, int)] == [36, 37, 38, 39]
    assert [kind for kind in kinds if isinstance(kind, str)] == ["ann", *(f"stranger {number}" for number in range(30, 40))]
    assert file.pushed_out() == 40 - 4 + 40 - 10
    assert "look at them" in caplog.text


def test_a_flood_leaves_a_file_that_is_hardly_larger_than_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "LETTERS_BYTES_MAX", 1 << 20)
    file = DeadLetterFile(tmp_path / "bob.dlq")
    for number in range(10):
        file.write([unreadable(os.urandom(60_000), 1, "malformed") for _ in range(40)])
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 4 << 20, number


def test_letters_are_dropped_by_their_number_and_no_byte_of_them_stays(tmp_path: Path) -> None:
    file = DeadLetterFile(tmp_path / "bob.dlq")
    file.write(refused(*(f"Ada Lovelace {number}" for number in range(200)), "the ferry"))
    assert b"Lovelace" in (tmp_path / "bob.dlq").read_bytes()
    *adas, ferry = ids(file)
    assert file.drop([*adas, 4711, adas[0]]) == 200
    assert ids(file) == [ferry]
    assert all(b"Lovelace" not in path.read_bytes() for path in tmp_path.iterdir())


def test_what_is_meant_is_erased_and_so_are_bytes_that_may_say_anything(file: DeadLetterFile) -> None:
    file.write([*refused("Ada", "ferry"), unreadable(b"Ad\xff", 1, "malformed")])

    def is_meant(one: Envelope) -> bool:
        return one.message.batch == "Ada"  # type: ignore[union-attr]

    assert file.erase(is_meant, is_dry=True) == 2
    assert len(file.letters()) == 3
    assert file.erase(is_meant) == 2
    assert texts(file.letters()) == ["ferry"]
    assert file.erase(is_meant) == 0


def test_what_is_to_be_handled_again_is_given_out_once_until_it_was_refused_again(file: DeadLetterFile) -> None:
    file.write([*refused("one", "two"), unreadable(b"garbage", 1, "malformed")])
    one, two, garbage = ids(file)
    assert file.again() == []
    assert file.send_again([one, one, garbage, 4711]) == 1
    assert file.has_changed()
    (again,) = file.again()
    assert (again.letter, again.envelope.message.batch, file.again()) == (one, "one", [])  # type: ignore[union-attr]

    file.write([refusal(again.envelope, 1, "still", letter=one)])
    assert {letter.id: (letter.reason, letter.count) for letter in file.letters()}[str(one)] == ("still", 2)
    assert file.again() == []
    file.send_again([one])
    assert [again.letter for again in file.again()] == [one]
    file.write([], done=[one])
    assert sorted(ids(file)) == [two, garbage]


def test_another_process_finds_what_is_to_be_handled_again(tmp_path: Path) -> None:
    node, person = DeadLetterFile(tmp_path / "bob.dlq"), DeadLetterFile(tmp_path / "bob.dlq")
    node.write(refused("one"))
    assert node.again() == []
    person.send_again(ids(person))
    assert node.has_changed()
    assert len(node.again()) == 1


def test_a_dead_letter_of_a_broker_is_handed_to_its_node(file: DeadLetterFile) -> None:
    file.adopt(DeadLetter("bob", envelope("old"), 7, "MaxDeliveryCountExceeded"))
    assert [again.envelope.message.batch for again in file.again()] == ["old"]  # type: ignore[union-attr]
    assert [(letter.attempts, letter.reason) for letter in file.letters()] == [(7, "MaxDeliveryCountExceeded")]


def test_a_message_that_ended_two_processes_is_known_until_a_person_wants_it_again(file: DeadLetterFile) -> None:
    poison = envelope("poison")
    hand = hand_of(poison)
    file.count_kill(hand)
    assert file.killers() == frozenset()
    file.count_kill(hand)
    assert file.killers() == {hand}
    file.write([refusal(poison, 3, "it kills")])
    assert file.killers() == {hand}
    file.send_again(ids(file))
    assert file.killers() == frozenset()


def test_only_the_latest_killers_are_remembered(file: DeadLetterFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "_KILLERS_MAX", 5)
    monkeypatch.setattr(dead_letters, "_now_ms", partial(next, count()))
    for number in range(20):
        for _ in range(2):
            file.count_kill(bytes([number]) * 16)
    assert len(file.killers()) == 5


def test_a_damaged_file_is_moved_aside_and_another_one_begun(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "bob.dlq").write_bytes(b"no database" * 1000)
    file = DeadLetterFile(tmp_path / "bob.dlq")
    file.write(refused("one"))
    assert texts(file.letters()) == ["one"]
    assert (tmp_path / "bob.dlq.damaged").read_bytes().startswith(b"no database")
    assert "moved to" in caplog.text


def test_an_envelope_that_has_no_bytes_is_kept_with_the_reason() -> None:
    file = DeadLetterFile(name="bob")
    file.write([refusal(msgspec.structs.replace(envelope("x"), id="\udc00"), 1, "it bites")])
    (letter,) = file.letters()
    assert letter.envelope is None
    assert letter.reason.startswith("it bites; ")


def test_letters_of_all_nodes_of_a_hive_are_listed_sent_again_and_dropped_by_ids_that_say_whose_they_are(tmp_path: Path) -> None:
    for name in ("ada", "bob"):
        DeadLetterFile(tmp_path / f"{name}.dlq").write(refused(f"to {name}"))
    files = files_in(tmp_path)
    letters = listed(files)
    assert {letter.id.partition("/")[0] for letter in letters} == {"@ada", "@bob"}
    assert send_again(files, [*(letter.id for letter in letters), "@nobody/1", "@ada/x", "12-0"]) == 2
    assert drop(files, ["@ada/1", "1"]) == 1
    assert [letter.name for letter in listed(files)] == ["bob"]


@settings(max_examples=30)
@given(data=st.binary(max_size=300), attempts=st.integers(1, 99), reason=st.text(max_size=50).filter(str.isprintable))
def test_any_bytes_are_kept_as_they_came(data: bytes, attempts: int, reason: str) -> None:
    file = DeadLetterFile(name="bob")
    file.write([unreadable(data, attempts, reason)])
    (letter,) = file.letters()
    assert letter.envelope is None
    assert (letter.data, letter.attempts, letter.reason) == (data, attempts, reason)
