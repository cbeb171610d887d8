"""Laws of an evaluation's arms: where facts lie decides nothing of what is found."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.evals.arms import DEALS
from hive_mind.evals.experiments import Arm
from tests.chance import examples
from tests.sampled import usually
from tests.unit.evals.arms.notes import WORDS, scope_of, told

pytestmark = pytest.mark.usefixtures("settled_heap")

# "hybrid" ranks by both of the others.
MODES = ("hybrid", "recent", "semantic", "lexical")
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
TEXTS = st.lists(TEXT, min_size=1, max_size=25, unique=True)
QUESTIONS = st.lists(TEXT, min_size=1, max_size=4)
DAY = st.sampled_from(["", "2026-01-01", "2026-01-02", "2026-01-02T10:00", "2026-02"])


@pytest.mark.parametrize("mode", usually(MODES, "hybrid"))
@settings(max_examples=max(3, examples() // 12))
@given(TEXTS, QUESTIONS, st.data(), st.sampled_from(DEALS), st.integers(1, 7), st.integers(1, 3), st.integers(1, 8))
def test_every_topology_finds_what_one_memory_finds(mode, texts, questions, data, deal, agents, replicas, limit):
    each = st.lists(DAY, min_size=len(texts), max_size=len(texts))
    names = st.lists(st.sampled_from(["a", "b", "c"]), min_size=len(texts), max_size=len(texts))
    fields = {name: data.draw(names, name) for name in ("section", "speaker", "topic")}
    spoken = [f"{speaker}: {text}" for speaker, text in zip(fields["speaker"], texts, strict=True)]
    before = data.draw(st.lists(st.sampled_from(["", *spoken]), min_size=len(texts), max_size=len(texts)), "before")
    scope = scope_of(texts, questions, said_at=data.draw(each), before=before, **fields)
    groups = data.draw(st.integers(1, agents), "groups")

    alone = told(Arm(), scope, mode, limit=limit)

    for arm in (
        Arm("flat", agents, deal=deal),
        Arm("federated", agents, groups, deal=deal),
        Arm("sharded", agents, replicas=replicas, deal=deal),
        Arm("routed", agents, deal=deal, fan_out=agents),
    ):
        shared = told(arm, scope, mode, limit=limit)
        assert shared.facts == alone.facts, arm
        assert shared.documents.keys() == alone.documents.keys()
        assert {one.cost.completeness for one in shared.outcomes} == {1.0}


@pytest.mark.parametrize("mode", usually(MODES, "hybrid"))
@settings(max_examples=max(3, examples() // 12))
@given(st.lists(st.sampled_from(WORDS[:6]), min_size=2, max_size=20), QUESTIONS, st.data(), st.sampled_from(DEALS))
def test_of_what_is_said_again_the_first_counts_wherever_it_lies(mode, texts, questions, data, deal):
    def each(*values):
        return data.draw(st.lists(st.sampled_from(values), min_size=len(texts), max_size=len(texts)))

    scope = scope_of(texts, questions, before=each("", "pump", "red door"), said_at=each("", "2026-01-01"), topic=each("a", "b"))
    agents = data.draw(st.integers(2, 6), "agents")

    alone = told(Arm(), scope, mode)

    for arm in (
        Arm("flat", agents, deal=deal),
        Arm("federated", agents, data.draw(st.integers(1, agents), "groups"), deal=deal),
        Arm("sharded", agents, replicas=2, deal=deal),
        Arm("routed", agents, deal=deal, fan_out=agents),
    ):
        shared = told(arm, scope, mode)
        assert shared.scored == alone.scored, arm
        assert shared.documents == alone.documents
