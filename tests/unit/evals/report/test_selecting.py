"""Cells stand side by side only where they were asked the same questions and rank in the same way."""

import pytest
from msgspec.structs import replace

from hive_mind.evals.experiments import Arm, Fault, Retrieval
from hive_mind.evals.metrics import metric_name
from hive_mind.evals.report.selecting import arm_name, cell_name, fault_name, representatives, settings_of
from hive_mind.evals.scorecard import read_scorecard
from tests.unit.evals.report.invented import experiment, write_run

ARMS = (Arm("single"), Arm("sharded", 10), Arm("sharded", 2), Arm("sharded", 100, place="simulator"))


@pytest.fixture
def card(tmp_path):
    rankings = (Retrieval(), Retrieval("words", "lexical"))
    wanted = experiment("Letters", "Minutes", arms=ARMS, faults=[Fault(), Fault(down=1)], retrieval=rankings)
    return read_scorecard(write_run(tmp_path / "run", wanted, questions=5))


def test_each_data_set_is_shown_under_each_ranking_with_the_baselines_beside_it(card):
    found = settings_of(card)

    assert [one.name for one in found] == ["Letters, hybrid", "Letters, words", "Minutes, hybrid", "Minutes, words"]
    for setting in found:
        assert [cell.arm.kind for cell in setting.of_kind("bm25", "random")] == ["bm25", "random"]
        assert len({cell.data for cell in setting.cells}) == 1


def test_a_difference_is_shown_only_beside_the_single_memory_it_is_from(card):
    hybrid, words, *_ = settings_of(card)

    for setting in (hybrid, words):
        shown = {cell.id for cell in setting.cells}
        assert all(cell.against_single.reference in shown for cell in setting.cells if cell.against_single)
    assert [cell.against_single is None for cell in hybrid.of_kind("bm25", "random")] == [False, False]
    assert [cell.against_single is None for cell in words.of_kind("bm25", "random")] == [True, True]


def test_every_finished_cell_is_shown_somewhere(card):
    assert {cell.id for setting in settings_of(card) for cell in setting.cells} == {cell.id for cell in card.done}


def test_cells_stand_from_one_memory_to_many_agents_and_those_with_faults_apart(card):
    setting = settings_of(card)[0]

    assert [cell_name(cell) for cell in setting.healthy] == [
        "single",
        "sharded, 2 agents",
        "sharded, 10 agents",
        "sharded, 100 agents, simulator",
        "BM25 alone",
        "random",
    ]
    assert {cell.fault for cell in setting.faulty} == {Fault(down=1)}


def test_what_stands_for_a_kind_is_its_largest_that_really_ran(card):
    chosen = representatives(settings_of(card)[0].healthy, ("single", "sharded"))

    assert [arm_name(cell.arm) for cell in chosen] == ["single", "sharded, 10 agents"]


def test_two_parts_of_one_data_set_have_two_names(card):
    (single, *_) = card.done
    other = replace(single, data=replace(single.data, part="later"))

    assert [one.name for one in settings_of(replace(card, cells=[single, other]))] == [
        "Letters, pooled",
        "Letters, later, pooled",
    ]


def test_names_say_what_tells_arms_apart_and_nothing_else():
    assert arm_name(Arm("federated", 10, 5)) == "federated, 10 agents in 5 groups"
    assert arm_name(Arm("sharded", 10, replicas=2)) == "sharded, 10 agents, 2 replicas"
    assert arm_name(Arm("routed", 10, fan_out=3, deal="session")) == "nearest agents only, 3 of 10 agents asked, dealt by session"
    assert arm_name(Arm("bm25")) == "BM25 alone"
    assert fault_name(Fault(down=1, loss=0.1)) == "1 node down, 10\N{NARROW NO-BREAK SPACE}% of messages lost"
    assert (metric_name("ndcg@10"), metric_name("own_figure@5")) == ("nDCG@10", "own figure@5")
