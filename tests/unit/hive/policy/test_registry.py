import gc
import json
import sys
from collections.abc import Callable

import pytest
from msgspec import structs

from hive_mind.crdt import DRIFT_MS
from hive_mind.errors import InvalidInput
from hive_mind.hive.policy import Unsealed
from hive_mind.hive.policy.admission import problem_with, rater_of, rating_key, subject_of
from hive_mind.hive.policy.registry import Registry, record_key
from hive_mind.model.evidence import Stamp
from hive_mind.model.messages import Appointment, RegistryEntry

NOW_MS = 1_700_000_000_000
GOOD = '{"good":3,"bad":1,"at_ms":5}'


def at(ms: int, actor: bytes = b"node-one") -> Stamp:
    return Stamp(NOW_MS + ms, 0, actor)


def copies() -> tuple[Registry, Registry]:
    return Registry(["mod"]), Registry(["mod"])


def test_equal_stamps_with_different_values_end_alike_everywhere():
    one, other = (RegistryEntry("trust/ann", value, at(1), "mod") for value in ("0.5", "1.5"))
    here, there = copies()
    here.take([one, other], NOW_MS)
    there.take([other, one], NOW_MS)
    assert here.entries() == there.entries()


def test_taking_an_entry_twice_changes_nothing():
    here, there = copies()
    entry = here.write("agent/ann", "{}", "ann", at(1))

    assert there.take([entry], NOW_MS) == (entry,)
    version = there.version

    assert there.take([entry], NOW_MS) == ()
    assert there.version == version


def test_a_later_stranger_does_not_shadow_a_moderator():
    here, _ = copies()
    here.write("trust/ann", "0.2", "mod", at(1))
    here.take([RegistryEntry("trust/ann", "2.0", at(50), "ann")], NOW_MS)
    assert here.get("trust/ann") == 0.2
    assert here.with_prefix("trust/") == {"trust/ann": 0.2}


def test_an_entry_that_arrives_before_its_writers_appointment_counts_from_then_on():
    here, _ = copies()
    here.take([RegistryEntry("trust/ann", "0.2", at(2), "may")], NOW_MS)
    assert here.get("trust/ann") is None

    here.take([RegistryEntry("moderator/may", "true", at(1), "mod")], NOW_MS)

    assert here.get("trust/ann") == 0.2
    assert here.moderators == {"mod", "may"}


@pytest.mark.parametrize(
    ("key", "by", "is_allowed"),
    [
        ("agent/ann", "ann", True),
        ("agent/ann", "mod", True),
        ("agent/ann", "bob", False),
        ("trust/ann", "mod", True),
        ("trust/ann", "ann", False),
        ("rating/ann/bob", "ann", True),
        ("state/ann/rate", "ann", True),
        ("state/ann/rate", "mod", False),
        ("rating/ann/bob", "mod", False),
        ("quarantine/f1", "ann", False),
        ("retracted/f1/ann", "ann", True),
        ("retracted/f1/ann", "bob", False),
        ("retracted/f1", "ann", False),
        ("retracted/f1", "", False),
        ("redacted/f1", "mod", True),
    ],
)
def test_who_may_write_what(key, by, is_allowed):
    assert (Registry(["mod"]).may_write(key, by) == "") is is_allowed


@pytest.mark.parametrize(("value", "trust"), [("8100", 2.0), ("-3", 0.0), ("1", 1.0), ("0.25", 0.25)])
def test_trust_is_clamped_when_written_and_when_read(value, trust):
    here, there = copies()
    written = here.write("trust/ann", value, "mod", at(1))
    there.take([RegistryEntry("trust/ann", value, at(1), "mod")], NOW_MS)
    assert json.loads(written.value) == here.get("trust/ann") == there.get("trust/ann") == trust


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "1e999", '"2.0"', "true", "null", "[1]", "{}", "1.0.0", "9" * 400, "[" * 3_999]
)
def test_trust_that_is_no_number_is_refused_with_a_reason(value):
    here, _ = copies()
    assert here.refusal("trust/ann", value, "mod")
    assert here.take([RegistryEntry("trust/ann", value, at(1), "mod")], NOW_MS) == ()
    with pytest.raises(InvalidInput):
        here.write("trust/ann", value, "mod", at(1))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rating/ann/bob", '{"good":-1,"bad":0,"at_ms":0}'),
        ("rating/ann/bob", '{"good":1,"bad":0}'),
        ("rating/ann/bob", '{"good":true,"bad":0,"at_ms":0}'),
        ("rating/ann/ann", GOOD),
        ("rating/ann/", GOOD),
        ("rating/ann", GOOD),
        ("rating//bob", GOOD),
        ("state/ann", "{}"),
        ("state//rate", "{}"),
        ("state/ann/", "{}"),
        ("state/ann/rate", "3"),
        ("moderator/ann", "1"),
        ("agent/ann", "[]"),
        ("agent/", "{}"),
        ("agent", "{}"),
        ("else/ann", "{}"),
        ("redacted/f", "false"),
        ("redacted/f", ""),
        ("retracted/f", ""),
        ("quarantine/f", '""'),
        ("agent/" + "a" * 1_001, "{}"),
        ("agent/ann", '{"a":"' + "x" * 4_000 + '"}'),
        ("agent/\ud800", "{}"),
    ],
)
def test_malformed_entries_are_passed_over(key, value):
    here = Registry(["ann"])
    assert here.take([RegistryEntry(key, value, at(1), "ann")], NOW_MS) == ()
    assert here.refusal(key, value, "ann")


