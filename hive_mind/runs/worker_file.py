"""Files with a worker (`kind: Worker`): read to a `WorkerSpec`, or to all that is wrong with them, each with its line.

Mistakes beyond its form: names that nobody has, nodes that nobody reaches, branches that never meet. Of branches that run at
once, two may not set one key. A goal and criteria look at values that somebody sets. `mermaid` draws a worker.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field
from pydantic.alias_generators import to_camel

from hive_mind.errors import WorkerFileError
from hive_mind.forms import Finding, Form
from hive_mind.forms.reading import in_order, located, read
from hive_mind.goals.goal import GoalSection, SuccessCriterion
from hive_mind.runs.spec import FEEDBACK, NodeSpec, WorkerSpec, keys_in

BUILT_IN = frozenset(("set_output", "ask_person", "delegate_to_sub_agent"))
"""Tools that every loop has, or that its node declares otherwise."""
ANY_SERVER = "mcp:*"
"""among known tools: those of servers are not known"""

_ALWAYS = ("success", "always")


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


def faults(spec: WorkerSpec, tools: Collection[str] | None = None, functions: Collection[str] | None = None) -> list[Finding]:
    """All of it, with the paths in a file of kind Worker. `tools`: those there are, as a mapping with what they take where that
    is known; `functions`: judges and checks of one's own. None where they are not known.
    """
    return [
        *_names(spec),
        *_edges(spec),
        *(fault for where, node in _placed(spec) for fault in (*_node(spec, node, where), *_tools(node, where, tools))),
        *_judges(spec, functions),
        *_rules(spec),
        *_reached(spec),
        *_branches(spec),
        *_values(spec),
    ]


_Where = tuple[str | int, ...]


def _placed(spec: WorkerSpec) -> Iterator[tuple[_Where, NodeSpec]]:
    """Nodes and sub-agents, with where they stand in the file."""
    for kind, nodes in (("nodes", spec.nodes), ("subagents", spec.subagents)):
        for number, node in enumerate(nodes):
            yield ("spec", kind, number), node


def _names(spec: WorkerSpec) -> Iterator[Finding]:
    yield from _repeated(((where, node.id) for where, node in _placed(spec)), "node")
    yield from _no_node(spec, ("spec", "entry"), spec.entry)
    if spec.planner:
        yield from _no_node(spec, ("spec", "planner"), spec.planner)
    for number, name in enumerate(spec.pause_nodes):
        yield from _no_node(spec, ("spec", "pauseNodes", number), name)


def _repeated(names: Iterable[tuple[_Where, str]], what: str) -> Iterator[Finding]:
    names_seen = set[str]()
    for where, name in names:
        if name in names_seen:
            yield Finding((*where, "id"), f"{name!r} occurs twice; give each {what} a name of its own")
        names_seen.add(name)


def _no_node(spec: WorkerSpec, where: _Where, name: str) -> Iterator[Finding]:
    if name not in spec.by_id:
        yield Finding(where, f"there is no node {name!r}; nodes: {', '.join(spec.by_id)}")


def _edges(spec: WorkerSpec) -> Iterator[Finding]:
    for number, edge in enumerate(spec.edges):
        where: _Where = ("spec", "edges", number)
        yield from _no_node(spec, (*where, "source"), edge.source)
        yield from _no_node(spec, (*where, "target"), edge.target)
        if (edge.on == "condition") != bool(edge.when):
            yield Finding((*where, "when"), "goes with `on: condition` only")


def _node(spec: WorkerSpec, node: NodeSpec, where: _Where) -> Iterator[Finding]:
    if where[1] == "subagents":
        if node.kind != "loop":
            yield Finding((*where, "kind"), "a sub-agent is a loop")
        if node.subagents:
            yield Finding((*where, "subagents"), "a sub-agent can't have sub-agents")
        for field in ("tool", "args", "client_facing", "join", "attempts", "visits"):
            if getattr(node, field) != NodeSpec.model_fields[field].get_default(call_default_factory=True):
                yield Finding(
                    (*where, to_camel(field)), "has no effect on a sub-agent, which is begun by its parent; leave it out"
                )
        return
    if node.kind == "tool" and not node.tool:
        yield Finding((*where, "tool"), "a node of kind tool needs the name of one")
    if node.kind != "tool" and (node.tool or node.args):
        yield Finding((*where, "tool" if node.tool else "args"), "is for nodes of kind tool; a loop has `tools`")
    if node.kind != "loop":
        for field in ("tools", "subagents", "client_facing", "turns"):
            if (value := getattr(node, field)) and value != NodeSpec.model_fields[field].default:
                yield Finding((*where, to_camel(field)), "is for nodes of kind loop")
        if node.kind == "tool" and node.prompt:
            yield Finding((*where, "prompt"), "is for nodes of kind loop and person; `description` says what a tool is for")
        if len(node.outputs) > 1:
            yield Finding((*where, "outputs"), f"a node of kind {node.kind} has one output: what it gives")
    for key in keys_in(node.args):
        if key not in node.inputs:
            yield Finding((*where, "args"), f"takes ${key}, which is not among its inputs; add it there")
    subagent_ids = [subagent.id for subagent in spec.subagents]
    for number, name in enumerate(node.subagents):
        if name not in subagent_ids:
            message = f"there is no sub-agent {name!r}: {', '.join(subagent_ids) or 'there is none'}"
            yield Finding((*where, "subagents", number), message)


def _tools(node: NodeSpec, where: _Where, tools: Collection[str] | None) -> Iterator[Finding]:
    if tools is None:
        return
    for number, name in enumerate(node.tools):
        if not is_known(name, tools):
            yield Finding((*where, "tools", number), f"there is no tool {name!r}; tools: {', '.join(sorted(tools))}")
    if node.tool and not is_known(node.tool, tools, built_in=()):
        yield Finding((*where, "tool"), f"there is no tool {node.tool!r}; tools: {', '.join(sorted(tools))}")
    elif node.kind == "tool" and isinstance(tools, Mapping) and node.tool in tools:
        tool = tools[node.tool]
        takes, needs = tool.parameters.get("properties", {}), tool.parameters.get("required", ())
        if tool.parameters.get("additionalProperties") is False:
            for name in node.args:
                if name not in takes:
                    argument_names = ", ".join(takes) or "none"
                    yield Finding((*where, "args", name), f"{tool.name} takes no {name!r}; its arguments: {argument_names}")
        for name in needs:
            if name not in node.args:
                yield Finding((*where, "args"), f"{tool.name} needs {name!r}: give a value, or $KEY for an input of the node")


def is_known(name: str, tools: Collection[str], built_in: Collection[str] = BUILT_IN) -> bool:
    """Whether there is such a tool, or one that `server/*` means. `mcp:*` stands for servers that nobody has asked."""
    if name.startswith("mcp:") and ANY_SERVER in tools:
        return True
    if name.endswith("/*"):
        return any(tool.startswith(name[:-1]) for tool in tools)
    return name in tools or name in built_in


def _judges(spec: WorkerSpec, functions: Collection[str] | None) -> Iterator[Finding]:
    """Names of judges and checks of one's own. A custom criterion that names none is graded by a model or a person."""
    if functions is None:
        return
    functions_known = f"known: {', '.join(sorted(functions))}; " if functions else ""
    remedy = f"{functions_known}give it by --function NAME=FILE.py:NAME, or in judge.functions"
    for where, node in _placed(spec):
        if node.judge and node.judge not in functions:
            yield Finding((*where, "judge"), f"there is no judge {node.judge!r}: {remedy}")
    for where, criterion in _criteria(spec):
        if criterion.metric == "custom" and criterion.target and criterion.target not in functions:
            yield Finding((*where, "target"), f"there is no check {criterion.target!r}: {remedy}")


