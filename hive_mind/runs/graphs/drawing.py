"""A worker as a picture: Mermaid's flowchart, which most viewers of Markdown draw."""

from hive_mind.runs.graphs.spec import EdgeSpec, NodeSpec, WorkerSpec


def mermaid(spec: WorkerSpec) -> str:
    """Nodes by kind (loop: rounded, tool: a box, person: a rhombus), edges with when they are followed."""
    lines = ["flowchart TD", *(f"    {_node(node)}" for node in spec.nodes), *(f"    {_edge(edge)}" for edge in spec.edges)]
    lines += [f"    {node.id} -. delegates .-> {name}([{name}])" for node in spec.nodes for name in node.subagents]
    return "\n".join(lines)


def _node(node: NodeSpec) -> str:
    label = _quoted(f"{node.id}: {node.tool}" if node.tool else node.id)
    return {"loop": f"{node.id}({label})", "tool": f"{node.id}[{label}]", "person": f"{node.id}{{{label}}}"}[node.kind]


def _edge(edge: EdgeSpec) -> str:
    told = edge.when or edge.description if edge.on in ("condition", "model") else "" if edge.on == "success" else edge.on
    return f"{edge.source} -->|{_quoted(told)}| {edge.target}" if told else f"{edge.source} --> {edge.target}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;").replace("\n", " ") + '"'