@pytest.mark.parametrize(
    "stamp", [Stamp(-1), Stamp(1 << 60), Stamp(1, -1), Stamp(1, 0, b"x" * 65), (1, 2), Stamp("1"), Stamp(True), None]
)
def test_an_impossible_stamp_is_a_reason_and_no_error(stamp):
    assert problem_with(RegistryEntry("agent/ann", "{}", stamp, "ann"))


def test_deleting_takes_the_value_away_for_good():
    here, there = copies()
    old = here.write("agent/ann", '{"node":"n1"}', "ann", at(1))

    there.take([here.write("agent/ann", "", "ann", at(2)), old], NOW_MS)

    assert here.get("agent/ann") is there.get("agent/ann") is None
    assert here.with_prefix("agent/") == {}
    assert len(here) == len(there) == 1


def test_an_entry_from_beyond_hive_time_is_nobodys():
    here, _ = copies()
    latest = RegistryEntry("agent/ann", "{}", at(DRIFT_MS), "ann")
    assert here.take([latest, RegistryEntry("agent/bob", "{}", at(DRIFT_MS + 1), "bob")], NOW_MS) == (latest,)


def test_a_sweep_forgets_what_was_taken_before_the_clock_was_known_and_hands_back_ones_own():
    here, there = copies()
    mine = here.write("trust/ann", "0.5", "mod", at(10**9, b"me"))
    here.take([RegistryEntry("agent/bob", "{}", at(10**9, b"you"), "bob")], None)

    (own,) = here.sweep(NOW_MS, lambda entry: entry.stamp.actor == b"me")
    again = here.write_again(own, at(5, b"me"))
    there.take([mine, again], NOW_MS)

    assert own == mine
    assert here.entries() == (again,)
    assert here.get("trust/ann") == there.get("trust/ann") == 0.5
    assert here.fingerprint(b"s") == there.fingerprint(b"s")
    assert here.sweep(NOW_MS, lambda _: True) == []


def test_a_second_sweep_by_an_earlier_time_forgets_what_the_first_let_be():
    here, _ = copies()
    here.take([RegistryEntry("agent/ann", "{}", at(ms), "ann" if ms else "mod") for ms in (0, 10**9)], None)
    here.sweep(NOW_MS, lambda _: False)
    assert len(here) == 1
    here.sweep(NOW_MS - 10**9, lambda _: False)
    assert len(here) == 0


def test_the_fingerprint_depends_on_entries_and_session():
    here, there = copies()
    before = here.fingerprint(b"s")

    here.write("agent/ann", "{}", "ann", at(1))

    assert here.fingerprint(b"s") != before
    assert here.fingerprint(b"s") != here.fingerprint(b"t")
    assert there.fingerprint(b"s") == before


def test_names_with_slashes_keep_apart():
    key = rating_key("team/a%2F", "team/b")
    assert (rater_of(key), subject_of(key)) == ("team/a%2F", "team/b")
    assert Registry().may_write(key, "team/a%2F") == ""


def test_only_what_a_kind_depends_on_moves_its_version():
    here, _ = copies()
    before = here.version_of("trust", "rating")

    here.write("agent/ann", "{}", "ann", at(1))
    assert here.version_of("trust", "rating") == before

    here.write("moderator/may", "true", "mod", at(2))
    assert here.version_of("trust", "rating") > before


def test_what_somebody_decided_whom_a_revoked_key_appointed_counts_as_its_own():
    revoked = set[bytes]()

    class Names(Unsealed):
        is_on = True

        def seal(self, signer: str, _payload: bytes) -> bytes:
            return signer.encode()

        def is_revoked(self, seal: bytes, _at_ms: int) -> bool:
            return seal in revoked

    here = Registry(["mod"], 2, Names())
    here.write("moderator/may", "true", "mod", at(1))
    for number in range(5):
        entry = here.write(f"redacted/{number}", "true", "may", at(2 + number))
        assert entry.appointment == Appointment(at(1), "mod", b"mod")
    assert [entry.key for entry in here.entries() if entry.by == "may"] == [f"redacted/{number}" for number in range(5)]

    revoked.add(b"mod")

    assert {entry.key for entry in here.disown()} == {"moderator/may", "redacted/0", "redacted/1", "redacted/2"}
    assert [entry.key for entry in here.entries()] == ["redacted/3", "redacted/4"]


