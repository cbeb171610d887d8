import pytest

from hive_mind.hive.effects import Now
from hive_mind.hive.heartbeats import HiveClock
from hive_mind.model.messages import ClockSample

TRUE_MS = 1_700_000_000_000
YEARS_10_MS = 315_360_000_000
HOUR_MS = 3_600_000


def here(off_ms: int = 0, mono_ms: int = 500_000) -> Now:
    """This machine's clocks, the wall's off by so much. Hive time is TRUE_MS at monotonic 500,000."""
    return Now(TRUE_MS + mono_ms - 500_000 + off_ms, mono_ms)


def sample(now: Now, off_ms: int = 0, round_trip_ms: int = 40) -> ClockSample:
    """What a peer, its wall off by so much, answered half a round trip ago."""
    answered = now.mono_ms - round_trip_ms // 2
    return ClockSample(TRUE_MS + answered - 500_000 + off_ms, 7, now.mono_ms - round_trip_ms)


def voted(own_off_ms: int, *peers_off_ms: int) -> tuple[HiveClock, Now]:
    time, now = HiveClock(members=len(peers_off_ms) + 1), here(own_off_ms)
    for number, off_ms in enumerate(peers_off_ms):
        time.vote(f"peer-{number}", sample(now, off_ms), now)
    return time, now


def test_a_hive_of_one_node_is_synced_and_follows_its_wall_clock():
    time = HiveClock()

    assert time.is_synced
    assert time.trusted_ms(here(5)) == time.now_ms(here(5)) == TRUE_MS + 5


@pytest.mark.parametrize(("own_off_ms", "peers_off_ms"), [(YEARS_10_MS, (0, 0, 0, 0)), (0, (YEARS_10_MS,)), (YEARS_10_MS, (0,))])
def test_one_clock_that_is_ten_years_ahead_is_put_right_by_the_others_and_of_two_the_earlier_counts(own_off_ms, peers_off_ms):
    time, now = voted(own_off_ms, *peers_off_ms)

    assert time.trusted_ms(now) == TRUE_MS


def test_one_peer_that_is_ten_years_ahead_moves_nobody():
    for peers in ([YEARS_10_MS, 0], [YEARS_10_MS, 0, 0, 0], [0, 0, 0, YEARS_10_MS]):
        time, now = voted(0, *peers)

        assert time.trusted_ms(now) == TRUE_MS


def test_nothing_is_trusted_before_more_than_half_of_the_members_have_spoken_each_of_which_has_one_vote():
    time, now = HiveClock(members=4), here(HOUR_MS)

    for _ in range(5):
        time.vote("b", sample(now), now)
    assert not time.is_synced
    assert time.trusted_ms(now) is None

    time.vote("c", sample(now), now)
    assert time.is_synced
    assert time.trusted_ms(now) == TRUE_MS


def test_half_of_those_that_speak_move_nobody_who_knows_the_time():
    time, now = voted(0, 0, 0)

    later = here(mono_ms=now.mono_ms + 2 * HOUR_MS)
    time.vote("peer-0", sample(later, -HOUR_MS), later)
    assert time.trusted_ms(later) == later.wall_ms

    time.vote("peer-1", sample(later, -HOUR_MS), later)
    assert time.trusted_ms(later) == later.wall_ms - HOUR_MS


@pytest.mark.parametrize(
    ("members", "votes_off_ms", "is_disputed"),
    [(3, (-HOUR_MS,), True), (3, (-HOUR_MS, 14_000), False), (3, (0,), False), (3, (-14_000,), False), (2, (-HOUR_MS,), False)],
)
def test_the_time_is_disputed_while_as_many_say_another_and_somebody_has_not_spoken(members, votes_off_ms, is_disputed):
    time, now = HiveClock(members), here()

    for number, off_ms in enumerate(votes_off_ms):
        time.vote(f"peer-{number}", sample(now, off_ms), now)

    assert (time.is_synced, time.is_disputed(now)) == (True, is_disputed)


def test_a_sample_is_only_as_good_as_its_round_trip_and_one_that_answers_nothing_is_no_vote():
    time, now = HiveClock(members=2), here(mono_ms=8_000_000)

    for answer in (
        ClockSample(TRUE_MS, 7, 0),
        *(sample(now, HOUR_MS, round_trip_ms) for round_trip_ms in (-5, 10_001, 7_200_000)),
    ):
        assert not time.vote("b", answer, now)
    assert not time.is_synced


def test_small_differences_move_nothing_and_need_no_write():
    time, now = voted(0, 0, 0)

    assert not time.vote("peer-0", sample(now, 14_000), now)
    assert not time.vote("peer-1", sample(now, 14_500), now)
    assert time.offset_ms == 0


def test_a_move_says_that_it_must_be_kept():
    time, now = HiveClock(members=3), here(HOUR_MS)

    assert not time.vote("b", sample(now, HOUR_MS), now)
    assert not time.vote("c", sample(now), now)
    assert time.vote("b", sample(now), now)
    assert time.offset_ms == -HOUR_MS


def test_a_wall_clock_that_steps_does_not_take_hive_time_along_and_votes_from_before_it_still_count():
    time, _ = voted(0, 0, 0, 0, 0)
    later = here(off_ms=YEARS_10_MS, mono_ms=600_000)
    assert time.trusted_ms(later) == TRUE_MS + 100_000

    time.vote("peer-0", sample(later), later)

    assert time.trusted_ms(later) == TRUE_MS + 100_000


def test_old_votes_are_forgotten():
    time, _ = voted(0, 0, 0, 0, 0)
    later = here(off_ms=0, mono_ms=500_000 + HOUR_MS)

    assert not time.vote("peer-0", sample(later, HOUR_MS), later)
    assert time.offset_ms == 0


def test_a_kept_offset_is_a_guess_until_the_members_have_spoken_again():
    time, now = HiveClock(members=3, offset_ms=-HOUR_MS), here(HOUR_MS)

    assert time.now_ms(now) == TRUE_MS
    assert time.trusted_ms(now) is None


def test_a_member_that_left_has_no_vote():
    time, now = HiveClock(members=4), here()
    time.vote("b", sample(now), now)

    time.rearrange(["a", "c", "d", "e"])
    time.vote("c", sample(now), now)

    assert not time.is_synced


@pytest.mark.parametrize(
    ("own", "others", "ahead"),
    [
        (0, (), 0),
        (0, (0, 0), 0),
        (HOUR_MS, (0, 0), HOUR_MS),
        (-HOUR_MS, (0, 0), -HOUR_MS),
        # One of the others is off: that is told of itself, not of this one.
        (0, (0, HOUR_MS), 0),
        (0, (0, 0, HOUR_MS), 0),
        (HOUR_MS, (0, 0, -YEARS_10_MS), HOUR_MS),
        # Of two nobody can say which: both say it.
        (0, (HOUR_MS,), -HOUR_MS),
    ],
)
def test_a_clock_is_as_far_off_as_it_is_from_the_middle_of_the_others(own: int, others: tuple[int, ...], ahead: int):
    time, now = voted(own, *others)

    assert time.ahead_ms(now) == ahead
