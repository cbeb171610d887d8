"""The demo's documents and questions agree with each other."""

from collections import Counter

from hive_mind.evals.demo import KINDS, documents, questions


def test_every_quote_stands_in_a_document_word_for_word():
    texts = [document.text for document in documents()]
    quotes = [(question.id, quote) for question in questions() for quote in question.evidence]
    assert [quoted for quoted in quotes if not any(quoted[1] in text for text in texts)] == []


def test_every_quote_lies_within_one_line_so_that_one_fact_can_hold_it():
    assert [quote for question in questions() for quote in question.evidence if "\n" in quote] == []


def test_questions_have_ids_of_their_own_and_a_kind():
    asked = questions()
    assert max(Counter(question.id for question in asked).values()) == 1
    assert max(Counter(question.question for question in asked).values()) == 1
    assert {question.kind for question in asked} == set(KINDS)


def test_only_the_unanswerable_have_neither_evidence_nor_keywords():
    for question in questions():
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