def test_what_anybody_may_write_bears_no_appointment():
    here, _ = copies()
    here.write("moderator/may", "true", "mod", at(1))
    assert here.write("agent/may", "{}", "may", at(2)).appointment is None
    assert here.write("redacted/1", "true", "mod", at(3)).appointment is None


def decided(value: str, ms: int, appointed_ms: int) -> RegistryEntry:
    """By may, as a moderator."""
    return RegistryEntry("trust/ann", value, at(ms), "may", appointment=Appointment(at(appointed_ms), "mod"))


APPOINTED, DISMISSED = (RegistryEntry("moderator/may", value, at(ms), "mod") for ms, value in ((1, "true"), (5, "false")))
REAPPOINTED = RegistryEntry("moderator/may", "true", at(8), "mod")
IN_OFFICE, AFTERWARDS, IN_BETWEEN = decided("0.5", 3, 1), decided("2", 6, 1), decided("2", 9, 1)


def both_ways(*entries: RegistryEntry) -> list[tuple[RegistryEntry, ...]]:
    """Every order is drawn in tests/laws."""
    return [entries, entries[::-1]]


@pytest.mark.parametrize("order", both_ways(APPOINTED, IN_OFFICE, DISMISSED, AFTERWARDS))
def test_a_dismissed_moderators_entries_are_nobodys_and_undo_nothing_that_it_decided_in_office(order):
    here = Registry(["mod"])

    for entry in order:
        here.take([entry], None)

    assert here.get("trust/ann") == 0.5
    assert set(here.entries()) == {APPOINTED, IN_OFFICE, DISMISSED}
    assert here.is_after_dismissal(AFTERWARDS)
    assert not here.is_after_dismissal(IN_OFFICE)


@pytest.mark.parametrize("order", both_ways(APPOINTED, DISMISSED, AFTERWARDS, REAPPOINTED, IN_BETWEEN))
def test_who_is_appointed_again_decides_from_then_on_and_what_it_said_in_between_stays_nobodys(order):
    here = Registry(["mod"])

    for entry in order:
        here.take([entry], None)
    again = here.write("trust/ann", "1.5", "may", at(10))

    assert here.get("trust/ann") == 1.5
    assert set(here.entries()) == {APPOINTED, DISMISSED, REAPPOINTED, again}


def test_whom_somebody_else_dismisses_stays_in_office():
    here = Registry(["mod"])
    here.take([APPOINTED, structs.replace(DISMISSED, by="eve"), AFTERWARDS], None)
    assert here.get("trust/ann") == 2.0


def test_what_was_written_after_a_dismissal_leaves_the_journal_when_that_is_heard_of():
    here = Registry(["mod"])
    here.take([APPOINTED, IN_OFFICE, AFTERWARDS, DISMISSED], None)
    assert here.take_overflown() == [AFTERWARDS]
    assert here.take_overflown() == []
    by_another = structs.replace(IN_OFFICE, by="mod")
    assert len({record_key(one) for one in (APPOINTED, IN_OFFICE, AFTERWARDS, DISMISSED, by_another)}) == 5


def calls_made(work: Callable[[], object]) -> int:
    """How many functions it calls: what it costs on any machine."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    # Collecting garbage calls what others have registered for it.
    gc.disable()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


def decide(here: Registry, ms: int) -> None:
    here.write("trust/ann", "0.5", "bo", at(ms))
    assert here.with_prefix("trust/") == {"trust/ann": 0.5}


def test_a_decision_costs_the_same_after_thousands_about_the_same_and_about_who_is_in_office():
    here, _ = copies()
    here.write("moderator/bo", "true", "mod", at(1))
    decide(here, 2)
    first = calls_made(lambda: decide(here, 3))

    version = here.version_of("trust")
    here.take([RegistryEntry("moderator/bo", "", at(ms), f"stranger {ms}") for ms in range(10, 2_010)], NOW_MS)
    assert (len(here), here.version_of("trust"), here.moderators) == (2_003, version, {"mod", "bo"})
    assert calls_made(lambda: decide(here, 4)) == first

    for ms in range(5, 2_000):
        decide(here, ms)
    assert len(here) == 2_003 + 1_996
    assert calls_made(lambda: decide(here, 2_000)) == first
