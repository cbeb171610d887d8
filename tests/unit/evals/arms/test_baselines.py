"""Keywords alone, chance, and everything at once."""

import pytest

from hive_mind.evals.experiments import Arm
from hive_mind.ranking.pipeline import RankingSettings
from tests.unit.evals.arms.notes import drawn, scope_of, told


def test_keywords_alone_rank_as_one_memory_does_by_keywords_without_what_was_said_around_them():
    scope, alone = drawn(), RankingSettings(neighbour_weight=0.0)

    assert told(Arm("bm25"), scope).facts == told(Arm("single"), scope, "lexical", ranking=alone).facts


def test_keywords_alone_know_nothing_of_identifiers():
    scope = scope_of(["D40 D40 door door pump", "D40"] + ["valve hall"] * 2, ["is the pump near door D40 a valve in the hall"])
    (outcome,) = told(Arm("bm25"), scope).outcomes

    assert [hit.components.exact for hit in outcome.hits] == [0.0] * len(outcome.hits)
    assert [hit.score for hit in outcome.hits] == sorted((hit.score for hit in outcome.hits), reverse=True)
    assert outcome.hits[0].score == 1.0


def test_what_shares_no_word_with_a_question_is_not_found():
    assert told(Arm("bm25"), scope_of(["pump", "door"], ["ferry", "pump"])).found == [[], ["d0"]]


def test_chance_is_drawn_by_the_seed_and_the_question():
    scope = drawn()

    once, other = told(Arm("random"), scope), told(Arm("random"), scope, seed=2)

    assert once.facts != other.facts
    assert once.facts[0] != once.facts[1]
    assert {len(set(found)) for found in once.facts} == {10}
    assert {hit.score for outcome in once.outcomes for hit in outcome.hits} == {0.0}


def test_chance_can_not_draw_more_than_there_is():
    assert sorted(told(Arm("random"), scope_of(["pump", "door", "…"], ["pump"])).found[0]) == ["d0", "d1"]


def test_everything_is_handed_over_in_its_order_whatever_the_limit():
    scope = drawn()

    assert told(Arm("full-context"), scope, limit=3).found[0] == [document.id for document in scope.documents]


@pytest.mark.parametrize("kind", ["bm25", "random", "full-context", "single"])
def test_documents_of_the_same_words_are_one_fact(kind: str):
    one = told(Arm(kind), scope_of(["pump", "door", "pump"], ["pump"]))  # type: ignore[arg-type]

    assert sorted(one.documents.values()) == [["d0", "d2"], ["d1"]]
    assert one.learned.facts == 2
