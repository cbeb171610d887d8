"""The registry is a join: entries in any order, any number of times, by any road give the same state everywhere."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.crdt import DRIFT_MS
from hive_mind.hive.policy.admission import problem_with
from hive_mind.hive.policy.registry import Registry, _digest_of
from hive_mind.model.evidence import Stamp
from hive_mind.model.messages import Appointment, RegistryEntry

NAMES = ["ann", "bob", "mod", "may"]
KEYS = st.sampled_from(
    [f"{kind}/{name}" for kind in ("agent", "trust", "moderator", "quarantine", "redacted", "rating/ann") for name in NAMES]
)
VALUES = st.sampled_from(["", "true", "false", "1.5", "99", "{}", '{"good":1,"bad":2,"at_ms":3}', "[", "NaN"])
STAMPS = st.builds(Stamp, st.integers(0, 5), st.integers(0, 1), st.sampled_from([b"one", b"two"]))
APPOINTMENTS = st.none() | st.builds(Appointment, STAMPS, st.sampled_from(["mod", "may"]))
ENTRIES = st.lists(st.builds(RegistryEntry, KEYS, VALUES, STAMPS, st.sampled_from(NAMES), appointment=APPOINTMENTS), max_size=25)


def holding(*batches: list[RegistryEntry]) -> Registry:
    registry = Registry(["mod"])
    for batch in batches:
        registry.take(batch, None)
        registry.with_prefix("trust/")
    return registry


def state(registry: Registry) -> tuple[object, ...]:
    in_force = [registry.with_prefix(f"{kind}/") for kind in ("agent", "trust", "moderator", "quarantine", "redacted", "rating")]
    return registry.entries(), in_force, registry.moderators, registry.fingerprint(b"session"), len(registry)


@given(ENTRIES, st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(entries, chance):
    again = chance.sample(entries, len(entries)) + entries[:3]
    assert state(holding(entries)) == state(holding(again))


@given(ENTRIES, ENTRIES, ENTRIES)
def test_taking_over_anothers_entries_is_associative_commutative_and_idempotent(a, b, c):
    left = holding(list(holding(a, b).entries()), c)
    right = holding(a, list(holding(c, b).entries()))
    assert state(left) == state(right)
    assert left.take(right.entries(), None) == ()


def is_kept_for_ever(entry: RegistryEntry) -> bool:
    return entry.by == "mod" or (entry.appointment is not None and entry.appointment.by == "mod")


def is_nobodys(entry: RegistryEntry, all_entries: Iterable[RegistryEntry]) -> bool:
    """Whether it was stamped after a dismissal that followed the appointment it bears."""
    office = f"moderator/{entry.by}", "mod"
    ended = [one.stamp for one in all_entries if (one.key, one.by) == office and one.value in ("", "false")]
    return entry.appointment is not None and any(entry.appointment.stamp < stamp <= entry.stamp for stamp in ended)


def bounded(most: int, *batches: Iterable[RegistryEntry]) -> Registry:
    registry = Registry(["mod"], most)
    for batch in batches:
        registry.take(batch, None)
    return registry


@given(ENTRIES, st.integers(0, 3), st.randoms(use_true_random=False))
def test_what_stays_depends_on_no_order_and_of_what_appointed_moderators_decided_all_stays(entries, most, chance):
    """One by one, in any order: also a decision before the appointment of who decided it, and the limit reached in between."""
    one, other = (bounded(most, *([entry] for entry in chance.sample(entries, len(entries)))) for _ in range(2))

    assert state(one) == state(other)
    good = [entry for entry in entries if problem_with(entry) == ""]
    assert {entry for entry in holding(entries).entries() if is_kept_for_ever(entry)} <= set(one.entries())
    assert not [entry for entry in one.entries() if is_nobodys(entry, good)]


@given(ENTRIES, st.randoms(use_true_random=False))
def test_what_was_decided_in_office_stays_and_what_is_stamped_after_a_dismissal_is_kept_by_nobody(entries, chance):
    registry, good = holding(chance.sample(entries, len(entries))), [entry for entry in entries if problem_with(entry) == ""]
    in_office = {entry for entry in good if entry.appointment is not None}
    kept = {entry for entry in registry.entries() if entry.appointment is not None}
    assert kept == {entry for entry in in_office if not is_nobodys(entry, good)}


@given(ENTRIES, ENTRIES, ENTRIES, st.integers(1, 4))
def test_of_one_writer_the_newest_stay_in_whatever_order_they_come_and_of_founders_all(a, b, c, most):
    left = bounded(most, list(bounded(most, a, b).entries()), c)
    right = bounded(most, a, list(bounded(most, c, b).entries()))

    assert state(left) == state(right)
    everything = holding(a, b, c).entries()
    wanted = {entry for entry in everything if is_kept_for_ever(entry)}
    for name in {"ann", "bob", "may"}:
        own = [entry for entry in everything if entry.by == name and not is_kept_for_ever(entry)]
        wanted.update(sorted(own, key=lambda entry: (entry.stamp, _digest_of(entry)))[-most:])
    assert set(left.entries()) == wanted


@given(ENTRIES, ENTRIES)
def test_equal_fingerprints_mean_equal_entries(a, b):
    here, there = holding(a), holding(b)
    assert (here.fingerprint(b"s") == there.fingerprint(b"s")) == (here.entries() == there.entries())


@given(ENTRIES, st.integers(0, 5))
def test_after_a_sweep_nothing_lies_beyond_hive_time_and_the_rest_is_as_if_it_alone_had_come(entries, now_ms):
    registry = holding(entries)
    hive_now_ms = now_ms - DRIFT_MS

    kept = [entry for entry in registry.entries() if entry.stamp.ms <= now_ms]
    state(registry)  # Reading in between must leave nothing behind.
    own = [entry for entry in registry.entries() if entry.stamp.ms > now_ms and entry.by == "ann"]
    swept = registry.sweep(hive_now_ms, lambda entry: entry.by == "ann")

    assert state(registry) == state(holding(kept))
    assert swept == own


ANYTHING = st.text(max_size=12) | st.binary(max_size=3) | st.none() | st.integers() | st.floats()


@given(st.builds(RegistryEntry, KEYS | ANYTHING, VALUES | ANYTHING, STAMPS | ANYTHING, st.sampled_from(NAMES) | ANYTHING))
def test_any_entry_at_all_is_taken_or_has_a_reason(entry):
    is_taken = Registry(["mod"]).take([entry], None) == (entry,)
    assert is_taken == (problem_with(entry) == "")
