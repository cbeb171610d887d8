"""The arguments of a tool node: as they stand in its worker, with `$key` for what the run knows."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hive_mind.runs.graphs.spec import NodeSpec


def resolved(node: NodeSpec, known: Mapping[str, Any], optional: Collection[str] = ()) -> dict[str, Any]:
    """With the values of its inputs; None for what nobody set. "$$" at the beginning is a dollar sign.

    An argument that is an `optional` input of the run is left out where it was not given: the tool's own default counts.
    """
    left_out = {f"${key}" for key in optional if key not in known}
    return {key: _value(given, node, known) for key, given in node.args.items() if _not_in(left_out, given)}


def keys_in(given: Any) -> Iterator[str]:
    """The keys that arguments take."""
    if isinstance(given, str) and given.startswith("$") and not given.startswith("$$"):
        yield given[1:]
    elif isinstance(given, dict):
        for value in given.values():
            yield from keys_in(value)
    elif isinstance(given, list):
        for value in given:
            yield from keys_in(value)


def _not_in(left_out: Collection[str], given: Any) -> bool:
    return not isinstance(given, str) or given not in left_out


def _value(given: Any, node: NodeSpec, known: Mapping[str, Any]) -> Any:
    if isinstance(given, str) and given.startswith("$"):
        return given[1:] if given.startswith("$$") else known.get(given[1:]) if given[1:] in node.inputs else None
    if isinstance(given, dict):
        return {key: _value(value, node, known) for key, value in given.items()}
    return [_value(value, node, known) for value in given] if isinstance(given, list) else given
