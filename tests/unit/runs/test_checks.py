"""Every mistake in a worker file is told with its line and what to do; the bundled workers have none."""

import pytest

from hive_mind.agents.workers import bundled, text_of
from hive_mind.errors import WorkerFileError
from hive_mind.runs.drawing import mermaid
from hive_mind.runs.worker_file import worker_of

HEAD = "apiVersion: hive-mind/v1\nkind: Worker\nspec:\n"


def problems(body: str, tools: list[str] | None = None) -> list[tuple[int, str, str]]:
    with pytest.raises(WorkerFileError) as caught:
        worker_of(HEAD + body, "w.yaml", tools)
    return [(one.line, one.path, one.message) for one in caught.value.problems]


@pytest.mark.parametrize("name", bundled())
def test_the_workers_that_come_with_the_program_are_right_and_can_be_drawn(name: str) -> None:
    spec = worker_of(text_of(name), name)
    assert mermaid(spec).count("-->") == len(spec.edges)


@pytest.mark.parametrize(
    ("body", "line", "path", "message"),
    [
        ("  id: w\n  entry: b\n  nodes: [{id: a}]\n", 5, "spec.entry", "there is no node 'b'"),
        ("  id: w\n  entry: a\n  nodes:\n    - {id: a}\n    - {id: a}\n", 8, "spec.nodes[1].id", "stands there twice"),
        ("  id: w\n  entry: a\n  nodes:\n    - {id: a}\n    - {id: b}\n", 8, "spec.nodes[1].id", "no edge leads to 'b'"),
        (
            "  id: w\n  entry: a\n  nodes: [{id: a}]\n  edges:\n    - {source: a, target: c}\n",
            8,
            "spec.edges[0].target",
            "no node 'c'",
        ),
        ("  id: w\n  entry: a\n  nodes: [{id: a}]\n  pauseNodes: [z]\n", 7, "spec.pauseNodes[0]", "no node 'z'"),
        ("  id: w\n  entry: a\n  nodes: [{id: a}]\n  planner: z\n", 7, "spec.planner", "no node 'z'"),
        ("  id: w\n  entry: a\n  nodes: [{id: a, kind: tool}]\n", 6, "spec.nodes[0].tool", "needs the name of one"),
        ("  id: w\n  entry: a\n  nodes: [{id: a, tool: x}]\n", 6, "spec.nodes[0].tool", "is for nodes of kind tool"),
        (
            "  id: w\n  entry: a\n  nodes: [{id: a, kind: person, outputs: [b, c]}]\n",
            6,
            "spec.nodes[0].outputs",
            "has one output",
        ),
        ("  id: w\n  entry: a\n  nodes: [{id: a, kind: tool, tool: t, args: {q: $x}}]\n", 6, "spec.nodes[0].args", "takes $x"),
        ("  id: w\n  entry: a\n  nodes: [{id: a, inputs: [x]}]\n", 6, "spec.nodes[0].inputs[0]", "nobody sets 'x'"),
        ("  id: w\n  entry: a\n  nodes: [{id: a, subagents: [s]}]\n", 6, "spec.nodes[0].subagents[0]", "no sub-agent 's'"),
        (
            "  id: w\n  entry: a\n  nodes: [{id: a, subagents: [s]}]\n  subagents: [{id: s, subagents: [s]}]\n",
            7,
            "spec.subagents[0].subagents",
            "a sub-agent has none of its own",
        ),
        (
            "  id: w\n  entry: a\n  nodes: [{id: a}, {id: b}]\n  edges: [{source: a, target: b, on: condition}]\n",
            7,
            "spec.edges[0].when",
            "stands with `on: condition`",
        ),
        (
            "  id: w\n  entry: a\n  nodes: [{id: a}, {id: b}]\n  edges: [{source: a, target: b, on: condition, when: 'a ='}]\n",
            7,
            "spec.edges[0].when",
            "the condition can't be used",
        ),
    ],
)
def test_each_mistake_is_told_where_it_stands(body: str, line: int, path: str, message: str) -> None:
    (found,) = problems(body)
    assert found[:2] == (line, path)
    assert message in found[2]


def test_branches_that_run_at_once_may_not_set_the_same_key() -> None:
    nodes = "[{id: a}, {id: b, outputs: [x]}, {id: c, outputs: [x]}, {id: d, join: all}]"
    edges = "[{source: a, target: b}, {source: a, target: c}, {source: b, target: d}, {source: c, target: d}]"
    (found,) = problems(f"  id: w\n  entry: a\n  nodes: {nodes}\n  edges: {edges}\n")
    assert "'x' is set in the branches of 'b' and 'c', which run at once" in found[2]


def test_tools_that_are_not_there_are_told_where_it_is_known_which_are() -> None:
    body = "  id: w\n  entry: a\n  nodes: [{id: a, tools: [recall, recal, 'mcp:t/*']}]\n"
    assert [path for _, path, _ in problems(body, ["recall"])] == ["spec.nodes[0].tools[1]", "spec.nodes[0].tools[2]"]
    assert worker_of(HEAD + body).by_id["a"].tools == ["recall", "recal", "mcp:t/*"]
    assert problems(body, ["recall", "mcp:t/list"])[0][1] == "spec.nodes[0].tools[1]"


@pytest.mark.parametrize(
    "text", ["", "[]", "kind: Worker", HEAD + "  id: 1\n", HEAD + "  id: w\n  nodes: []\n  entry: a\n", "{" * 50]
)
def test_what_is_no_worker_is_told_and_nothing_else_is_raised(text: str) -> None:
    with pytest.raises(WorkerFileError):
        worker_of(text)
