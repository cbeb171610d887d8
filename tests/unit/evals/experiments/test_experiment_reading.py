"""Reading an experiment: lists multiply, and everything that is wrong is told at once, with its line and what to do."""

from pathlib import Path

import pytest

from hive_mind.errors import ExperimentError, InvalidInput
from hive_mind.evals.experiments import Arm, Chosen, DataSource, Experiment, Fault, Retrieval
from hive_mind.evals.experiments.form import GATE
from hive_mind.evals.experiments.reading import ReadExperiment, bundled, read_experiment, read_text
from hive_mind.hive.topology.spec import SPECS
from hive_mind.ranking.pipeline import RankingSettings

SMALL = "name: x\ndata: {name: a, format: demo}\n"


def reading(text: str, folder: Path | None = None) -> ReadExperiment:
    return read_text(text, (folder,) if folder else (), "x.yaml")


def experiment(arms: str, more: str = "") -> Experiment:
    return reading(f"{SMALL}arms: {arms}\n{more}").experiment


def problems(text: str, folder: Path | None = None) -> list[str]:
    with pytest.raises(ExperimentError) as raised:
        reading(text, folder)
    return str(raised.value).splitlines()


def test_the_least_that_can_be_said_is_an_experiment():
    assert experiment("single") == Experiment("x", (DataSource("a", "demo"),), (Arm(),))


def test_lists_in_an_arm_multiply():
    found = experiment("[{kind: [flat, sharded], agents: [10, 100]}]").arms

    assert found == (Arm("flat", 10), Arm("flat", 100), Arm("sharded", 10), Arm("sharded", 100))


def test_what_means_nothing_to_a_kind_is_not_multiplied_into_it():
    found = experiment("[{kind: [single, flat, federated], agents: 10, groups: [2, 5]}]").arms

    assert found == (Arm(), Arm("flat", 10), Arm("federated", 10, 2), Arm("federated", 10, 5))


def test_an_arm_may_say_itself_what_it_is_multiplied_with():
    found = experiment("[single, {kind: sharded, data: a, faults: {down: [1, 3]}}]")

    assert found.arms == (Arm(),)
    assert found.chosen == (Chosen((Arm("sharded", 10),), ("a",), (Fault(1), Fault(3))),)


def test_a_mode_alone_is_a_way_to_retrieve_and_ranking_settings_are_the_defaults_but_for_what_is_given():
    found = experiment("single", "retrieval: [lexical, {name: words, ranking: {semantic_weight: 0.2}}]").retrieval

    assert found == (Retrieval("lexical", "lexical"), Retrieval("words", "hybrid", RankingSettings(semantic_weight=0.2)))


def test_everything_wrong_is_told_at_once_in_the_order_of_the_file():
    found = problems(
        """\
name: Mine
dta: 3
data:
  - {name: a, format: genrated, turns: many}
  - {name: b, format: generated}
arms:
  - singel
  - {kind: [flat, shrded], agents: [10, x], fanout: 3, faults: {dwn: 2}}
  - {kind: federated, data: [a, c], deal: rund-robin}
  - {kind: bm25, agents: 10}
seeds: 1.5
"""
    )

    told = [one.split(": ", 1) for one in found]
    assert [place for place, _ in told] == [f"x.yaml:{line}" for line in (1, 2, 4, 4, 5, 7, 8, 8, 8, 8, 9, 9, 9, 10, 11)]
    text = "\n".join(found)
    for meant in ("data", "generated", "single", "sharded", "fan_out", "down", "round-robin"):
        assert f"did you mean {meant}?" in text


