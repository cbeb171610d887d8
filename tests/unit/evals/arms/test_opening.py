"""Cells that can't be are refused with what to do; a memory that is kept learns nothing twice.

A text that a data set has several times counts once, whichever of its documents is judged.
Keywords alone, chance, and everything at once.
"""

from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import Means, by_texts, firsts_of, texts_found
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.experiments import Arm, Cell, DataSource, Fault, Retrieval
from hive_mind.evals.metrics import score
from hive_mind.evals.running.cell import open_arm
from hive_mind.model.query import ComponentScores, Hit
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords, fact
from tests.unit.evals.arms.notes import NoVectors, drawn, scope_of, told

SIMULATED = Arm("flat", 3, place="simulator")


@pytest.mark.parametrize(
    ("arm", "fault", "mode", "what"),
    [
        (Arm("single", place="simulator"), Fault(), "lexical", "can't run in place 'simulator'"),
        (SIMULATED, Fault(loss=1.5), "lexical", "between 0 and 1"),
        (SIMULATED, Fault(slow=-1), "lexical", "0 or more"),
        (SIMULATED, Fault(down=3), "lexical", "no node is left"),
        *((arm, Fault(), "semantic", "needs an embedding model") for arm in (Arm("single"), Arm("sharded", 3), SIMULATED)),
        (Arm("flat", 3), Fault(loss=0.1), "lexical", "in the simulator only"),
        (Arm("flat", 3), Fault(slow=1, slow_ms=50), "lexical", "in the simulator only"),
        (Arm("single"), Fault(down=1), "lexical", "no nodes that could be down"),
        (Arm("bm25"), Fault(down=1), "lexical", "no nodes that could be down"),
        (Arm("flat", 3), Fault(down=1), "lexical", "with 1 of 1 nodes down no node is left to ask"),
        (Arm("federated", 6, groups=2), Fault(down=2), "lexical", "with 2 of 2 nodes down no node is left"),
        (Arm("federated", 3, groups=4), Fault(), "lexical", "leave some empty"),
        (Arm("flat", 0), Fault(), "lexical", "an arm needs at least one agent, not 0"),
        (Arm("flat", 3, deal="by moon"), Fault(), "lexical", "'by moon'; known: round-robin, session, speaker, topic, random"),
        (Arm("routed", 3, fan_out=1), Fault(), "lexical", "needs an embedding model"),
        *((Arm("routed", 3, fan_out=n), Fault(), "lexical", "between 1 and all 3 of its agents") for n in (0, 4)),
    ],
)
def test_what_can_not_be_is_refused(arm: Arm, fault: Fault, mode: str, what: str):
    with pytest.raises(InvalidInput, match=what):
        told(arm, drawn(), mode, fault=fault, embedder=NoVectors())


async def test_nothing_of_an_arm_is_on_disk(tmp_path: Path):
    settings = Settings(home=tmp_path, embed="none", ann="exact")

    for arm in (Arm("single"), Arm("sharded", 3), Arm("routed", 3, fan_out=1)):
        opened = await open_arm(Cell("cell", DataSource("notes"), arm, Retrieval(), 1), drawn(), Means(settings, BagOfWords()))
        await opened.close()

    assert list(tmp_path.iterdir()) == []


DOCUMENTS = {"a" * 32: ["d1", "d3"], "b" * 32: ["d2"]}


def hit(id: str) -> Hit:
    return Hit(fact(id=id), 1.0, ComponentScores(1.0, None, 0.0, 0.0, 0.0))


def test_all_documents_of_a_text_are_one_and_the_best_judgement_holds():
    question = LabelledQuestion("q", "Which?", {"d1": -1, "d3": 1, "d2": 1, "elsewhere": 1})

    assert by_texts(question, firsts_of(DOCUMENTS)).relevant == {"d1": 1, "d2": 1, "elsewhere": 1}


def test_who_finds_a_text_finds_its_first_document():
    assert texts_found([hit("b" * 32), hit("c" * 32), hit("a" * 32)], DOCUMENTS) == ["d2", "d1"]


def test_copies_of_one_text_neither_fill_the_first_k_nor_have_to_be_found_one_by_one():
    scope = scope_of(["red pump", *["red pump red"] * 5, "pump"], ["red pump"])
    arm = told(Arm(), scope, limit=3)
    question = by_texts(LabelledQuestion("q", "red pump", {"d5": 1, "d4": 1, "d6": 1}), firsts_of(arm.documents))
    found = texts_found(arm.outcomes[0].hits, arm.documents)

    assert set(found) == {"d0", "d1", "d6"}
    assert score(question, found, (), (), None, None, 3)["recall@3"] == 1.0


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
