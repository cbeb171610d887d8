"""Mistakes in a worker beyond its form: names that nobody has, nodes that nobody reaches, branches that never meet.

Of branches that run at once, two may not set one key. A goal and criteria look at values that somebody sets.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic.alias_generators import to_camel

from hive_mind.forms.tree import Finding
from hive_mind.goals.goal import SuccessCriterion
from hive_mind.model.dialogue import ToolSpec
from hive_mind.runs.graphs.spec import FEEDBACK, NodeSpec, WorkerSpec, keys_in

BUILT_IN = frozenset(("set_output", "ask_person", "delegate_to_sub_agent"))
"""Tools that every loop has, or that its node declares otherwise."""
ANY_SERVER = "mcp:*"
"""among known tools: those of servers are not known"""

_ALWAYS = ("success", "always")


def faults(spec: WorkerSpec, tools: Collection[str] | None = None, functions: Collection[str] | None = None) -> list[Finding]:
    """All of it, with the paths in a file of kind Worker. `tools`: those there are, as a mapping with what they take where that
    is known; `functions`: judges and checks of one's own. None where they are not known.
    """
    return [
        *_names(spec),
        *_edges(spec),
        *(fault for number, node in enumerate(spec.nodes) for fault in _node(spec, node, ("spec", "nodes", number), tools)),
        *(
            fault
            for number, node in enumerate(spec.subagents)
            for fault in _sub_agent(node, ("spec", "subagents", number), tools)
        ),
        *_judges(spec, functions),
        *_rules(spec),
        *_reached(spec),
        *branch_faults(spec),
        *_inputs(spec),
        *_scopes(spec),
        *_goal(spec),
    ]


_Where = tuple[str | int, ...]


def _names(spec: WorkerSpec) -> Iterator[Finding]:
    counts = Counter[str]()
    for kind, nodes in (("nodes", spec.nodes), ("subagents", spec.subagents)):
        for number, node in enumerate(nodes):
            counts[node.id] += 1
            if counts[node.id] > 1:
                yield Finding(("spec", kind, number, "id"), f"{node.id!r} occurs twice; give each node a name of its own")
    for field, names in (("entry", [spec.entry]), ("planner", [spec.planner] if spec.planner else [])):
        for name in names:
            if name not in spec.by_id:
                yield Finding(("spec", field), f"there is no node {name!r}; nodes: {', '.join(spec.by_id)}")
    for number, name in enumerate(spec.pause_nodes):
        if name not in spec.by_id:
            yield Finding(("spec", "pauseNodes", number), f"there is no node {name!r}; nodes: {', '.join(spec.by_id)}")


def _edges(spec: WorkerSpec) -> Iterator[Finding]:
    for number, edge in enumerate(spec.edges):
        where: _Where = ("spec", "edges", number)
        for field, name in (("source", edge.source), ("target", edge.target)):
            if name not in spec.by_id:
                yield Finding((*where, field), f"there is no node {name!r}; nodes: {', '.join(spec.by_id)}")
        if (edge.on == "condition") != bool(edge.when):
            yield Finding((*where, "when"), "goes with `on: condition` only")


def _node(spec: WorkerSpec, node: NodeSpec, where: _Where, tools: Collection[str] | None) -> Iterator[Finding]:
    if node.kind == "tool" and not node.tool:
        yield Finding((*where, "tool"), "a node of kind tool needs the name of one")
    if node.kind != "tool" and (node.tool or node.args):
        yield Finding((*where, "tool" if node.tool else "args"), "is for nodes of kind tool; a loop has `tools`")
    if node.kind != "loop":
        for field, field_value in (("tools", node.tools), ("subagents", node.subagents), ("clientFacing", node.client_facing)):
            if field_value:
                yield Finding((*where, field), "is for nodes of kind loop")
        if node.turns != NodeSpec.model_fields["turns"].default:
            yield Finding((*where, "turns"), "is for nodes of kind loop")
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
            yield Finding(
                (*where, "subagents", number), f"there is no sub-agent {name!r}: {', '.join(subagent_ids) or 'there is none'}"
            )
    yield from _tools(node, where, tools)


def _sub_agent(node: NodeSpec, where: _Where, tools: Collection[str] | None) -> Iterator[Finding]:
    if node.kind != "loop":
        yield Finding((*where, "kind"), "a sub-agent is a loop")
    if node.subagents:
        yield Finding((*where, "subagents"), "a sub-agent can't have sub-agents")
    for field in ("tool", "args", "client_facing", "join", "attempts", "visits"):
        if getattr(node, field) != NodeSpec.model_fields[field].get_default(call_default_factory=True):
            yield Finding((*where, to_camel(field)), "has no effect on a sub-agent, which is begun by its parent; leave it out")
    yield from _tools(node, where, tools)


def _tools(node: NodeSpec, where: _Where, tools: Collection[str] | None) -> Iterator[Finding]:
    if tools is None:
        return
    tools_named = [("tools", number, name) for number, name in enumerate(node.tools)]
    for field, number, name in tools_named:
        if not is_known(name, tools):
            yield Finding((*where, field, number), f"there is no tool {name!r}; tools: {', '.join(sorted(tools))}")
    if node.tool and not is_known(node.tool, tools, built_in=()):
        yield Finding((*where, "tool"), f"there is no tool {node.tool!r}; tools: {', '.join(sorted(tools))}")
    elif node.kind == "tool" and isinstance(tools, Mapping) and node.tool in tools:
        yield from _arguments(node, where, tools[node.tool])


def _judges(spec: WorkerSpec, functions: Collection[str] | None) -> Iterator[Finding]:
    """Names of judges and checks of one's own. A custom criterion that names none is graded by a model or a person."""
    if functions is None:
        return
    functions_known = f"known: {', '.join(sorted(functions))}; " if functions else ""
    remedy = f"{functions_known}give it by --function NAME=FILE.py:NAME, or in judge.functions"
    criteria: list[tuple[_Where, Sequence[SuccessCriterion]]] = []
    if spec.goal:
        criteria.append((("spec", "goal"), spec.goal.success_criteria))
    for kind, nodes in (("nodes", spec.nodes), ("subagents", spec.subagents)):
        for number, node in enumerate(nodes):
            if node.judge and node.judge not in functions:
                yield Finding(("spec", kind, number, "judge"), f"there is no judge {node.judge!r}: {remedy}")
            criteria.append((("spec", kind, number), node.success_criteria))
    for where, success_criteria in criteria:
        for number, criterion in enumerate(success_criteria):
            if criterion.metric == "custom" and criterion.target and criterion.target not in functions:
                message = f"there is no check {criterion.target!r}: {remedy}"
                yield Finding((*where, "successCriteria", number, "target"), message)


