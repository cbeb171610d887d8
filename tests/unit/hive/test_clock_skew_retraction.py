"""What was said while a clock ran ahead, and taken back since: its stamp is later than any retraction."""

from hive_mind.hive.effects import Retracted
from tests.hives import HOUR_MS, MINUTE_MS, MODERATOR, PUMP_ID, Hive, keyring, sharded


def ahead(**options) -> tuple[Hive, str, str]:
    """A hive in which an author hears nobody, with a clock far ahead since it started; and a node that has none of the pump."""
    hive = Hive(sharded(3, replicas=1), **options)
    hive.wait(40_000)
    (holder,) = hive.topology.holders(hive.topology.home(PUMP_ID, ""))
    author, other = (name for name in hive.topology.nodes if name != holder)
    hive.is_lost = lambda sender, to, _: author in (sender, to)
    hive.clock.wall_ms += 40 * HOUR_MS
    hive.boot(author)
    return hive, author, other


def put_right(hive: Hive) -> None:
    """The clock is set, and everybody reaches everybody."""
    hive.clock.wall_ms -= 40 * HOUR_MS
    hive.is_lost = lambda *_: False
    hive.wait(90_000)


def test_a_moderator_who_has_nothing_of_it_takes_it_back_from_everybody():
    hive, author, other = ahead(seal_of=lambda name: keyring(name, MODERATOR))
    hive.say(author, agent=author)
    put_right(hive)
    assert len(hive.who_has()) == 2

    assert hive.take_back(other, by=MODERATOR) == [Retracted(PUMP_ID, 0, "")]
    hive.wait(5_000)

    assert hive.who_has() == set()


def test_also_where_the_author_hears_of_that_before_it_knows_the_time():
    hive, author, other = ahead()
    hive.say(author)
    hive.clock.wall_ms -= 40 * HOUR_MS
    hive.clock.pass_(1_000)
    hive.take_back(other, by=MODERATOR)
    hive.clock.wall_ms += 40 * HOUR_MS
    assert hive.who_has() == {author}

    put_right(hive)

    assert hive.who_has() == set()


def test_what_was_said_after_it_was_taken_back_stays():
    hive, author, other = ahead()
    hive.clock.wall_ms -= 40 * HOUR_MS
    hive.take_back(other, by=MODERATOR)
    hive.clock.wall_ms += 40 * HOUR_MS
    hive.wait(60_000)
    hive.say(author)

    put_right(hive)

    assert len(hive.who_has()) == 2


def test_an_author_who_took_it_back_and_said_it_again_has_said_it():
    hive, author, _ = ahead()
    hive.take_back(author)
    hive.say(author)

    put_right(hive)

    assert len(hive.who_has()) == 2


def test_nothing_is_taken_back_while_half_of_those_heard_have_another_time():
    hive = Hive(sharded(3, replicas=1), seal_of=lambda name: keyring(name, MODERATOR))
    hive.wait(40_000)
    (holder,) = hive.topology.holders(hive.topology.home(PUMP_ID, ""))
    author, other = (name for name in hive.topology.nodes if name != holder)
    hive.is_lost = lambda sender, to, _: author in (sender, to)
    hive.ahead_ms[holder] = -10 * MINUTE_MS
    hive.boot(author)
    hive.take_back(other, by=MODERATOR)
    hive.wait(7 * MINUTE_MS)
    hive.say(author, agent=author)
    hive.wait(5 * MINUTE_MS)

    hive.is_lost = lambda sender, to, _: {sender, to} == {author, other}
    hive.wait(90_000)

    assert hive.who_has() == {author, holder}
