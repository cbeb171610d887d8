import json

import pytest

from hive_mind.crdt.orset import Delta, Merged, ORSet
from hive_mind.model.evidence import actor_of, dot

LIAR = b"liar...."


def replicas(*names):
    return [ORSet(name) for name in names]


def test_removing_takes_only_dots_that_were_seen_and_pass():
    here, there = replicas("here", "there")
    mine = dict(here.add("a").added)
    there.merge(here)
    theirs = dict(there.add("a").added)
    here.merge(there)

    assert here.remove("a", only=lambda dot: dot in theirs).removed == theirs.keys()
    assert here.dots_of("a") == tuple(mine)


def test_sets_are_equal_that_hold_the_same_and_have_seen_the_same():
    here, there, fresh, gone = replicas("here", "there", "fresh", "gone")
    assert here == there == fresh
    (added,) = here.add("a").added
    assert here != there
    there.merge(here)
    gone.merge(here)
    assert here == there == gone
    gone.remove("a")
    # The one holds what the other has seen go; the other holds nothing, as one that has seen nothing.
    assert here != gone != fresh
    assert here != {"a"}
    # That something went is news once.
    versions = [fresh.version]
    for _ in range(2):
        fresh.merge(gone, heads={actor_of(added): 1})
        versions.append(fresh.version)
    assert versions[0] != versions[1] == versions[2]
    assert fresh == gone


def test_removing_what_is_not_there_changes_nothing_and_a_dot_that_is_dropped_twice_in_one_call_goes_once():
    (here,) = replicas("here")
    version = here.version
    assert here.remove("a") == here.drop([dot(LIAR, 1)]) == Delta({}, frozenset())
    assert here.version == version
    (added,) = here.add("a").added
    assert here.drop([added, added]).removed == {added}
    assert len(here) == 0


def test_a_new_dot_takes_the_place_of_those_it_supersedes():
    here, there = replicas("here", "there")
    (old,) = here.add("a").added
    there.merge(here)

    delta = here.add("a", supersedes=[old])
    there.apply(delta)

    assert there.dots_of("a") == here.dots_of("a") == tuple(delta.added)
    assert delta.removed == {old}


def test_applying_a_change_again_is_no_change():
    here, there = replicas("here", "there")
    delta = here.add_all(["a", "b"])

    assert set(there.apply(delta).added) == set(delta.added)
    version = there.version
    assert there.apply(delta) == Merged()
    assert there.version == version


def test_merging_tells_what_changed():
    here, there = replicas("here", "there")
    (shared,) = here.add("shared").added
    there.merge(here)
    (new,) = there.add("new").added
    there.remove("shared")

    assert here.merge(there) == Merged(added=(new,), removed=(shared,))
    assert here.merge(there) == Merged()


def test_a_set_merged_with_itself_stays_and_does_not_wait_for_ever():
    (here,) = replicas("here")
    here.add("a")
    version = here.version
    assert here.merge(here) == Merged()
    assert (here.items(), here.version) == ({"a"}, version)


def test_an_element_is_there_while_one_of_its_dots_is():
    here, there, third = replicas("here", "there", "third")
    for replica in (here, there, third):
        replica.add("a")
    here.merge(there)
    here.merge(third)

    assert len(here.dots_of("a")) == 3
    first, *others = here.dots_of("a")
    here.drop(others)
    assert "a" in here
    here.drop([first])
    assert "a" not in here
    assert here.dots_of("a") == ()


def test_a_removal_that_may_not_be_is_refused_and_named():
    here, there = replicas("here", "there")
    by_element = {element: dot for dot, element in here.add_all(["a", "b"]).added.items()}
    there.merge(here)
    there.remove("a")
    there.remove("b")

    merged = here.merge(there, may_remove=lambda dot: dot == by_element["a"])

    assert merged == Merged(removed=(by_element["a"],), refused=(by_element["b"],))
    assert here.items() == {"b"}


