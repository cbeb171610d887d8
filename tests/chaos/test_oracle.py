"""The oracle of the storms sees every broken promise there is to see, and nothing else."""

from tests.chaos.oracle import Oracle


def with_facts(*contents: str) -> Oracle:
    oracle = Oracle()
    for content in contents:
        oracle.begins_to_store(content)
        oracle.stored("ada", content)
    for name in ("ada", "ben", "cleo", "dan"):
        oracle.agreed(name, contents)
    return oracle


def test_a_fact_that_was_acknowledged_has_to_be_seen():
    oracle = with_facts("a", "b")
    assert oracle.lacking({"a", "b"}, 1.0) == ""
    assert "lacks 1 facts, such as 'b'" in oracle.lacking({"a"}, 1.0)
    assert oracle.lacking({"a", "b"}, 0.75) == "reached 75%"


def test_a_fact_that_was_taken_back_must_not_be_seen_again():
    oracle = with_facts("a", "b")
    oracle.begins_to_retract("b")
    assert oracle.lacking({"a"}, 1.0) == oracle.lacking({"a", "b"}, 1.0) == ""
    oracle.retracted("b")

    assert oracle.lacking({"a"}, 1.0) == ""
    assert "taken back" in oracle.lacking({"a", "b"}, 1.0)


def test_what_was_never_answered_may_be_seen_or_not():
    oracle = with_facts("a")
    oracle.begins_to_store("b")
    assert oracle.lacking({"a", "b"}, 1.0) == oracle.lacking({"a"}, 1.0) == ""


def test_an_answer_that_calls_itself_complete_has_what_everybody_had_seen():
    oracle = with_facts("a", "b")
    oracle.begins_to_store("new")
    oracle.stored("ben", "new")
    for contents, completeness in (({"a", "b"}, 1.0), ({"a"}, 0.5), (set(), 0.0)):
        oracle.saw_during_the_storm("dan", {"a", "b"}, contents, completeness)
    assert not oracle.violations

    oracle.saw_during_the_storm("dan", {"a", "b"}, {"a", "new"}, 1.0)
    assert oracle.violations == ["dan called an answer complete that lacked ['b']"]


def test_what_is_taken_back_while_somebody_looks_may_be_missing():
    oracle = with_facts("a", "b")
    before = set(oracle.stable)
    oracle.begins_to_retract("b")
    oracle.saw_during_the_storm("dan", before, {"a"}, 1.0)
    assert not oracle.violations


def test_what_was_told_is_acted_on_once_by_everybody_it_was_told_to():
    oracle = Oracle()
    oracle.was_told("hello", ["ben", "dan"])

    assert oracle.lacking_told("ada", []) == ""
    assert oracle.lacking_told("ben", [{"text": "hello", "times": 1}]) == ""
    assert oracle.lacking_told("dan", []) == "was not told 'hello'"
    assert not oracle.violations
    oracle.lacking_told("ben", [{"text": "hello", "times": 2}])
    oracle.lacking_told("dan", [{"text": "hello", "times": 1}, {"text": "hello", "times": 1}])
    assert len(oracle.violations) == 2
