from hive_mind.crdt.orset import GSet


def test_what_is_in_it_stays():
    redacted = GSet()
    assert redacted.add("a")
    assert not redacted.add("a")
    assert redacted.contains("a")
    assert "b" not in redacted


def test_merging_is_union_and_tells_what_was_new():
    here, there = GSet(["a", "b"]), GSet(["b", "c"])
    assert here.merge(there) == {"c"}
    assert here.items() == set(here) == {"a", "b", "c"}
    assert len(there) == 2


def test_what_it_hands_out_is_not_the_set_itself():
    here = GSet(["a"])
    here.items().add("b")
    assert "b" not in here