def _criteria(spec: WorkerSpec) -> Iterator[tuple[_Where, SuccessCriterion]]:
    """Those of the goal and of the nodes, with where they stand."""
    goal: list[tuple[_Where, Sequence[SuccessCriterion]]] = [(("spec", "goal"), spec.goal.success_criteria)] if spec.goal else []
    for where, criteria in (*goal, *((where, node.success_criteria) for where, node in _placed(spec))):
        for number, criterion in enumerate(criteria):
            yield (*where, "successCriteria", number), criterion


def _rules(spec: WorkerSpec) -> Iterator[Finding]:
    places: list[_Where] = [("spec", "rules", number) for number in range(len(spec.rules))]
    yield from _repeated(zip(places, (rule.id for rule in spec.rules), strict=True), "rule")
    for where, rule in zip(places, spec.rules, strict=True):
        if rule.on == "fact":
            message = "a worker's rules are asked about what it gives, not about facts; that stands in a manifest's `rules`"
            yield Finding((*where, "on"), message)


def _reached(spec: WorkerSpec) -> Iterator[Finding]:
    if spec.entry not in spec.by_id:
        # That is a finding of its own; without an entry every node would be one.
        return
    reached = _reachable(spec, {spec.entry, spec.planner} - {""})
    for number, node in enumerate(spec.nodes):
        if node.id not in reached:
            yield Finding(("spec", "nodes", number, "id"), f"no edge leads to {node.id!r}; add one, or leave the node out")