def _rules(spec: WorkerSpec) -> Iterator[Finding]:
    counts = Counter[str]()
    for number, rule in enumerate(spec.rules):
        counts[rule.id] += 1
        if counts[rule.id] > 1:
            yield Finding(("spec", "rules", number, "id"), f"{rule.id!r} occurs twice; give each rule a name of its own")
        if rule.on == "fact":
            message = "a worker's rules are asked about what it gives, not about facts; that stands in a manifest's `rules`"
            yield Finding(("spec", "rules", number, "on"), message)


def _arguments(node: NodeSpec, where: _Where, tool: ToolSpec) -> Iterator[Finding]:
    """A call that the tool would refuse, whatever the run knows."""
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


def _reached(spec: WorkerSpec) -> Iterator[Finding]:
    if spec.entry not in spec.by_id:
        # That is a finding of its own; without an entry every node would be one.
        return
    reached = {spec.entry, spec.planner} - {""}
    frontier = list(reached)
    while frontier:
        node = frontier.pop()
        new = {edge.target for edge in spec.from_(node)} - reached
        reached |= new
        frontier += new
    for number, node_spec in enumerate(spec.nodes):
        if node_spec.id not in reached:
            yield Finding(("spec", "nodes", number, "id"), f"no edge leads to {node_spec.id!r}; add one, or leave the node out")


def _known(spec: WorkerSpec) -> set[str]:
    """The keys that a run may have values of."""
    keys = {key for node in spec.nodes for key in node.may_write}
    return {*spec.inputs, *spec.optional_inputs, *spec.scopes, FEEDBACK, *keys}


