"""Worker files: read to a worker, or to all that is wrong with them, each with its line."""

import textwrap
from collections.abc import Collection

import pytest
import yaml

from hive_mind.agents.runs import bundled, text_of
from hive_mind.errors import InvalidInput, WorkerFileError
from hive_mind.runs.worker_file import WorkerFile, mermaid, worker_of
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


def problems(spec: str, tools: Collection[str] | None = None) -> list[tuple[int, str, str]]:
    """(line, path, message); the text begins in line 4."""
    with pytest.raises(WorkerFileError) as caught:
        worker_of(HEAD + textwrap.indent(textwrap.dedent(spec), "  "), "w.yaml", tools)
    return [(one.line, one.path, one.message) for one in caught.value.problems]


def only(spec: str, tools: Collection[str] | None = None) -> tuple[int, str, str]:
    (problem,) = problems(spec, tools)
    return problem


def test_names_that_nobody_has_are_told_with_those_there_are() -> None:
    found = problems("""\
        id: w
        entry: start
        planner: plan
        pauseNodes: [a, stop]
        nodes:
          - {id: a, subagents: [helper]}
        edges:
          - {source: a, target: z}
          - {source: y, target: a}
        """)
    assert [(line, path) for line, path, _ in found] == [
        (5, "spec.entry"),
        (6, "spec.planner"),
        (7, "spec.pauseNodes[1]"),
        (9, "spec.nodes[0].subagents[0]"),
        (11, "spec.edges[0].target"),
        (12, "spec.edges[1].source"),
    ]
    assert found[0][2] == "there is no node 'start'; nodes: a"
    assert found[3][2] == "there is no sub-agent 'helper': there is none"


def test_a_name_stands_once_among_nodes_and_sub_agents() -> None:
    found = problems("""\
        id: w
        entry: a
        nodes:
          - {id: a}
          - {id: a}
        subagents:
          - {id: a}
        """)
    assert [(line, path) for line, path, _ in found] == [(8, "spec.nodes[1].id"), (10, "spec.subagents[0].id")]
    assert "occurs twice" in found[0][2]


@pytest.mark.parametrize(
    ("edge", "told"), [("on: condition", "goes with `on: condition`"), ("when: output.x > 1", "goes with `on: condition`")]
)
def test_a_condition_stands_with_its_kind_of_edge(edge: str, told: str) -> None:
    line, path, message = only(f"id: w\nentry: a\nnodes:\n- id: a\n- id: b\nedges:\n- {{source: a, target: b, {edge}}}")
    assert (line, path) == (10, "spec.edges[0].when")
    assert told in message


@pytest.mark.parametrize(
    ("node", "path", "told"),
    [
        ("kind: tool", "tool", "needs the name of one"),
        ("tool: pay", "tool", "is for nodes of kind tool"),
        ("args: {x: 1}", "args", "is for nodes of kind tool"),
        ("kind: person, tools: [pay]", "tools", "is for nodes of kind loop"),
        ("kind: person, clientFacing: true", "clientFacing", "is for nodes of kind loop"),
        ("kind: tool, tool: pay, outputs: [x, y]", "outputs", "has one output"),
        ("kind: person, outputs: [x, y]", "outputs", "has one output"),
        ("kind: tool, tool: pay, args: {amount: [{deep: $sum}]}", "args", "takes $sum, which is not among its inputs"),
        ("inputs: [sum]", "inputs[0]", "nobody sets 'sum'"),
        ("tools: [pay, fly]", "tools[1]", "there is no tool 'fly'; tools: mail/send, pay"),
        ("kind: tool, tool: fly", "tool", "there is no tool 'fly'"),
        ("kind: tool, tool: set_output", "tool", "there is no tool 'set_output'"),
        ("tools: [post/*]", "tools[0]", "there is no tool 'post/*'"),
    ],
)
def test_what_does_not_fit_a_node_is_told_where_it_stands(node: str, path: str, told: str) -> None:
    line, where, message = only(f"id: w\nentry: a\nnodes:\n- {{id: a, {node}}}", ["pay", "mail/send"])
    assert (line, where) == (7, f"spec.nodes[0].{path}")
    assert told in message


def test_tools_that_are_there_are_found_also_all_of_a_server_and_those_that_are_built_in() -> None:
    text = HEAD + "  id: w\n  entry: a\n  nodes:\n  - {id: a, tools: [pay, mail/*, set_output, ask_person]}"
    for known in (["pay", "mail/send"], None):
        assert worker_of(text, tools=known).nodes[0].tools == ["pay", "mail/*", "set_output", "ask_person"]


@pytest.mark.parametrize(
    ("node", "path", "told"),
    [
        ("kind: person", "kind", "a sub-agent is a loop"),
        ("subagents: [one]", "subagents", "a sub-agent can't have sub-agents"),
        ("tools: [fly]", "tools[0]", "there is no tool 'fly'"),
        ("inputs: [sum]", "inputs[0]", "nobody sets 'sum'"),
    ],
)
def test_what_a_sub_agent_can_not_be_is_told(node: str, path: str, told: str) -> None:
    text = f"id: w\nentry: a\nnodes:\n- {{id: a, subagents: [one]}}\nsubagents:\n- {{id: one, {node}}}"
    line, where, message = only(text, ["pay"])
    assert (line, where) == (9, f"spec.subagents[0].{path}")
    assert told in message


def test_a_node_that_no_edge_leads_to_is_told() -> None:
    line, path, message = only("id: w\nentry: a\nplanner: p\nnodes:\n- id: a\n- id: p\n- id: b\nedges:\n- {source: p, target: a}")
    assert (line, path) == (10, "spec.nodes[2].id")
    assert "no edge leads to 'b'" in message


FORK = """\
id: w
entry: a
nodes:
- {id: a}
- {id: b, outputs: [x]}
- {id: c, outputs: [%s]}
- {id: d, join: all}
- {id: e%s}
edges:
- {source: a, target: b}
- {source: a, target: c, on: always}
- {source: b, target: d}
- {source: c, target: %s}
- {source: d, target: e}
"""


def test_branches_that_set_different_keys_and_meet_are_fine() -> None:
    assert worker_of(HEAD + textwrap.indent(FORK % ("y", "", "d"), "  ")).id == "w"


def test_branches_that_run_at_once_may_not_set_the_same_key() -> None:
    line, path, message = only(FORK % ("x", "", "d"))
    assert (line, path) == (9, "spec.nodes[2].outputs")
    assert message == "'x' is set in the branches of 'b' and 'c', which run at once"


def test_branches_that_would_meet_at_two_nodes_are_told_as_only_one_of_both_would_begin() -> None:
    line, path, message = only(FORK % ("y", ", join: any", "e"))
    assert (line, path) == (11, "spec.nodes[4].join")
    assert "the branches of 'a' also meet at 'd'" in message


NESTED = """\
id: w
entry: a
nodes: [{id: a}, {id: b}, {id: c}, {id: d}, {id: e}, {id: f, join: all}, {id: g, join: all}]
edges:
- {source: a, target: b}
- {source: a, target: c}
- {source: b, target: d}
- {source: b, target: e}
- {source: d, target: %s}
- {source: e, target: %s}
- {source: f, target: g}
- {source: c, target: g}
"""


def test_branches_within_a_branch_meet_at_a_node_of_their_own() -> None:
    assert worker_of(HEAD + textwrap.indent(NESTED % ("f", "f"), "  ")).id == "w"
    found = problems(NESTED % ("g", "g"))
    assert ("spec.nodes[6].join", True) in [
        (path, "branches inside those of 'a' meet here, too" in told) for _, path, told in found
    ]
