"""Several threads at once: nothing deadlocks, crashes or is lost."""

import sys
from threading import Thread

import pytest

from hive_mind.crdt import HybridClock, LWWRegister
from hive_mind.crdt.orset import GSet, ORSet

ROUNDS = 150
# Long enough for any machine; only a deadlock gets here.
TIMEOUT_S = 30


@pytest.fixture(autouse=True)
def _hurried():
    """Threads take turns after every few operations instead of every few milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(*works):
    """Each in a thread of its own, again and again. What one raises is raised here."""
    errors = []

    def repeat(work):
        try:
            for number in range(ROUNDS):
                work(number)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test must tell
            errors.append(error)

    # Daemons: a deadlock must fail the test and not keep the run from ending.
    threads = [Thread(target=repeat, args=[work], daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S / len(threads))
    assert errors == []
    assert [thread for thread in threads if thread.is_alive()] == []


def test_two_threads_that_merge_each_way_do_not_wait_for_each_other():
    here, there = ORSet("here"), ORSet("there")
    here.add_all([f"here {n}" for n in range(300)])
    there.add_all([f"there {n}" for n in range(300)])

    at_once(lambda _: here.merge(there), lambda _: there.merge(here), lambda _: here.merge(here), lambda _: here == there)

    assert here == there
    assert len(here) == 600


def test_merging_while_others_write_loses_nothing():
    here, there = ORSet("here"), ORSet("there")

    at_once(
        lambda _: here.merge(there),
        lambda _: there.merge(here),
        lambda n: here.add(f"here {n}"),
        lambda n: there.add_all([f"there {n}", "again"]),
        lambda _: there.remove("again"),
        lambda _: (list(here), here.items(), here.to_dict(), here.copy(), here.context.to_dict(), here.dots_of("again")),
    )
    here.merge(there)
    there.merge(here)

    written = {f"here {n}" for n in range(ROUNDS)} | {f"there {n}" for n in range(ROUNDS)}
    assert here == there
    assert here.items() - {"again"} == written


def test_an_element_that_is_only_refreshed_never_seems_to_be_gone():
    here, there = ORSet("here"), ORSet("there")
    here.add("a")
    there.merge(here)
    looks = []

    at_once(
        lambda _: here.add("a", supersedes=here.dots_of("a")),
        lambda _: there.merge(here),
        lambda _: looks.extend("a" in replica for replica in (here, there) for _ in range(50)),
    )

    assert all(looks)


def test_writers_of_one_set_never_share_a_dot():
    here = ORSet("here")
    at_once(*[lambda n, w=w: here.add(f"{w} {n}") for w in range(4)])
    assert len(here.live) == len(here) == 4 * ROUNDS
    assert dict(here.context.up_to) == {here.actor: 4 * ROUNDS}


def test_deltas_applied_by_several_threads_all_count():
    deltas = [ORSet(f"writer {w}").add_all([f"{w} {n}" for n in range(ROUNDS)]) for w in range(4)]
    here = ORSet("here")
    at_once(*[lambda _, delta=delta: here.apply(delta) for delta in deltas])
    assert len(here) == 4 * ROUNDS


def test_growing_sets_merge_each_way_while_written():
    here, there = GSet(), GSet()

    at_once(
        lambda n: here.add(f"here {n}"),
        lambda n: there.add(f"there {n}"),
        lambda _: here.merge(there),
        lambda _: there.merge(here),
        lambda _: here.merge(here),
        lambda _: here.to_dict(),
    )
    here.merge(there)
    there.merge(here)

    assert here == there
    assert len(here) == 2 * ROUNDS


def test_registers_merge_each_way_while_written():
    here, there = LWWRegister("here"), LWWRegister("there")

    at_once(
        lambda n: here.set(n, n),
        lambda n: there.set(n, n),
        lambda _: here.merge(there),
        lambda _: there.merge(here),
        lambda _: here.merge(here),
    )
    here.merge(there)
    there.merge(here)

    assert here == there
    assert here.get() == ROUNDS - 1


def test_a_clock_never_gives_one_stamp_twice():
    clock = HybridClock(b"here....")
    given = []
    at_once(*[lambda n: given.append(clock.tick(n // 10)) for _ in range(4)])
    assert len(set(given)) == 4 * ROUNDS
