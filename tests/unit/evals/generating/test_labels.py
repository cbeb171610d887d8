"""What a generated question says of its turns is true: what answers it does, what misleads does not, and nothing else answers."""

from collections.abc import Iterator

import pytest

from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.evals.generating import CATEGORIES, generate
from hive_mind.measure.results import holds_all, holds_any
from hive_mind.ranking.tokens import tokenize

SIZES = [(300, 10, 1), (1_000, 4, 2), (2_000, 150, 3), (5_000, 50, 4)]
INTENTS = {"why-decision", "how-it-works", "state-lookup", "cross-source", "adversarial"}
# Its answer is a number; turns that only use the number don't tell what it is the number of.
NAMES_ONLY = "identifier"
TOGETHER = {"synthesis", "incident-synthesis", "contradiction", "cross-agent"}


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: "-".join(map(str, size)))
def scope(request: pytest.FixtureRequest) -> Scope:
    (only,) = generate(*request.param).scopes
    return only


def judged(scope: Scope) -> Iterator[tuple[LabelledQuestion, list[Document], list[Document]]]:
    by_id = {document.id: document for document in scope.documents}
    for question in scope.questions:
        relevant = [by_id[id_] for id_, judgement in question.relevant.items() if judgement > 0]
        yield question, relevant, [by_id[id_] for id_, judgement in question.relevant.items() if judgement < 0]


def test_every_category_is_there(scope):
    assert {question.category for question in scope.questions} == set(CATEGORIES)
    assert len(CATEGORIES) == len(set(CATEGORIES)) >= 12


def test_what_an_answer_must_have_is_in_the_relevant_turns(scope):
    answerable = [(question, relevant) for question, relevant, _ in judged(scope) if question.is_answerable]
    assert answerable

    for question, relevant in answerable:
        text = "\n".join(document.text for document in relevant)
        assert question.required
        assert holds_any(question.answer, question.required), question
        assert holds_all(text, question.required), question
        assert holds_any(text, question.acceptable), question


def test_every_relevant_turn_is_needed_or_says_it_again(scope):
    for question, relevant, _ in judged(scope):
        if question.category in TOGETHER - {"cross-agent"}:
            assert all(holds_any(document.text, question.required) for document in relevant), question


def test_no_other_turn_about_the_same_thing_contains_the_answer(scope):
    about: dict[str, list[Document]] = {}
    for document in scope.documents:
        about.setdefault(document.topic, []).append(document)

    for question, relevant, _ in judged(scope):
        if question.category == NAMES_ONLY:
            continue
        for document in (other for topic in {one.topic for one in relevant} for other in about[topic]):
            if document.id not in question.relevant:
                assert not (question.required and holds_all(document.text, question.required)), (question, document.text)


def test_what_is_not_answerable_says_why_and_has_only_distractors(scope):
    unanswerable = [question for question in scope.questions if not question.is_answerable]
    assert {question.category for question in unanswerable} == {"unanswerable", "false-premise", "wrong-relation"}

    for question in unanswerable:
        assert question.gap
        assert set(question.relevant.values()) == {-1}
        assert not question.required
        assert question.forbidden
    assert not any(question.gap for question in scope.questions if question.is_answerable)


def test_questions_that_need_several_turns_need_several_agents(scope):
    for question, relevant, _ in judged(scope):
        if question.category in TOGETHER:
            assert len({document.speaker for document in relevant}) > 1, question


def test_values_that_were_true_before_are_distractors_of_what_is_true_now_and_was_said_later(scope):
    current = [one for one in judged(scope) if one[0].category == "current-value"]
    assert current

    for question, relevant, distractors in current:
        assert question.superseded
        assert all(any(holds_any(document.text, [value]) for document in distractors) for value in question.superseded)
        old = [document for document in distractors if holds_any(document.text, question.superseded)]
        assert max(document.said_at for document in old) < relevant[0].said_at


def test_nobody_knows_a_cause_before_there_is_an_alarm(scope):
    first: dict[str, Document] = {}
    for document in scope.documents:
        first.setdefault(document.topic, document)

    for question, relevant, _ in judged(scope):
        if question.category == "incident-cause":
            assert first[relevant[0].topic].kind == "log"
            assert first[relevant[0].topic].said_at < relevant[0].said_at


def test_intent_and_source_are_those_of_document_003(scope):
    for question, relevant, _ in judged(scope):
        kinds = {document.kind for document in relevant}
        assert question.intent in INTENTS
        assert question.source_bias == (kinds.pop() if len(kinds) == 1 else "mixed")


def test_questions_use_other_words_than_the_turns_that_answer_them(scope):
    shares = []
    for question, relevant, _ in judged(scope):
        names = {term for document in relevant for term in tokenize(f"{document.topic} {document.speaker}")}
        asked = set(tokenize(question.text)) - names
        said = {term for document in relevant for term in tokenize(document.text)}
        if relevant and asked:
            shares.append(len(asked & said) / len(asked))

    assert 0.1 < sum(shares) / len(shares) < 0.5


def test_what_only_seems_to_be_answered_is_asked_of_the_thing_that_the_misleading_turns_are_about(scope):
    asked = [(question, distractors) for question, _, distractors in judged(scope) if question.category == "wrong-relation"]
    assert asked

    for question, distractors in asked:
        assert len({document.topic for document in distractors}) == 1
        assert all(holds_any(document.text, question.forbidden) for document in distractors), question
        assert not holds_any(question.text, question.forbidden)
