"""The check that a moderator's word reaches what its node never had: it sees when it does not, and doubts where it must."""

from collections.abc import Callable
from unittest.mock import patch

import pytest

from hive_mind.hive.effects import Retract
from hive_mind.hive.policy.node_policy import NodePolicy
from hive_mind.sim import FACT_IDS, HOUR_MS, MINUTE_MS, MODERATOR
from hive_mind.sim.promises import check_moderated
from hive_mind.sim.world import World
from tests.sim.scenarios import live_on, promoted, world_of

# By which a word that was said is surely before what was done next.
A_WHILE_MS = 11 * MINUTE_MS


def moderated(world: World, node: str = "n0") -> None:
    world.request(world.machines[node], Retract(world.history.next_request(), (FACT_IDS[0],), MODERATOR))


def judged(between: Callable[[World], None] = lambda _: None, *, clock_error_ms: int = 0, is_heard: bool = False) -> str:
    """n1 says something, alone with its clock; a moderator at n0 takes it back. `between`: what happens before that."""
    world = world_of()
    author = world.machines["n1"]
    world.run(5 * MINUTE_MS)
    author.crash(loses_tail=False)
    author.clock_error_ms = clock_error_ms
    author.start()
    if not is_heard:
        world.network.divide(["n1"])
    promoted(world, "n1")
    world.run(A_WHILE_MS)
    between(world)
    moderated(world)
    world.run(A_WHILE_MS)
    world.network.join()
    world.run(30 * MINUTE_MS)
    return "".join(f"{one.invariant}: {one.what}" for one in check_moderated(world))


@pytest.fixture
def _deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect: what is taken back is taken back where it was when that was said, and nowhere else."""
    monkeypatch.setattr(NodePolicy, "covering", lambda *_: iter(()))


@pytest.mark.parametrize("clock_error_ms", [0, 40 * HOUR_MS, -HOUR_MS])
def test_nothing_to_see_where_a_moderators_word_reaches_all(clock_error_ms):
    assert judged(clock_error_ms=clock_error_ms) == ""


@pytest.mark.usefixtures("_deaf")
@pytest.mark.parametrize("clock_error_ms", [0, 40 * HOUR_MS, -HOUR_MS])
def test_it_sees_what_stays_though_it_was_said_before(clock_error_ms):
    assert "said before a moderator's r1, is live in all of n0" in judged(clock_error_ms=clock_error_ms)


def test_it_sees_a_stamp_ahead_of_the_time_that_nobody_takes_back():
    with patch("hive_mind.hive.policy.registry_service.ClockSkewRetraction.concede", return_value={}):
        assert "is live in all of n0" in judged(clock_error_ms=40 * HOUR_MS)


@pytest.mark.usefixtures("_deaf")
@pytest.mark.parametrize(
    "doubt",
    [lambda world: promoted(world, "n1"), lambda world: world.restored.add("n0")],
    ids=["it was said again", "the moderator's node was set back"],
)
def test_it_doubts(doubt):
    assert judged(doubt) == ""


def test_it_doubts_what_was_stamped_ahead_of_the_time_in_a_boot_that_is_over():
    def rebooted(world: World) -> None:
        world.machines["n1"].crash(loses_tail=False)
        world.machines["n1"].start()

    assert judged(rebooted, clock_error_ms=40 * HOUR_MS) == ""


def test_it_does_not_judge_by_what_a_node_said_that_thought_it_was_earlier():
    def behind(world: World) -> None:
        one = world.machines["n0"]
        one.crash(loses_tail=False)
        one.clock_error_ms = -2 * HOUR_MS
        one.start()

    assert judged(behind) == ""


def test_what_was_said_again_since_is_not_taken_back_on_the_word_of_one_wrong_clock():
    """The author hears first from the only member whose clock is behind: of two that differ it can't tell who is wrong."""
    world = world_of()
    world.run(5 * MINUTE_MS)
    late, author = world.machines["n2"], world.machines["n1"]
    late.clock_error_ms = -30 * MINUTE_MS
    author.crash(loses_tail=False)
    world.network.divide(["n1"])
    author.start()
    moderated(world)
    world.run(25 * MINUTE_MS)
    promoted(world, "n1")
    world.run(10 * MINUTE_MS)
    world.network.divide(["n0"])
    world.run(5 * MINUTE_MS)
    world.network.join()
    world.run(5 * MINUTE_MS)

    assert [live_on(world, name) for name in ("n0", "n1", "n2")] == [{"n1-agent0"}] * 3


def test_what_others_said_again_stays_though_the_moderators_clock_was_ahead():
    """Once its node knows the time it writes again what it took back: with the time when it did, and not when it found out."""
    world = world_of()
    world.run(5 * MINUTE_MS)
    promoted(world, "n2")
    ahead = world.machines["n0"]
    ahead.crash(loses_tail=False)
    ahead.clock_error_ms = 40 * HOUR_MS
    world.network.divide(["n0"])
    ahead.start()
    moderated(world)
    world.run(A_WHILE_MS)
    promoted(world, "n1")
    world.run(A_WHILE_MS)
    world.network.join()
    world.run(2 * HOUR_MS)

    assert [live_on(world, name) for name in ("n0", "n1", "n2")] == [{"n1-agent0"}] * 3
