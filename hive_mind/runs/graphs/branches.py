"""What is wrong with branches that run at once: keys that two of them set, and nodes where they would not meet."""

from collections.abc import Iterator

from hive_mind.forms.finding import Finding
from hive_mind.runs.graphs.spec import WorkerSpec

_ALWAYS = ("success", "always")


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
                    told = f"{key!r} is set in the branches of {owners[key]!r} and {target!r}, which run at once"
                    yield Finding(("spec", "nodes", _number(spec, id), "outputs"), told)


def _branch(spec: WorkerSpec, begin: str) -> list[str]:
    """The nodes of a branch, until others join it."""
    found, frontier = dict.fromkeys([begin]), [begin]
    while frontier:
        for edge in spec.from_(frontier.pop()):
            if edge.target in spec.by_id and edge.target not in found and not spec.by_id[edge.target].join:
                found[edge.target] = None
                frontier.append(edge.target)
    return [id for id in found if not spec.by_id[id].join]


def _meetings(spec: WorkerSpec, opener: str, targets: list[str]) -> Iterator[Finding]:
    """All branches of a node meet at one node, and at no node where branches inside them meet."""
    met, inside = _met(spec, targets, frozenset([opener]))
    for id in met[1:]:
        told = f"the branches of {opener!r} also meet at {met[0]!r}, and only one of both would begin; let them meet at one node"
        yield Finding(("spec", "nodes", _number(spec, id), "join"), told)
    for id in dict.fromkeys(inside):
        if id in met:
            told = f"branches inside those of {opener!r} meet here, too, and it would begin twice; give them a node of their own"
            yield Finding(("spec", "nodes", _number(spec, id), "join"), told)


def _met(spec: WorkerSpec, begin: list[str], around: frozenset[str]) -> tuple[list[str], list[str]]:
    """Where branches that begin so come to a join, and where those do that are opened on the way."""
    met, inside, seen, frontier = dict[str, None](), list[str](), set[str](), list(begin)
    while frontier:
        id = frontier.pop()
        if id in seen or id not in spec.by_id:
            continue
        seen.add(id)
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
    return [one.id for one in spec.nodes].index(node)
