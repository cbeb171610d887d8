"""How the demo counts."""

from hive_mind.evals.demo import DemoQuestion
from hive_mind.evals.demo.scoring import outcome, summaries
from hive_mind.model.answer import Answer
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.model.scores import ComponentScores

UNKNOWN = Answer("I don't know.", (), "unknown", 0.0)


def hit(text: str) -> Hit:
    return Hit(Fact(text, text, "", 0.8, ("test",), 0), 1.0, ComponentScores(1.0, None, 0.0, 0.0, 0.5))


def question(kind: str = "what", *evidence: str, keywords: tuple[str, ...] = ("blue",)) -> DemoQuestion:
    return DemoQuestion("q", "What colour?", kind, evidence, keywords if evidence else ())


def test_any_one_quote_is_enough_for_a_simple_question():
    result = outcome(question("what", "is blue", "painted blue"), [hit("Ana: hello"), hit("Ana: it is blue")], UNKNOWN)
    assert (result.recall, result.reciprocal_rank) == (1.0, 0.5)


def test_a_question_of_several_steps_needs_all_its_quotes():
    result = outcome(question("multi-hop", "is blue", "painted blue"), [hit("it is blue"), hit("hello")], UNKNOWN)
    assert (result.recall, result.reciprocal_rank) == (0.5, 1.0)


def test_an_answer_is_right_when_it_holds_an_accepted_word():
    known = Answer("It is blue.", (), "quoted", 0.8)
    assert outcome(question("what", "is blue"), [], known).is_right
    assert not outcome(question("what", "is blue", keywords=("green",)), [], known).is_right


def test_not_knowing_is_right_only_where_nothing_is_known():
    assert outcome(question("unanswerable"), [], UNKNOWN).is_right
    assert not outcome(question("what", "is blue"), [], UNKNOWN).is_right
    assert not outcome(question("unanswerable"), [], Answer("It is blue.", (), "quoted", 0.8)).is_right


def test_a_summary_leaves_what_has_no_evidence_out_of_the_means():
    found = outcome(question("what", "is blue"), [hit("it is blue")], UNKNOWN)
    declined = outcome(question("unanswerable"), [hit("it is blue")], UNKNOWN)

    what, unanswerable, everything = summaries([found, declined])

    assert (what.kind, what.recall, what.unknown) == ("what", 1.0, 1)
    assert (unanswerable.recall, unanswerable.reciprocal_rank, unanswerable.right) == (None, None, 1)
    assert (everything.kind, everything.questions, everything.recall) == ("all", 2, 1.0)
