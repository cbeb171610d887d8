"""Whatever the size and the seed of a generated corpus, its labels are true of its turns."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.evals.generating import generate
from hive_mind.measure.results import holds_all, holds_any

SIZES = st.tuples(st.integers(200, 900), st.integers(4, 20), st.integers(0, 2**40))


@settings(max_examples=12, deadline=None)
@given(SIZES)
def test_what_is_asked_is_answered_by_the_relevant_turns_and_by_no_distractor(size):
    (scope,) = generate(*size).scopes
    texts = {document.id: document.text for document in scope.documents}

    for question in scope.questions:
        relevant = "\n".join(texts[id_] for id_, judgement in question.relevant.items() if judgement > 0)
        misleading = [texts[id_] for id_, judgement in question.relevant.items() if judgement < 0]
        assert question.is_answerable == bool(relevant) == bool(question.required)
        assert not question.required or holds_all(relevant, question.required)
        assert not any(holds_any(relevant, [keyword]) for keyword in (*question.forbidden, *question.superseded))
        assert not any(holds_any(text, [keyword]) for text in misleading for keyword in question.required)


@settings(max_examples=6, deadline=None)
@given(SIZES)
def test_the_same_size_and_seed_give_the_same_data_set_and_every_agent_speaks(size):
    turns, agents, _ = size
    dataset = generate(*size)
    assert dataset == generate(*size)
    assert dataset.documents == turns
    assert len({document.speaker for document in dataset.scopes[0].documents}) == agents