def test_a_replica_that_claims_to_have_seen_everything_removes_nothing_beyond_the_heads():
    here = ORSet("here")
    here.add_all([f"fact {n}" for n in range(100)])
    liar = ORSet.from_dict({"live": [], "context": {"up_to": {here.actor.hex(): 1 << 39}, "beyond": []}}, LIAR)

    kept = here.copy("kept")
    kept.merge(liar, may_remove=lambda _: False, heads={here.actor: 100})
    assert len(kept) == 100
    assert dict(kept.context.up_to) == {here.actor: 100}

    here.merge(liar, heads={})
    assert len(here) == 100


def test_a_lying_context_does_not_swallow_later_honest_facts():
    here, there = replicas("here", "there")
    liar = ORSet.from_dict({"live": [], "context": {"up_to": {there.actor.hex(): 1 << 39}, "beyond": []}}, LIAR)
    here.merge(liar, may_remove=lambda _: False, heads={there.actor: 0})
    here.apply(there.add("honest"))
    assert "honest" in here


def test_a_new_fact_is_taken_and_known_though_no_head_speaks_of_it():
    here, there = replicas("here", "there")
    (added,) = there.add("a").added
    here.merge(there, heads={})
    assert "a" in here
    assert here.has_seen(added)


def test_a_change_may_add_and_remove_one_dot():
    here, there = replicas("here", "there")
    (added,) = here.add("a").added
    assert there.apply(Delta({added: "a"}, frozenset([added]))) == Merged()
    assert "a" not in there
    assert there.has_seen(added)


def test_joining_contexts_keeps_live_dots_and_stops_what_was_removed_from_returning():
    here, there = replicas("here", "there")
    added = here.add("a")
    here.remove("a")

    there.join_context(here.context.up_to, here.context.beyond)
    there.apply(added)

    assert "a" not in there
    assert there == here


def test_tombstones_shrink_because_there_are_none():
    here, there = replicas("here", "there")
    for n in range(3_000):
        here.add(f"fact {n % 10}")
        here.remove(f"fact {n % 10}")
    there.merge(here)

    assert len(json.dumps(there.to_dict())) < 100
    assert (len(there.live), len(there.context.up_to), len(there.context.beyond)) == (0, 1, 0)


def test_removing_an_element_that_was_added_again_and_again_looks_at_live_dots_only():
    (here,) = replicas("here")
    for _ in range(100):
        here.add("a", supersedes=here.dots_of("a"))
    assert len(here.remove("a").removed) == 1


def test_what_is_handed_out_is_not_the_set_itself():
    (here,) = replicas("here")
    (added,) = here.add("a").added
    here.context.add(dot(LIAR, 1))
    assert not here.has_seen(dot(LIAR, 1))
    assert here.live == {added: "a"}
    with pytest.raises(TypeError):
        here.live[added] = "b"


def test_a_copy_writes_under_its_own_name():
    (here,) = replicas("here")
    here.add("a")
    twin = here.copy("twin")

    twin.add("b")
    here.add("c")
    here.merge(twin)

    assert here.items() == {"a", "b", "c"}


def test_changes_during_iteration_do_not_disturb():
    (here,) = replicas("here")
    here.add_all(["a", "b", "c"])
    for element in here:
        here.remove(element)
    assert len(here) == 0


def test_what_is_live_was_seen_even_if_the_text_forgets_to_say_so():
    (here,) = replicas("here")
    (added,) = here.add("a").added

    again = ORSet.from_dict(here.to_dict() | {"context": {"up_to": {}, "beyond": []}}, "again")

    assert again.has_seen(added)
    assert again == here


def test_equal_sets_of_another_history_are_written_alike():
    here, there = replicas("here", "there")
    first, second = here.add("a"), here.add("b")
    there.apply(second)
    there.apply(first)
    assert json.dumps(there.to_dict()) == json.dumps(here.to_dict())


def test_an_actor_that_is_no_actor_is_refused():
    with pytest.raises(ValueError, match="8 bytes"):
        ORSet(b"short")