def _goal(spec: WorkerSpec) -> Iterator[Finding]:
    keys_known, goal = _known(spec) - {FEEDBACK}, spec.goal
    if goal:
        for number, key in enumerate(goal.inputs):
            if key not in (*spec.inputs, *spec.optional_inputs):
                yield Finding(
                    ("spec", "goal", "inputs", number), f"no input of the worker is called {key!r}: add it to its inputs"
                )
        for number, key in enumerate(goal.outputs):
            if key not in keys_known:
                yield Finding(("spec", "goal", "outputs", number), f"no node sets {key!r}: name it in a node's outputs or writes")
        yield from _criteria(goal.success_criteria, ("spec", "goal"), keys_known)
    for kind, nodes in (("nodes", spec.nodes), ("subagents", spec.subagents)):
        for number, node in enumerate(nodes):
            yield from _criteria(node.success_criteria, ("spec", kind, number), node.may_write)


def _criteria(criteria: Sequence[SuccessCriterion], where: _Where, keys_known: Collection[str]) -> Iterator[Finding]:
    for number, criterion in enumerate(criteria):
        if criterion.output and criterion.output not in keys_known:
            key_names = ", ".join(sorted(keys_known)) or "none"
            yield Finding((*where, "successCriteria", number, "output"), f"nobody sets {criterion.output!r}; values: {key_names}")


def _inputs(spec: WorkerSpec) -> Iterator[Finding]:
    keys_known = _known(spec)
    for kind, nodes in (("nodes", spec.nodes), ("subagents", spec.subagents)):
        for number, node in enumerate(nodes):
            for place, key in enumerate(node.inputs):
                if key not in keys_known:
                    where: _Where = ("spec", kind, number, "inputs", place)
                    yield Finding(where, f"nobody sets {key!r}: add it to the worker's inputs")


def _scopes(spec: WorkerSpec) -> Iterator[Finding]:
    used = {key for node in spec.nodes for key in (*node.inputs, *node.may_write)}
    for key in spec.scopes:
        if key not in used:
            yield Finding(("spec", "scopes", key), f"no node reads or sets {key!r}: name it in inputs, outputs or writes")


def branch_faults(spec: WorkerSpec) -> Iterator[Finding]:
    """Of all nodes that certainly open branches. Which conditions hold together, nobody knows before."""
    for node in spec.nodes:
        if targets := _opened(spec, node.id):
            yield from _same_keys(spec, targets)
            yield from _meetings(spec, node.id, targets)


def _opened(spec: WorkerSpec, node: str) -> list[str]:
    """Where the branches begin that a node opens; none where it opens none."""
    targets = dict.fromkeys(edge.target for edge in spec.from_(node) if edge.on in _ALWAYS and edge.target in spec.by_id)
    return list(targets) if len(targets) > 1 else []


def _same_keys(spec: WorkerSpec, targets: list[str]) -> Iterator[Finding]:
    """Nodes of two branches must not set the same key: whichever came last would win."""
    owners: dict[str, str] = {}
    for target in targets:
        for id in _branch(spec, target):
            for key in spec.by_id[id].may_write:
                if owners.setdefault(key, target) != target:
                    message = f"{key!r} is set in the branches of {owners[key]!r} and {target!r}, which run at once"
                    yield Finding(("spec", "nodes", _number(spec, id), "outputs"), message)


def _branch(spec: WorkerSpec, begin: str) -> list[str]:
    """The nodes of a branch, until others join it."""
    nodes_reached, frontier = dict.fromkeys([begin]), [begin]
    while frontier:
        for edge in spec.from_(frontier.pop()):
            if edge.target in spec.by_id and edge.target not in nodes_reached and not spec.by_id[edge.target].join:
                nodes_reached[edge.target] = None
                frontier.append(edge.target)
    return [id for id in nodes_reached if not spec.by_id[id].join]


def _meetings(spec: WorkerSpec, opener: str, targets: list[str]) -> Iterator[Finding]:
    """All branches of a node meet at one node, and at no node where branches inside them meet."""
    met, inside = _met(spec, targets, frozenset([opener]))
    for id in met[1:]:
        message = (
            f"the branches of {opener!r} also meet at {met[0]!r}, and only one of both would begin; let them meet at one node"
        )
        yield Finding(("spec", "nodes", _number(spec, id), "join"), message)
    for id in dict.fromkeys(inside):
        if id in met:
            message = (
                f"branches inside those of {opener!r} meet here, too, and it would begin twice; give them a node of their own"
            )
            yield Finding(("spec", "nodes", _number(spec, id), "join"), message)


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


def _number(spec: WorkerSpec, node: str) -> int:
    return [node_spec.id for node_spec in spec.nodes].index(node)
