"""A file of kind Worker is a worker, or every mistake in it is told with its line."""

import pytest
import yaml

from hive_mind.agents.workers import bundled, text_of
from hive_mind.errors import InvalidInput, WorkerFileError
from hive_mind.runs.graphs.worker_file import WorkerFile, mermaid, worker_of
from tests.unit.runs.flow import worker

HEAD = "apiVersion: hive-mind/v1\nkind: Worker\nspec:\n"


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_worker_is_right_and_can_be_written_again(name: str) -> None:
    spec = worker_of(text_of(name))
    body = WorkerFile(apiVersion="hive-mind/v1", kind="Worker", spec=spec).model_dump(by_alias=True, mode="json")
    assert worker_of(yaml.safe_dump(body)).model_dump(mode="json") == spec.model_dump(mode="json")
    assert mermaid(spec).count("-->") == len(spec.edges)


def test_a_worker_that_does_not_come_with_the_program_is_told_with_those_that_do() -> None:
    with pytest.raises(InvalidInput, match="one of answer, incident-review, learn, queen"):
        text_of("juggler")


def test_mistakes_of_form_are_told_with_their_lines_and_all_at_once() -> None:
    text = (
        HEAD + "  id: w\n  entry: a\n  nodes:\n    - {id: a, tunrs: 5}\n    - {id: b, kind: robot}\n    - {id: c, attempts: 0}\n"
    )
    with pytest.raises(WorkerFileError) as caught:
        worker_of(text, "w.yaml")
    found = {one.line: one.path for one in caught.value.problems}
    assert found == {7: "spec.nodes[0].tunrs", 8: "spec.nodes[1].kind", 9: "spec.nodes[2].attempts"}


def test_a_condition_is_read_with_its_file() -> None:
    edge = "{source: a, target: b, on: condition, when: output.x >}"
    with pytest.raises(WorkerFileError) as caught:
        worker_of(f"{HEAD}  id: w\n  entry: a\n  nodes: [{{id: a}}, {{id: b}}]\n  edges:\n  - {edge}\n")
    (problem,) = caught.value.problems
    assert (problem.line, problem.path) == (8, "spec.edges[0].when")


def test_a_graph_has_a_size_and_whoever_goes_in_circles_an_end() -> None:
    nodes = "".join(f"    - {{id: n{number}, kind: person}}\n" for number in range(501))
    with pytest.raises(WorkerFileError, match="has more than 500 entries"):
        worker_of(f"{HEAD}  id: w\n  entry: n0\n  nodes:\n{nodes}")
    with pytest.raises(WorkerFileError, match="at most 10000"):
        worker_of(f"{HEAD}  id: w\n  entry: a\n  nodes: [{{id: a, kind: person, visits: 10001}}]\n")


@pytest.mark.parametrize("text", ["", "[]", "kind: Goal", "{", "apiVersion: hive-mind/v9\nkind: Worker\nspec: {}"])
def test_what_is_no_worker_is_told_and_never_anything_else_raised(text: str) -> None:
    with pytest.raises(WorkerFileError) as caught:
        worker_of(text)
    assert caught.value.problems


def test_a_worker_is_drawn_with_all_its_nodes_and_when_its_edges_are_followed() -> None:
    spec = worker(
        {"id": "a", "subagents": ["s"]},
        {"id": "b", "kind": "tool", "tool": 'say "hi"'},
        {"id": "c", "kind": "person"},
        edges=["a b", "b c failure", {"source": "a", "target": "c", "on": "condition", "when": "output.x > 1"}],
        subagents=[{"id": "s"}],
    )
    drawn = mermaid(spec).splitlines()
    assert drawn == [
        "flowchart TD",
        '    a("a")',
        '    b["b: say #quot;hi#quot;"]',
        '    c{"c"}',
        "    a --> b",
        '    b -->|"failure"| c',
        '    a -->|"output.x > 1"| c',
        "    a -. delegates .-> s([s])",
    ]
