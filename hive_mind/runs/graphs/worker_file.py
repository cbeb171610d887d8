"""Files with a worker (`kind: Worker`): read to a `WorkerSpec`, or to all that is wrong with them, each with its line.

`mermaid` draws one.
"""

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from hive_mind.errors import WorkerFileError
from hive_mind.forms.form import Form
from hive_mind.forms.reading import in_order, located, read
from hive_mind.goals.goal import GoalSection
from hive_mind.runs.graphs.checks import faults
from hive_mind.runs.graphs.spec import EdgeSpec, NodeSpec, WorkerSpec


class WorkerFile(GoalSection):
    """A worker: what it does, in which order, and what its work is judged by."""

    api_version: Literal["hive-mind/v1"] = Field(description="The version of this form.")
    kind: Literal["Worker"] = Field(description="The kind of the file.")
    spec: WorkerSpec


WORKER = Form(
    "worker",
    WorkerFile,
    begin="begin with `hive-mind worker incident-review`",
    help="hive-mind file explain worker",
    levels="six",
)


def worker_of(
    text: str, file: str = "worker", tools: Collection[str] | None = None, functions: Collection[str] | None = None
) -> WorkerSpec:
    """The worker in the text of such a file. `tools`, `functions`: as `faults` has them. Raises `WorkerFileError`."""
    found_read = read(text, WORKER)
    if found_read.value is None or found_read.tree is None:
        raise WorkerFileError(found_read.problems, file)
    wrong = [located(fault, found_read.tree, WORKER) for fault in faults(found_read.value.spec, tools, functions)]
    if wrong:
        raise WorkerFileError(in_order(wrong), file)
    return found_read.value.spec


def mermaid(spec: WorkerSpec) -> str:
    """Nodes by kind (loop: rounded, tool: a box, person: a rhombus), edges with when they are followed."""
    lines = ["flowchart TD", *(f"    {_node(node)}" for node in spec.nodes), *(f"    {_edge(edge)}" for edge in spec.edges)]
    lines += [f"    {node.id} -. delegates .-> {name}([{name}])" for node in spec.nodes for name in node.subagents]
    return "\n".join(lines)


def _node(node: NodeSpec) -> str:
    label = _quoted(f"{node.id}: {node.tool}" if node.tool else node.id)
    return {"loop": f"{node.id}({label})", "tool": f"{node.id}[{label}]", "person": f"{node.id}{{{label}}}"}[node.kind]


def _edge(edge: EdgeSpec) -> str:
    label = edge.when or edge.description if edge.on in ("condition", "model") else "" if edge.on == "success" else edge.on
    return f"{edge.source} -->|{_quoted(label)}| {edge.target}" if label else f"{edge.source} --> {edge.target}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;").replace("\n", " ") + '"'
