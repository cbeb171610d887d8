"""How the demo counts.

The demo's documents and questions agree with each other.
"""

from collections import Counter

import pytest

from hive_mind.evals.demo import KINDS, DemoQuestion, documents, outcome, questions, summaries
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Answer
from hive_mind.model.query import ComponentScores, Hit

UNKNOWN = Answer("I don't know.", (), "unknown", 0.0)


def hit(text: str) -> Hit:
    return Hit(Fact(text, text, "", 0.8, ("test",), 0), 1.0, ComponentScores(1.0, None, 0.0, 0.0, 0.5))


def question(kind: str = "what", *evidence: str, keywords: tuple[str, ...] = ("blue",)) -> DemoQuestion:
    return DemoQuestion("q", "What colour?", kind, evidence, keywords if evidence else ())


@pytest.mark.parametrize(
    ("kind", "texts", "recall", "reciprocal_rank"),
    [("what", ("Ana: hello", "Ana: it is blue"), 1.0, 0.5), ("multi-hop", ("it is blue", "hello"), 0.5, 1.0)],
)
def test_any_one_quote_is_enough_but_where_a_question_has_several_steps(kind, texts, recall, reciprocal_rank):
    result = outcome(question(kind, "is blue", "painted blue"), [*map(hit, texts)], UNKNOWN)
    assert (result.recall, result.reciprocal_rank) == (recall, reciprocal_rank)


def test_an_answer_is_right_when_it_holds_an_accepted_word_and_not_knowing_where_nothing_is_known():
    known = Answer("It is blue.", (), "quoted", 0.8)
    assert outcome(question("what", "is blue"), [], known).is_right
    assert not outcome(question("what", "is blue", keywords=("green",)), [], known).is_right
    assert outcome(question("unanswerable"), [], UNKNOWN).is_right
    assert not outcome(question("what", "is blue"), [], UNKNOWN).is_right
    assert not outcome(question("unanswerable"), [], known).is_right


def test_a_summary_leaves_what_has_no_evidence_out_of_the_means():
    found = outcome(question("what", "is blue"), [hit("it is blue")], UNKNOWN)
    declined = outcome(question("unanswerable"), [hit("it is blue")], UNKNOWN)

    what, unanswerable, everything = summaries([found, declined])

    assert (what.kind, what.recall, what.unknown) == ("what", 1.0, 1)
    assert (unanswerable.recall, unanswerable.reciprocal_rank, unanswerable.right) == (None, None, 1)
    assert (everything.kind, everything.questions, everything.recall) == ("all", 2, 1.0)


def test_every_quote_stands_in_a_line_of_a_document_word_for_word():
    texts = [document.text for document in documents()]
    quotes = [(question.id, quote) for question in questions() for quote in question.evidence]
    # One line, so that one fact can hold it.
    assert [quoted for quoted in quotes if "\n" in quoted[1] or not any(quoted[1] in text for text in texts)] == []


def test_questions_have_ids_of_their_own_and_a_kind_and_only_the_unanswerable_neither_evidence_nor_keywords():
    asked = questions()
    assert max(Counter(question.id for question in asked).values()) == 1
    assert max(Counter(question.question for question in asked).values()) == 1
    assert {question.kind for question in asked} == set(KINDS)
    for question in asked:
        is_answerable = question.kind != "unanswerable"
        assert bool(question.evidence) == bool(question.keywords) == is_answerable, question.id


def test_no_question_copies_its_evidence():
    for question in questions():
        asked = question.question.lower().strip("?").split()
        runs = [" ".join(asked[start : start + 5]) for start in range(len(asked) - 4)]
        quoted = " ".join(question.evidence).lower()
        assert not [run for run in runs if run in quoted], question.id


def test_documents_are_called_by_different_file_names():
    sources = [document.source for document in documents()]
    assert len(set(sources)) == len(sources) == 14
    assert all(document.text.strip() for document in documents())