@pytest.mark.parametrize(
    ("arms", "told"),
    [
        ("[{kind: federated, agents: 4}]", "arms[0]: federated needs groups; add it"),
        ("[{kind: federated, agents: 4, groups: 5}]", "arms[0].groups: 5 groups of 4 agents leave some empty; have fewer"),
        ("[{kind: flat, groups: 2}]", "arms[0].groups: is for kind: federated or seed-federated only; leave it out"),
        ("[{kind: routed}]", "arms[0]: routed needs fan_out; add it"),
        ("[{kind: routed, agents: 2, fan_out: 3}]", "arms[0].fan_out: asks 3 of 2 agents; ask fewer"),
        ("[{kind: bm25, place: redis}]", f"arms[0].place: redis is for {', '.join(SPECS)}; bm25 runs in-process"),
        ("[{kind: flat, data: b}]", "arms[0].data: there is no data set in this file called b; known: a"),
        (
            "[{kind: sharded, agents: 3, faults: {loss: 0.5}}]",
            "arms[0].faults: no arm here can have this fault: loss and slow need an arm of place: simulator",
        ),
        (
            "[{kind: flat, faults: {down: 1}}]",
            "arms[0].faults: no arm here can have this fault: 1 down needs more nodes than that "
            "(in one process flat is one node, federated one a group)",
        ),
        ("[]", "arms: is an empty list; name at least one"),
    ],
)
def test_what_contradicts_itself_is_told(arms: str, told: str):
    assert problems(f"{SMALL}arms: {arms}\n") == [f"x.yaml:3: {told}"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("{name: a}", "data: a data set needs a path, unless its format is generated, demo, memory; add it"),
        ("{name: a, format: generated}", "data: a generated data set needs turns: how long it is to be; add it"),
        ("{name: a, format: demo, turns: 3}", "data.turns: is for format: generated only; leave it out, or write that format"),
        ("{name: a, format: memory}", "data.memory: format: memory and memory: NAME go together; give both or none"),
        ("[{name: a, format: demo}, {name: a, format: demo}]", "data[1].name: a data set called a is there already; rename one"),
    ],
)
def test_a_data_source_that_can_not_be_meant_is_told(data: str, told: str):
    assert [one.replace("data[0]", "data") for one in problems(f"name: x\ndata: {data}\narms: single\n")] == [f"x.yaml:2: {told}"]


def test_paths_are_seen_from_the_folder_and_a_missing_file_is_told_with_its_line(tmp_path: Path):
    (tmp_path / "there").mkdir()
    text = "name: x\ndata:\n  - {name: a, path: there}\n  - {name: b, path: gone}\narms: single\n"

    assert problems(text, tmp_path) == [
        f"x.yaml:4: data[1].path: there is no {tmp_path / 'gone'}; correct it, or give --data its folder"
    ]


def test_a_question_file_beside_the_experiment_is_found_though_the_data_lie_elsewhere(tmp_path: Path):
    data, here = tmp_path / "data", tmp_path / "here"
    (data / "notes").mkdir(parents=True)
    here.mkdir()
    (here / "questions.json").write_text('{"questions": []}')
    (here / "x.yaml").write_text("name: x\ndata: {name: a, path: notes, questions: questions.json}\narms: single\n")

    (source,) = read_experiment(str(here / "x.yaml"), data).experiment.data

    assert (source.path, source.questions) == (data / "notes", here / "questions.json")


def test_a_gate_needs_no_arms_and_an_experiment_does(tmp_path: Path):
    file = tmp_path / "x.yaml"
    file.write_text("name: x\ndata: {name: a, format: demo}\n")

    assert read_experiment(str(file), form=GATE).experiment.data[0].name == "a"
    with pytest.raises(ExperimentError, match="arms"):
        read_experiment(str(file))


def test_an_optional_data_set_that_is_not_there_is_left_out_and_named(tmp_path: Path):
    (tmp_path / "there").mkdir()
    text = "name: x\ndata:\n  - {name: a, path: there}\n  - {name: b, path: gone, optional: true}\narms: single\n"

    found = reading(text, tmp_path)

    assert [one.name for one in found.experiment.data] == ["a"]
    assert found.absent == ("b",)


def test_an_experiment_of_which_no_data_is_there_is_refused():
    text = "name: x\ndata: {name: a, path: gone, optional: true}\narms: single\n"

    assert problems(text) == ["x.yaml: data: all of its data sets are missing; give --data the folder that has them"]


def test_a_file_that_is_no_text_or_not_there_is_told(tmp_path: Path):
    file = tmp_path / "x.yaml"
    file.write_bytes(b"name: \xff\n")

    with pytest.raises(ExperimentError, match="1: experiment: this is not UTF-8; save the file as UTF-8"):
        read_experiment(str(file))
    with pytest.raises(
        InvalidInput, match=r"there is no experiment nothing\.yaml: give a file, or one of ideas, quick, standard"
    ):
        read_experiment("nothing.yaml")


def test_what_comes_along_can_be_read_and_needs_no_file():
    assert bundled() == ["ideas", "quick", "standard"]
    for name in bundled():
        found = read_experiment(name)
        assert found.about
        assert [one.format for one in found.experiment.data] == ["generated"]


def test_what_is_wrong_with_one_that_stands_for_a_list_is_told_with_its_own_name():
    text = "name: x\ndata: {name: ../etc, format: demo}\narms: {kind: flat, agents: 99999}\n"

    assert problems(text) == [
        "x.yaml:2: data.name: has to be lower-case letters, digits, dots, dashes and underscores, at most 40, "
        "a letter or digit first",
        "x.yaml:3: arms.agents: has to be at most 10000",
    ]
