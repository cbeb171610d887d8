"""What Bicep files say, read from the tree of their grammar: enough to compare names and types without Microsoft's compiler."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

AZURE = Path(__file__).parents[3] / "deploy" / "azure"
FILES = sorted(AZURE.glob("*.bicep"))
_PARSER = Parser(Language(tree_sitter_bicep.language()))


@dataclass(frozen=True)
class Declared:
    """A parameter, resource, module or output. `kind` is its type, or the file of a module; `text` all of it."""

    name: str
    kind: str
    text: str
    has_default: bool = False


@cache
def tree_of(path: Path) -> Node:
    return _PARSER.parse(path.read_bytes()).root_node


def nodes(root: Node, *kinds: str) -> Iterator[Node]:
    """All nodes of some kinds, in their order."""
    for child in root.children:
        if child.type in kinds:
            yield child
        yield from nodes(child, *kinds)


def text(node: Node) -> str:
    return (node.text or b"").decode()


def faults(path: Path) -> list[str]:
    """What the grammar does not know."""
    found = [tree_of(path), *nodes(tree_of(path), "ERROR")]
    return [f"{path.name}:{one.start_point[0] + 1}" for one in found if one.type == "ERROR" or one.is_missing]


def parameters(path: Path) -> dict[str, Declared]:
    found = {}
    for node in nodes(tree_of(path), "parameter_declaration"):
        name, kind = (text(child) for child in node.named_children[:2])
        found[name] = Declared(name, kind, text(node), has_default=len(node.named_children) > 2)
    return found


def resources(path: Path) -> list[Declared]:
    return [*_declared(path, "resource_declaration")]


def modules(path: Path) -> list[Declared]:
    return [*_declared(path, "module_declaration")]


def properties(declared: Declared) -> list[tuple[str, str]]:
    """Every property in it with its value, whatever it is in."""
    root = _PARSER.parse(declared.text.encode()).root_node
    return [(text(one.named_children[0]), text(one.named_children[-1])) for one in nodes(root, "object_property")]


def fields_of_type(path: Path, name: str) -> set[str]:
    """The fields of an object type."""
    declaration = next(one for one in nodes(tree_of(path), "type_declaration") if text(one.named_children[0]) == name)
    return {text(one.named_children[0]) for one in nodes(declaration, "object_property")}


def given_to(module: Declared) -> set[str]:
    """Names of the parameters that a module gets."""
    root = _PARSER.parse(module.text.encode()).root_node
    params = next(one for one in nodes(root, "object_property") if text(one.named_children[0]) == "params")
    return {text(one.named_children[0]) for one in params.named_children[-1].named_children if one.type == "object_property"}


def _declared(path: Path, kind: str) -> Iterator[Declared]:
    for node in nodes(tree_of(path), kind):
        name, quoted = (text(child) for child in node.named_children[:2])
        yield Declared(name, quoted.strip("'"), text(node))
