from hive_mind.hive.topology import Flat, ReplicaSet


def test_everybody_keeps_everything():
    flat = Flat(("b", "a", "c"))

    assert flat.nodes == ("a", "b", "c")
    assert flat.home("0" * 32, "a") == "all"
    assert flat.copies("0" * 32, "a", 1.0) == ()
    assert flat.write_set("0" * 32, "a", 0.1) == {"a", "b", "c"}
    assert flat.holders("all") == ("a", "b", "c")
    assert flat.held_by("b") == ("all",)
    assert flat.peers("b") == ("a", "c")
    assert flat.favoured(("all",)) == frozenset()


def test_one_is_asked_and_that_is_the_asker_if_it_can():
    flat = Flat(tuple("abcd"))
    assert flat.read_set("c") == (ReplicaSet("all", ("c", "d", "a", "b"), ("all",)),)
    (asked,) = flat.read_set("stranger")
    assert sorted(asked.members) == ["a", "b", "c", "d"]
