"""Who may what, whom to believe, and how long: as a node judges it, by the registry, by hive time and by nothing else."""

from dataclasses import replace
from math import exp

import pytest

from hive_mind.hive.effects import Tick
from hive_mind.hive.heartbeats import HiveClock
from hive_mind.hive.policy import UNSEALED, Unsealed
from hive_mind.hive.policy.node_policy import ExpirySettings, NodePolicy, PolicySettings
from hive_mind.hive.policy.registry import Registry
from hive_mind.model.evidence import Sealed, Stamp, dot
from hive_mind.model.messages import RegistryEntry
from tests.hives import FIRST_MS, FORGETFUL, HOUR_MS, MODERATOR, PUMP, PUMP_ID, Clock, Hive, assertion, flat, sharded

DAY_MS = 24 * HOUR_MS
# 0.8 after ten hours.
FADED = 0.8 * exp(-10 * ExpirySettings().decay_per_hour)


def policy(expiry: ExpirySettings | None = None) -> NodePolicy:
    tuned = PolicySettings(moderators=(MODERATOR,), expiry=expiry or ExpirySettings())
    return NodePolicy(tuned, UNSEALED, Registry((MODERATOR,)), HiveClock(1)).at(Clock()())


def tell(one: NodePolicy, key: str, value: str = "true", by: str = MODERATOR, ms: int = FIRST_MS) -> None:
    one.registry.take([RegistryEntry(key, value, Stamp(ms, 0, b"a boot"), by)], None)


def test_moderators_are_those_it_was_set_up_with_and_those_they_appoint():
    one = policy()
    assert (one.is_moderator(MODERATOR), one.is_moderator("ann")) == (True, False)
    tell(one, "moderator/ann")
    tell(one, "moderator/bo", by="ann")
    assert (one.is_moderator("ann"), one.is_moderator("bo")) == (True, False)


def test_a_moderators_word_covers_everything_up_to_it_and_an_agents_only_its_own():
    one = policy()
    tell(one, f"retracted/{PUMP_ID}", ms=FIRST_MS + 10)

    assert one.is_withdrawn(assertion(ms=FIRST_MS + 9))
    assert one.is_withdrawn(assertion(ms=FIRST_MS + 10))
    assert not one.is_withdrawn(assertion(ms=FIRST_MS + 11))
    assert not one.is_withdrawn(assertion("Another."))

    other = policy()
    tell(other, f"retracted/{PUMP_ID}/ines", by="ines", ms=FIRST_MS + 10)
    assert other.is_withdrawn(assertion())
    assert not other.is_withdrawn(assertion(agent="bo"))
    assert not other.is_withdrawn(assertion(ms=FIRST_MS + 11))


def test_quarantine_ends_when_a_moderator_says_so():
    one = policy()
    tell(one, f"quarantine/{PUMP_ID}")
    assert one.is_quarantined(PUMP_ID)
    tell(one, f"quarantine/{PUMP_ID}", "false", ms=FIRST_MS + 1)
    assert not one.is_quarantined(PUMP_ID)


def test_the_version_grows_with_what_can_change_a_judgement_and_with_nothing_else():
    one = policy()
    versions = [one.version]
    for key, value in (
        ("trust/ines", "1.5"),
        (f"quarantine/{PUMP_ID}", "true"),
        (f"redacted/{PUMP_ID}", "true"),
        ("moderator/bo", "true"),
    ):
        tell(one, key, value)
        versions.append(one.version)

    assert versions == sorted(set(versions))


def aged(one: NodePolicy, ms: int) -> NodePolicy:
    return one.at(replace(one.now, wall_ms=one.now.wall_ms + ms, mono_ms=one.now.mono_ms + ms))


def test_confidence_fades_by_the_age_of_the_assertion_however_often_one_looks_and_at_which_times():
    one = policy(ExpirySettings(is_on=True))
    looks = [aged(one, ms).faded(0.8, Stamp(FIRST_MS)) for ms in (0, 10 * HOUR_MS, 0, -10 * HOUR_MS)]
    assert looks == [0.8, FADED, FADED, 0.8]


def test_without_forgetting_nothing_fades_and_nothing_expires():
    one = aged(policy(), 1_000 * DAY_MS)
    given = Sealed(dot(b"8 bytes!", 1), assertion(ttl_ms=1, expires_ms=FIRST_MS + 1))
    assert one.faded(0.8, Stamp(FIRST_MS)) == 0.8
    assert (one.is_visible(given), one.is_expired(given), one.may_expire()) == (True, False, False)


def test_expired_is_hidden_at_once_and_collected_after_the_grace():
    one = policy(ExpirySettings(is_on=True))
    given = Sealed(dot(b"8 bytes!", 1), assertion(ttl_ms=HOUR_MS, expires_ms=FIRST_MS + HOUR_MS))
    grace_ms = one.settings.expiry.grace_ms

    assert one.is_visible(given)
    one = aged(one, HOUR_MS)
    assert (one.is_visible(given), one.is_expired(given)) == (False, False)
    one = aged(one, grace_ms - 1)
    assert not one.is_expired(given)
    one = aged(one, 1)
    assert one.is_expired(given)