def _values(spec: WorkerSpec) -> Iterator[Finding]:
    """Keys that are read and that nobody sets, and scopes of keys that nobody has."""
    keys_set = {*spec.inputs, *spec.optional_inputs, *spec.scopes, *(key for node in spec.nodes for key in node.may_write)}
    keys_set.discard(FEEDBACK)
    for where, node in _placed(spec):
        for number, key in enumerate(node.inputs):
            if key not in keys_set and key != FEEDBACK:
                yield Finding((*where, "inputs", number), f"nobody sets {key!r}: add it to the worker's inputs")
    used = {key for node in spec.nodes for key in (*node.inputs, *node.may_write)}
    for key in spec.scopes:
        if key not in used:
            yield Finding(("spec", "scopes", key), f"no node reads or sets {key!r}: name it in inputs, outputs or writes")
    for number, key in enumerate(spec.goal.inputs if spec.goal else ()):
        if key not in (*spec.inputs, *spec.optional_inputs):
            message = f"no input of the worker is called {key!r}: add it to its inputs"
            yield Finding(("spec", "goal", "inputs", number), message)
    for number, key in enumerate(spec.goal.outputs if spec.goal else ()):
        if key not in keys_set:
            yield Finding(("spec", "goal", "outputs", number), f"no node sets {key!r}: name it in a node's outputs or writes")
    by_place = {where: node.may_write for where, node in _placed(spec)}
    for where, criterion in _criteria(spec):
        keys_known = by_place.get(where[:3], keys_set)
        if criterion.output and criterion.output not in keys_known:
            key_names = ", ".join(sorted(keys_known)) or "none"
            yield Finding((*where, "output"), f"nobody sets {criterion.output!r}; values: {key_names}")


def _branches(spec: WorkerSpec) -> Iterator[Finding]:
    """Of all nodes that certainly open branches. Which conditions hold together, nobody knows before.

    Nodes of two branches must not set the same key: whichever came last would win. All branches of a node meet at one node, and
    at no node where branches inside them meet.
    """
    numbers = {node.id: number for number, node in reversed(list(enumerate(spec.nodes)))}
    for opener in spec.nodes:
        targets = _opened(spec, opener.id)
        owners: dict[str, str] = {}
        for target in targets:
            branch = _reachable(spec, [target], until_join=True)
            for id, key in [(node, key) for node in branch for key in spec.by_id[node].may_write]:
                if owners.setdefault(key, target) != target:
                    message = f"{key!r} is set in the branches of {owners[key]!r} and {target!r}, which run at once"
                    yield Finding(("spec", "nodes", numbers[id], "outputs"), message)
        met, inside = _met(spec, targets, frozenset([opener.id]))
        for id in met[1:]:
            message = f"the branches of {opener.id!r} also meet at {met[0]!r}, and only one of both would begin"
            yield Finding(("spec", "nodes", numbers[id], "join"), f"{message}; let them meet at one node")
        for id in dict.fromkeys(inside):
            if id in met:
                message = f"branches inside those of {opener.id!r} meet here, too, and it would begin twice"
                yield Finding(("spec", "nodes", numbers[id], "join"), f"{message}; give them a node of their own")


def _opened(spec: WorkerSpec, node: str) -> list[str]:
    """Where the branches begin that a node opens; none where it opens none."""
    targets = dict.fromkeys(edge.target for edge in spec.from_(node) if edge.on in _ALWAYS and edge.target in spec.by_id)
    return list(targets) if len(targets) > 1 else []


def _reachable(spec: WorkerSpec, begins: Iterable[str], *, until_join: bool = False) -> list[str]:
    """Nodes to which edges lead from these, and these; of a branch until others join it."""
    nodes, frontier = dict[str, None](), list(begins)
    while frontier:
        id = frontier.pop()
        if id in spec.by_id and id not in nodes and not (until_join and spec.by_id[id].join):
            nodes[id] = None
            frontier += [edge.target for edge in spec.from_(id)]
    return list(nodes)


def _met(spec: WorkerSpec, begin: list[str], around: frozenset[str]) -> tuple[list[str], list[str]]:
    """Where branches that begin so come to a join, and where those do that are opened on the way."""
    met, inside, ids_seen, frontier = dict[str, None](), list[str](), set[str](), list(begin)
    while frontier:
        id = frontier.pop()
        if id in ids_seen or id not in spec.by_id:
            continue
        ids_seen.add(id)
        if spec.by_id[id].join:
            met[id] = None
        elif id not in around and (targets := _opened(spec, id)):
            inner, deeper = _met(spec, targets, around | {id})
            inside += [*inner, *deeper]
            # The branch goes on behind the node where those inside it met.
            frontier += [edge.target for node in inner for edge in spec.from_(node)]
        else:
            frontier += [edge.target for edge in spec.from_(id)]
    return sorted(met), inside


def mermaid(spec: WorkerSpec) -> str:
    """Nodes by kind (loop: rounded, tool: a box, person: a rhombus), edges with when they are followed."""
    lines = ["flowchart TD"]
    for node in spec.nodes:
        label = _quoted(f"{node.id}: {node.tool}" if node.tool else node.id)
        shapes = {"loop": f"({label})", "tool": f"[{label}]", "person": f"{{{label}}}"}
        lines.append(f"    {node.id}{shapes[node.kind]}")
    for edge in spec.edges:
        label = edge.when or edge.description if edge.on in ("condition", "model") else "" if edge.on == "success" else edge.on
        arrow = f"-->|{_quoted(label)}|" if label else "-->"
        lines.append(f"    {edge.source} {arrow} {edge.target}")
    lines += [f"    {node.id} -. delegates .-> {name}([{name}])" for node in spec.nodes for name in node.subagents]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;").replace("\n", " ") + '"'
