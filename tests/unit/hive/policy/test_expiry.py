from dataclasses import replace
from math import exp, isclose

from hive_mind.hive.effects import Now
from hive_mind.hive.policy.node_policy import (
    HOUR_MS,
    TTL_MAX_MS,
    ExpirySettings,
    FactTTL,
    Lifetime,
    confidence_now,
    decayed,
    is_expired,
    lifetime,
)
from hive_mind.model.evidence import Assertion, Stamp, Statement

HIVE_MS = 1_700_000_000_000
NOW = Now(wall_ms=5, mono_ms=50 * HOUR_MS)
ON = ExpirySettings(is_on=True)
SEEN_NOW = NOW.mono_ms


def said(ttl_ms: int = 0, expires_ms: int = 0) -> Assertion:
    return Assertion("f", "ann", "doc", 0.8, Stamp(HIVE_MS - HOUR_MS), Statement("The sky is blue."), ttl_ms, expires_ms)


def test_forgetting_is_off_unless_it_is_turned_on():
    assert confidence_now(0.8, Stamp(0), HIVE_MS, ExpirySettings()) == 0.8
    assert lifetime(0, HIVE_MS, ExpirySettings()) == Lifetime(0, 0)


def test_a_fact_from_the_future_has_not_faded():
    assert decayed(0.7, -5.0) == 0.7
    assert confidence_now(0.7, Stamp(HIVE_MS + HOUR_MS), HIVE_MS, ON) == 0.7


def test_without_its_authors_clock_a_time_to_live_is_counted_from_when_it_was_first_seen_and_so_is_the_grace():
    relative = said(ttl_ms=HOUR_MS)
    assert not is_expired(relative, SEEN_NOW - HOUR_MS + 1, HIVE_MS, NOW)
    assert is_expired(relative, SEEN_NOW - HOUR_MS, HIVE_MS, NOW)
    assert is_expired(relative, SEEN_NOW - HOUR_MS, HIVE_MS, Now(wall_ms=-(10**15), mono_ms=NOW.mono_ms))
    assert not is_expired(relative, SEEN_NOW - HOUR_MS - ON.grace_ms + 1, None, NOW, ON.grace_ms)
    assert is_expired(relative, SEEN_NOW - HOUR_MS - ON.grace_ms, None, NOW, ON.grace_ms)


def test_without_a_trusted_clock_here_an_authors_moment_is_not_believed_to_have_come():
    fresh = said(ttl_ms=HOUR_MS, expires_ms=1)
    assert not is_expired(fresh, SEEN_NOW, None, NOW)
    assert is_expired(fresh, SEEN_NOW - HOUR_MS, None, NOW)
    assert not is_expired(said(expires_ms=1), 0, None, NOW)


def test_an_author_writes_its_own_time_to_live_or_the_hives_and_no_moment_without_a_clock():
    assert lifetime(HOUR_MS, HIVE_MS, ON) == Lifetime(HOUR_MS, HIVE_MS + HOUR_MS)
    assert lifetime(0, HIVE_MS, ON) == Lifetime(24 * HOUR_MS, HIVE_MS + 24 * HOUR_MS)
    assert lifetime(HOUR_MS, None, ON) == Lifetime(HOUR_MS, 0)
    assert lifetime(HOUR_MS, HIVE_MS, ExpirySettings()) == Lifetime(HOUR_MS, HIVE_MS + HOUR_MS)
    assert lifetime(10**18, HIVE_MS, ON).ttl_ms == TTL_MAX_MS
    assert lifetime(0, HIVE_MS, replace(ON, max_age_hours=0.5)).ttl_ms == HOUR_MS // 2


def test_the_record_of_004_fades_and_expires_by_its_creation():
    record = FactTTL(created_ms=HIVE_MS, max_age_hours=24.0, decay_per_hour=0.01)
    assert isclose(record.confidence(1.0, HIVE_MS + HOUR_MS), exp(-0.01))
    assert not record.is_expired(HIVE_MS + 24 * HOUR_MS - 1)
    assert record.is_expired(HIVE_MS + 24 * HOUR_MS)
    assert record.age_hours(HIVE_MS - 1) == 0.0