def test_without_a_trusted_clock_the_time_counts_from_when_it_was_seen_and_a_wall_clock_changes_nothing():
    one = policy(ExpirySettings(is_on=True))
    one.time.rearrange(["n0", "n1", "n2"])
    given = Sealed(dot(b"8 bytes!", 1), assertion(ttl_ms=HOUR_MS, expires_ms=0))
    one.note_first_seen([given])

    one = one.at(replace(one.now, wall_ms=one.now.wall_ms + 3_650 * DAY_MS))
    assert one.is_visible(given)
    assert one.faded(0.8, Stamp(FIRST_MS)) == 0.8

    one = one.at(replace(one.now, mono_ms=one.now.mono_ms + HOUR_MS))
    assert not one.is_visible(given)


def test_what_is_gone_is_not_remembered_as_seen():
    one = policy(ExpirySettings(is_on=True))
    stays, goes = (Sealed(dot(b"8 bytes!", n), assertion(ttl_ms=HOUR_MS)) for n in (1, 2))
    one.note_first_seen([stays, goes])
    one.forget_first_seen([stays])
    assert set(one.first_seen) == {(PUMP_ID, stays.dot)}


@pytest.fixture(params=["single", "flat", "sharded"])
def hive(request) -> Hive:
    made = Hive({"single": lambda: flat("n0"), "flat": flat, "sharded": sharded}[request.param](), FORGETFUL)
    made.wait(60_000)
    return made


def later(hive: Hive, ms: int) -> None:
    hive.wait(ms, step_ms=300_000)


def test_a_time_to_live_in_seconds_is_kept_to_the_second(hive):
    hive.say("n0", ttl_ms=90_000)
    hive.say("n0", "It stays.", ttl_ms=HOUR_MS, concept="")

    hive.clock.pass_(89_000)
    assert hive.found("n0") == [PUMP]
    hive.clock.pass_(1_000)

    for name in hive.topology.nodes:
        assert hive.found(name) == []
        assert PUMP not in hive.found(name, "")
    assert [fact.content for fact in hive.listed("n0").facts] == ["It stays."]


def test_what_is_collected_is_gone_everywhere_and_does_not_return(hive):
    hive.say("n0", ttl_ms=HOUR_MS)

    later(hive, 2 * HOUR_MS)

    assert hive.who_has() == set()
    names = list(hive.topology.nodes)
    assert all(not share for share in hive.live(names[0]).values())
    for name in names:
        hive.boot(name)
    later(hive, HOUR_MS)
    assert hive.who_has() == set()


def test_a_refresh_gives_a_new_time_and_collecting_the_old_one_leaves_it(hive):
    hive.say("n0", ttl_ms=HOUR_MS)
    later(hive, HOUR_MS // 2)

    hive.say("n0", ttl_ms=2 * HOUR_MS)
    later(hive, HOUR_MS + HOUR_MS // 2)

    assert hive.found("n0") == [PUMP]
    assert len(hive.listed("n0").facts[0].provenance) == 1


@pytest.mark.parametrize("hive", ["flat"], indirect=True)
def test_gossip_makes_nothing_immortal(hive):
    """However often it is passed on, an assertion expires when its author said."""
    hive.say("n0", ttl_ms=DAY_MS)
    for _ in range(23):
        later(hive, HOUR_MS)
        assert hive.found("n0") == [PUMP]

    later(hive, 2 * HOUR_MS)
    assert hive.who_has() == set()


def test_confidence_is_what_was_said_however_often_it_was_read_and_passed_on(hive):
    hive.say("n0", confidence=0.8)
    later(hive, 10 * HOUR_MS)

    for _ in range(5):
        for name in hive.topology.nodes:
            assert hive.ask(name).evidence.confidence[0] == pytest.approx(FADED, abs=1e-3)
    (given,) = {
        given.assertion
        for node in hive.nodes.values()
        for share in node.partitions.shares.values()
        for given in share.all_sealed()
    }
    assert given.confidence == 0.8


def test_one_clock_that_is_ten_years_ahead_forgets_nothing_early():
    hive = Hive(flat("n0", "n1", "n2", "n3"), FORGETFUL)
    hive.wait(60_000)
    hive.say("n0", ttl_ms=DAY_MS)

    node = hive.nodes["n3"]
    ahead = replace(hive.clock(), wall_ms=hive.clock.wall_ms + 3_650 * DAY_MS)
    node.keep_house_next()
    hive.perform("n3", node.handle(Tick(), ahead))
    hive.deliver()

    assert hive.who_has() == {"n0", "n1", "n2", "n3"}


class SealSince(Unsealed):
    since_ms = FIRST_MS


@pytest.mark.parametrize(
    ("behind_ms", "stamped_ms"), [(40 * 365 * DAY_MS, FIRST_MS), (0, FIRST_MS), (-HOUR_MS, FIRST_MS + HOUR_MS)]
)
def test_nothing_is_stamped_before_its_certificate_begins_however_wrong_the_clock(behind_ms: int, stamped_ms: int):
    clock = Clock()
    clock.wall_ms -= behind_ms
    one = NodePolicy(PolicySettings(), SealSince(), Registry(()), HiveClock(1)).at(clock())
    assert one.hive_ms() == stamped_ms
