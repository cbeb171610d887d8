"""From an experiment to its cells: everything with everything, once, under names that are files."""

import re
from dataclasses import replace

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import Arm, Cell, Chosen, DataSource, Experiment, Fault, Retrieval, cells_of, takes
from hive_mind.evals.experiments.reading import bundled, read_experiment

DEMO, NOTES = DataSource("demo", "demo"), DataSource("notes", "demo")
SHARDED = Arm("sharded", 10)


def ids(experiment: Experiment) -> list[str]:
    return [cell.id for cell in cells_of(experiment)]


def test_data_seeds_arms_and_ways_to_retrieve_multiply():
    both = (Retrieval(), Retrieval("lexical", "lexical"))
    found = cells_of(Experiment("x", (DEMO, NOTES), (Arm(), SHARDED), both, seeds=(1, 2)))

    compared = [(cell.data, cell.seed, cell.arm, cell.retrieval) for cell in found if cell.arm.kind in ("single", "sharded")]
    assert len(compared) == len(set(compared)) == 2 * 2 * 2 * 2


def test_names_tell_what_a_cell_is_and_what_differs_from_the_defaults():
    arms = (Arm(), Arm("federated", 20, 5), Arm("routed", 10, fan_out=3, deal="topic"), Arm("sharded", 100, replicas=2))
    chosen = Chosen((replace(SHARDED, place="simulator"),), faults=(Fault(3, 0.25, 2, 500),))

    assert ids(Experiment("x", (DEMO,), arms, chosen=(chosen,))) == [
        "demo-single-hybrid-s1",
        "demo-federated-20-round-robin-hybrid-s1-g5",
        "demo-routed-10-topic-hybrid-s1-fan3",
        "demo-sharded-100-round-robin-hybrid-s1-r2",
        "demo-bm25-s1",
        "demo-random-s1",
        "demo-sharded-10-round-robin-hybrid-s1-down3-loss0.25-slow2x500ms-sim",
    ]


def test_baselines_are_there_once_for_all_ways_to_retrieve_unless_there_are_to_be_none_and_context_where_a_model_answers():
    ways = (Retrieval("lexical", "lexical"), Retrieval())
    words, whole = Experiment("x", (DEMO,), (Arm("bm25"),), ways), Experiment("x", (DEMO,), (Arm(),), has_baselines=False)

    for experiment, context in ((words, []), (replace(words, answerer="model"), ["full-context"])):
        assert [(cell.arm.kind, cell.retrieval.name) for cell in cells_of(experiment)] == [
            (kind, "lexical") for kind in ("bm25", "random", *context)
        ]
    assert ids(whole) == ["demo-single-hybrid-s1"]


def test_arms_that_differ_in_what_means_nothing_to_them_are_one():
    assert ids(Experiment("x", (DEMO,), (Arm("flat", 10), Arm("flat", 10, groups=3, fan_out=2)))) == [
        "demo-flat-10-round-robin-hybrid-s1",
        "demo-bm25-s1",
        "demo-random-s1",
    ]


def test_an_arm_that_says_so_goes_with_some_data_only():
    found = cells_of(Experiment("x", (DEMO, NOTES), (Arm(),), chosen=(Chosen((SHARDED,), ("notes",)),)))

    assert [cell.data.name for cell in found if cell.arm.kind == "sharded"] == ["notes"]


@pytest.mark.parametrize(
    ("arm", "fault", "can"),
    [
        (Arm(), Fault(), True),
        (Arm(), Fault(1), False),
        (Arm("bm25"), Fault(1), False),
        (Arm("flat", 10), Fault(1), False),
        (Arm("flat", 10, place="redis"), Fault(1), True),
        (Arm("federated", 10, 3), Fault(2), True),
        (Arm("federated", 10, 3), Fault(3), False),
        (SHARDED, Fault(9), True),
        (SHARDED, Fault(10), False),
        (SHARDED, Fault(loss=0.1), False),
        (replace(SHARDED, place="simulator"), Fault(loss=0.1), True),
        (replace(SHARDED, place="simulator"), Fault(slow=11, slow_ms=5), False),
    ],
)
def test_a_fault_goes_with_arms_that_can_have_it(arm: Arm, fault: Fault, *, can: bool):
    assert takes(arm, fault) is can
    found = cells_of(Experiment("x", (DEMO,), (arm,), faults=(fault,)))
    assert (arm.kind in {cell.arm.kind for cell in found}) is can


def test_two_cells_of_one_name_are_refused():
    clash = (DataSource("a"), DataSource("a-single-x"))
    ways = (Retrieval("x-single-x"), Retrieval("x"))

    with pytest.raises(InvalidInput, match="would be called a-single-x-single-x-s1; rename a data set or a retrieval"):
        cells_of(Experiment("x", clash, (Arm(),), ways))


@pytest.mark.parametrize("name", bundled())
def test_cells_of_what_comes_along_have_names_that_are_files_everywhere(name: str):
    experiment = read_experiment(name).experiment
    # With all the data sets of the project, present or not.
    everything = replace(experiment, data=tuple(DataSource(one) for one in ("generated", "locomo", "scifact", "cranfield")))
    found: tuple[Cell, ...] = cells_of(everything)

    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,100}", cell.id) for cell in found)
